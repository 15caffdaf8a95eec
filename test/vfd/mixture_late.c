/* mixture_late.c: one rank comes late, once or often, or the others are apart; see the head of mixture.c. */
#include "mixture.h"

#include "seconds.h"

#include <stdio.h>

/* One rank closes version 3 when the others, who have given it up, are closing version 4. */
static void
late_once(const char *name)
{
    hid_t file;
    int   nothing = 0;

    write_file(name, 1);
    write_file(name, 2);
    file = create(name, 3);
    if (rank == LATE) {
        MPI_Recv(&nothing, 0, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        nap(0.1); /* the others wait for a quarter of their patience now */
        close_file(file, name, 3);
        return;
    }
    close_file(file, name, 3);
    file = create(name, 4);
    if (rank == 0)
        MPI_Send(&nothing, 0, MPI_INT, LATE, 3, MPI_COMM_WORLD);
    close_file(file, name, 4);
}

/* It goes on like the others. */
void
case_late(void)
{
    late_once(args[0]);
    if (rank == LATE)
        write_file(args[0], 4);
    write_file(args[0], 5);
}

/* The job is killed when the others have closed version 4, and the late rank version 3. */
void
case_late_killed_before(void)
{
    late_once(args[0]);
    killed();
}

/* The same when the late one has closed version 4, too. */
void
case_late_killed_after(void)
{
    late_once(args[0]);
    if (rank == LATE)
        write_file(args[0], 4);
    killed();
}

/* One rank opens the file for version 3 when the others, who have given it up, open theirs for version 4. */
void
case_late_to_open(void)
{
    int nothing = 0;

    for (int version = 2; version <= 5; version++) {
        if (version == 3 && rank == LATE) {
            MPI_Recv(&nothing, 0, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            nap(0.1);
        }
        close_file(change(args[0], version), args[0], version);
        if (version == 3 && rank == 0)
            MPI_Send(&nothing, 0, MPI_INT, LATE, 3, MPI_COMM_WORLD);
    }
}

/* Rank 0 writes a file of its own between the third and the fourth checkpoint. */
void
case_log(void)
{
    char name[64];

    for (int n = 1; n <= 6; n++) {
        snprintf(name, sizeof name, "ckpt_%d.@.h5", n);
        if (n == 4 && rank == 0)
            write_file("log.h5", 1);
        write_file(name, n);
    }
}

/* All open the file, but one alone: the others are late. */
void
case_read_apart(void)
{
    if (rank != LATE)
        nap(patience + 0.5);
    say_found(look(args[0], H5F_ACC_RDONLY));
}

/* All close version 2 in one step, but one so late that nothing of it is protected. */
void
case_unprotected(void)
{
    hid_t file;

    get_to_know();
    file = create(args[0], 2);
    if (rank == LATE)
        nap(patience + 0.5);
    close_file(file, args[0], 2);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* One rank is late at the first close of the job; four steps, with or without waiting for each other after each. */
static void
late_at_first(bool in_step)
{
    for (int version = 1; version <= 4; version++) {
        hid_t file = create(args[0], version);

        if (rank == LATE && version == 1)
            nap(patience + 0.5);
        close_file(file, args[0], version);
        if (in_step)
            MPI_Barrier(MPI_COMM_WORLD);
    }
}

void
case_late_first(void)
{
    late_at_first(true);
}

void
case_late_first_free(void)
{
    late_at_first(false);
}
