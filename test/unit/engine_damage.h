/* engine_damage.h: a job of four ranks whose files are protected, to be damaged, and what may come of that. */
#ifndef ENGINE_DAMAGE_H
#define ENGINE_DAMAGE_H

#include "image.h"
#include "job.h"

enum { KINDS = 8, N = 4, BLOCK = 64 * 1024 };

typedef struct kind {
    const rset_scheme *scheme;
    int                parity;
} kind;

extern const kind damage_kinds[KINDS];

static const kind xor_kind = {&rset_scheme_xor, 1}, rs2_kind = {&rset_scheme_rs, 2};

typedef struct world {
    char *base;
    job   job;
    image image; /* what was protected */
    char  what[256];
} world;

void damage_open(world *w, kind k, size_t size);
void damage_close(world *w);

/* What is below `under` (NULL: all) is as in the image. */
void assert_image(const world *w, const image *img, const char *under, image_strictness how);
/* The data files are as they were. */
void assert_data(const world *w);
/* Everything comes back to the byte, redundancy too, and a second look finds nothing to do. */
void assert_healed(world *w);
/* The open is refused, and nothing is changed. */
void assert_refused(world *w);

#endif
