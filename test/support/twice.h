/* twice.h: four ranks whose files were protected twice, so that there is an old and a new state of every
 * directory to put together. For tests of generations, commits and failing calls. */
#ifndef TWICE_H
#define TWICE_H

#include "image.h"
#include "job.h"

typedef struct twice_kind {
    const rset_scheme *scheme;
    int                parity;
} twice_kind;

enum { TWICE_KINDS = 3, TWICE_RANKS = 4 };

extern const twice_kind twice_kinds[TWICE_KINDS]; /* PARTNER 1, XOR, RS 2 */
extern const size_t     twice_sizes[TWICE_RANKS];

/* A job that was protected twice: the old and the new state of all directories. */
typedef struct twice {
    char *base;
    job   job;
    image old, new;
    char  what[256]; /* what is being tried, for messages */
} twice;

void twice_open(twice *w, twice_kind k);
void twice_close(twice *w);

/* Compare the directories, or what is below `under`, with an image. */
void twice_assert_image(const twice *w, const image *img, const char *under, image_strictness how);
/* Recovers: everything is as in the image, protected, and the evidence is what the disk says. */
void twice_assert_recovers_to(twice *w, const image *img);
/* Recover is refused as lost, and nothing is changed. */
void twice_assert_refused(twice *w);

/* The node's directory as it was at `img`, and nothing else in it. */
void twice_node_as(const twice *w, const image *img, int r);
void twice_lose_node(const twice *w, int r);
void twice_set_void(const twice *w, int r);

#endif
