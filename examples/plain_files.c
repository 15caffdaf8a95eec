/* plain_files.c - checkpoints that are no HDF5 files, kept safe by the functions for that in H5FDredset.h.
 *
 * Each rank walks at random, and every so often writes where it is to two files of its own in DIR, which may be private to
 * its node: a binary one with its state, and a text file with its path so far. It takes two sets of names in turn, so that
 * the last good checkpoint stays whole while the next one is written:
 *
 *     DIR/walk_a.<rank>.bin  DIR/path_a.<rank>.txt      DIR/walk_b.<rank>.bin  DIR/path_b.<rank>.txt
 *
 * When the program starts, it goes on from the newest checkpoint that can be had.
 *
 *     mpirun -n 8 plain_files /local 1000 100       steps; steps between two checkpoints
 */
#include <H5FDredset.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct walk {
    uint64_t step, random;
    int64_t  at;
};

struct names { /* of one checkpoint of this rank */
    char        state[4096], path[4096];
    const char *all[2];
};

static int rank;

static void
name_files(struct names *n, const char *dir, int set)
{
    snprintf(n->state, sizeof n->state, "%s/walk_%c.%d.bin", dir, 'a' + set, rank);
    snprintf(n->path, sizeof n->path, "%s/path_%c.%d.txt", dir, 'a' + set, rank);
    n->all[0] = n->state; /* the redundancy is called after the first */
    n->all[1] = n->path;
}

static int
write_files(const struct names *n, const struct walk *w)
{
    FILE *state = fopen(n->state, "wb"), *path = fopen(n->path, "w");
    int   bad = state == NULL || path == NULL || fwrite(w, sizeof *w, 1, state) != 1;

    for (int64_t i = 0; path != NULL && i <= w->at * w->at; i++)
        bad |= fprintf(path, "step %" PRIu64 ": %" PRId64 "\n", w->step, i) < 0;
    bad |= state != NULL && fclose(state) != 0;
    bad |= path != NULL && fclose(path) != 0;
    return bad ? -1 : 0;
}

/* A rank that could not write its files takes part all the same, so that nobody waits for it: it removes them, and then no
 * rank has this checkpoint. */
static int
checkpoint(const char *dir, const struct walk *w, int set)
{
    struct names n;

    name_files(&n, dir, set);
    if (write_files(&n, w) != 0)
        remove(n.state);
    if (H5FDredset_protect_files(n.all, 2, NULL) < 0)
        return -1;
    if (rank == 0)
        printf("step %" PRIu64 ": checkpoint written\n", w->step);
    return 0;
}

/* Which set of names has the newest checkpoint of all ranks; -1: neither has one. */
static int
restart(const char *dir, struct walk *newest)
{
    int found = -1;

    for (int set = 0; set < 2; set++) {
        struct names n;
        struct walk  w;
        FILE        *file;

        name_files(&n, dir, set);
        if (H5FDredset_recover_files(n.all, 2, NULL) != 0) /* never protected, or more is lost */
            continue;
        if ((file = fopen(n.state, "rb")) == NULL || fread(&w, sizeof w, 1, file) != 1)
            MPI_Abort(MPI_COMM_WORLD, 1);
        fclose(file);
        if (found < 0 || w.step > newest->step) {
            *newest = w;
            found = set;
        }
    }
    return found;
}

int
main(int argc, char **argv)
{
    struct walk w = {.step = 0};
    uint64_t    steps, every;
    int         set, bad = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    w.random = (uint64_t)rank + 1;
    if (argc != 4 || strtoull(argv[3], NULL, 10) == 0) {
        fprintf(stderr, "usage: plain_files DIR STEPS EVERY\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    steps = strtoull(argv[2], NULL, 10);
    every = strtoull(argv[3], NULL, 10);
    set = restart(argv[1], &w);
    if (rank == 0 && set >= 0)
        printf("step %" PRIu64 ": restarted\n", w.step);
    while (bad == 0 && w.step < steps) {
        w.random = w.random * 6364136223846793005u + 1442695040888963407u;
        w.at += w.random >> 63 ? 1 : -1;
        if (++w.step % every == 0) {
            set = set == 0 ? 1 : 0;
            bad = checkpoint(argv[1], &w, set);
        }
    }
    if (rank == 0 && bad == 0)
        printf("step %" PRIu64 ": finished\n", w.step);
    MPI_Finalize();
    return bad != 0;
}
