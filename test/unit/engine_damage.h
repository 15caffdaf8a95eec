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
    kind  kind;
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

/* ---- tables of tests ---- */

/* Which of damage_kinds a test is tried with, a bit each. */
enum { KIND_SINGLE = 1 << 0, KIND_XOR = 1 << 4, KIND_RS2 = 1 << 6, EACH_KIND = (1 << KINDS) - 1 };
enum { EACH_BUT_SINGLE = EACH_KIND & ~KIND_SINGLE };

/* A row of a table: what is done to files of that size, either once or for each number from `first` to before `end`. */
typedef struct damage_test {
    void (*once)(world *w);
    void (*each)(world *w, int number);
    unsigned kinds;
    size_t   size;
    int      first, end;
} damage_test;

/* For cmocka, with a damage_test as state. */
void damage_play(void **state);

/* Members of an array of struct CMUnitTest. */
#define DAMAGE_ROW(body, ...)                                                                      \
    {                                                                                              \
        .name = #body, .test_func = damage_play, .initial_state = &(damage_test){__VA_ARGS__},     \
    }
#define DAMAGE_TEST(body, which, bytes)                                                            \
    DAMAGE_ROW(body, .once = (body), .kinds = (which), .size = (bytes), .end = 1)
#define DAMAGE_TEST_FOR(body, which, bytes, from, before)                                          \
    DAMAGE_ROW(body, .each = (body), .kinds = (which), .size = (bytes), .first = (from),           \
               .end = (before))

#endif
