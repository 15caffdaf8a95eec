/* reader_world.h: files of several steps that eight ranks on four nodes have protected, and ranks that open them by their names,
 * in any order and number. */
#ifndef READER_WORLD_H
#define READER_WORLD_H

#include "image.h"
#include "job.h"

enum { NODES = 4, WRITERS = 8, STEPS = 4 };

extern const size_t reader_sizes[6];

/* Two ranks on each node: rank r on node r % NODES. */
typedef struct world {
    char       *base;
    job         job[STEPS]; /* that wrote them */
    int         steps;
    image       image;             /* what readers have to find */
    const char *search[NODES + 1]; /* directories that all readers can see; ends with NULL */
    bool        required;          /* they open with required=yes */
    bool        writes;            /* and to change what they open */
} world;

/* Protects `steps` steps, each by a job of its own. Fails the test. */
void reader_world_open(world *w, const rset_scheme *scheme, int parity, int steps);
void reader_world_close(world *w);

/* The name of a file; valid for the next few calls. */
const char *name_of(int step, int rank);

/* As it was protected; then some nodes are lost (bits). */
void reader_world_lose(const world *w, unsigned lost);

/* Rank i of n runs on nodes[i] and opens that file. */
typedef struct reader {
    int node, step, file;
} reader;

/* They open their files, only to read them: the status of all. *readers is to be freed. */
rset_status read_all(const world *w, const reader *who, int n, job *readers);

/* Each has what is in w->image, where it opens it. The reason is that of the table's row. */
rset_reason expect_read(const world *w, const reader *who, int n);

/* Refused on all, with this text, and nothing was changed. */
void expect_not_read(const world *w, const reader *who, int n, const char *text);

#endif
