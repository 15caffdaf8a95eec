/* modes.h: what the MPI tests share: programs that do what their one argument names, a mode. For one source file each. */
#ifndef RSET_TEST_MPI_MODES_H
#define RSET_TEST_MPI_MODES_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static int failures, my_rank, my_size;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            failures++;                                                                            \
            fprintf(stderr, "%s:%d: rank %d of %d: %s\n", __FILE__, __LINE__, my_rank, my_size,    \
                    #condition);                                                                   \
        }                                                                                          \
    } while (0)

/* A mode, which ends in MPI_Finalize. */
typedef struct mode {
    const char *name;
    void (*run)(void);
} mode;

/* Initialises MPI, and does what the argument names. The exit status of the program. */
static inline int
run_mode(int argc, char **argv, const mode *modes, size_t n)
{
    int  level;
    bool known = false;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &my_size);
    for (size_t i = 0; i < n; i++)
        if (argc == 2 && strcmp(argv[1], modes[i].name) == 0) {
            modes[i].run();
            known = true;
        }
    if (!known) {
        fprintf(stderr, "usage: %s MODE; the head of its source lists them\n", argv[0]);
        MPI_Finalize();
    }
    return known && failures == 0 ? 0 : 1;
}

#endif
