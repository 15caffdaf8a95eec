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
extern const twice_kind single;                   /* no redundancy: not among them */
extern const size_t     twice_sizes[TWICE_RANKS];

/* A job that was protected twice: the old and the new state of all directories. */
typedef struct twice {
    char      *base;
    twice_kind kind;
    job        job;
    image      old, new;
    char       what[256]; /* what is being tried, for messages */
    bool       skipped;   /* it cannot be tried here */
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

/* ---- tables of tests ---- */

/* Files of which kinds a test is tried with, a bit each. */
enum { KIND_PARTNER = 1, KIND_XOR = 2, KIND_RS = 4, EACH_KIND = 7, KIND_SINGLE = 8 };

/* A row of a table: what is done to such files, either once or for each number from `first` to before `end`. */
typedef struct twice_test {
    void (*once)(twice *w);
    void (*each)(twice *w, int number);
    unsigned kinds;
    int      first, end;
} twice_test;

/* For cmocka, with a twice_test as state. */
void twice_play(void **state);

/* Members of an array of struct CMUnitTest. */
#define TWICE_ROW(body, ...)                                                                       \
    {                                                                                              \
        .name = #body, .test_func = twice_play, .initial_state = &(twice_test){__VA_ARGS__},       \
    }
#define TWICE_TEST(body, which) TWICE_ROW(body, .once = (body), .kinds = (which), .end = 1)
#define TWICE_TEST_FOR(body, which, from, before)                                                  \
    TWICE_ROW(body, .each = (body), .kinds = (which), .first = (from), .end = (before))

#endif
