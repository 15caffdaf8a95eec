/* lives.c: see lives.h; with MPI. */
#include <mpi.h>

#include "lives.h"

static void
all_meet(void)
{
    (void)MPI_Barrier(MPI_COMM_WORLD);
}

int
main(int argc, char **argv)
{
    int status = 1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    barrier = all_meet;
    if (begin_lives(argc, argv))
        status = run_words(argv + 3);
    MPI_Finalize();
    return status;
}
