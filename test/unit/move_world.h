/* move_world.h: files of ranks on four nodes, and the ranks are started on other ones: for the tests of encode/move/. */
#ifndef MOVE_WORLD_H
#define MOVE_WORLD_H

#include "image.h"
#include "job.h"

enum { NODES = 4 };

/* Files of NODES x per_node ranks, protected, and where they were. A node has one rank of each set. */
typedef struct world {
    char *base;
    job   job;
    image image;
    bool
        one_name; /* each rank has a directory of its own on its node, and all files have one name there */
} world;

extern const size_t world_sizes[5];

void world_open(world *w, const rset_scheme *scheme, int parity, int per_node, bool one_name);
void world_close(world *w);

/* As protected; then some nodes are lost, and what node k had is on node to[k]. */
void world_rearrange(const world *w, const int *to, unsigned lost);
/* And that comes back, bit for bit, with nothing computed of what was not lost; or it is refused, with nothing changed. */
void expect_back(world *w, const int *to, unsigned lost);
void expect_refused(world *w, const int *to, unsigned lost);

/* What is below `under` (NULL: all) is as in the image. `what`: for messages. */
void world_assert_image(const world *w, const image *img, const char *under, image_strictness how,
                        const char *what);
/* Each rank's file is as it was protected. */
void world_assert_files(const world *w, const char *what);

/* then_do with all orders of the nodes, and with all losses of so many nodes. */
void each_order(world *w, void (*then_do)(world *w, const int *to, unsigned lost), int losses);

/* A row of a table of tests: what is done to files of one rank on each node, with XOR. */
typedef struct move_test {
    void (*body)(world *w);
    bool one_name;
} move_test;

/* For cmocka, with a move_test as state. */
void move_play(void **state);

/* A member of an array of struct CMUnitTest. */
#define MOVE_TEST(does, one)                                                                       \
    {                                                                                              \
        .name = #does, .test_func = move_play, .initial_state = &(move_test){(does), (one)},       \
    }

#endif
