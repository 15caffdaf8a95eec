/* replicas_world.h: files of one rank of which older generations are kept (replicas/replicas.h, keep=N), on four ranks, which are
 * threads, each with storage of its own under one path. Version v of meta.h5 is a generation. Fails the test. */
#ifndef REPLICAS_WORLD_H
#define REPLICAS_WORLD_H

#include "comm/comm_local.h"
#include "replicas/replicas.h"

enum { REPLICAS_RANKS = 4 };

typedef struct replicas_world {
    char       *base;
    int         keep;
    bool        shared; /* ranks 0 and 1 look at one directory */
    const char *opened; /* name */
    struct {            /* what came of it on each rank, of the last that all did */
        rset_status  st[REPLICAS_RANKS];
        rset_err     err[REPLICAS_RANKS];
        rset_replica sent;
        bool         gone[REPLICAS_RANKS];
        uint64_t     generation[REPLICAS_RANKS]; /* of the restored one */
    } seen;
} replicas_world;

extern replicas_world replicas;
extern const char     replicas_prefix[];

void replicas_begin(int generations);
void replicas_end(void);

uint64_t replicas_generation(int version);
/* Under which name is that version; 0: the newest. Valid until the next call. */
const char *replicas_name(int version);
const char *replicas_path(int node, const char *name);

bool replicas_is_version(int node, const char *name, int version);
/* Is that generation kept on this node, or is what leads back to it? */
bool replicas_keeps(int node, int version);

void replicas_lose(int node);
/* A program on that node writes it anew, or changes it in place, and protects it. */
void replicas_write(int node, int version, const char *label, bool in_place);

/* Where rank `rank` looks. */
int replicas_node(int rank);
/* All do that; what comes of it is the same on all. */
void replicas_run(void (*body)(rset_comm *comm, void *arg));
/* Node 0 has written that version, and so many others get it. */
void replicas_send_to(int version, int to);
/* All open what has that name. */
void replicas_open(const char *name);
/* The same, and have that version then. */
void replicas_expect_all(const char *name, int version);

#endif
