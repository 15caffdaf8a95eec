/* odd_files.c: files of one rank or of some, inputs, links, and files that ranks close in another order. */
#include "odd.h"

#include "seconds.h"

#include <string.h>
#include <unistd.h>

/* ---- files of one rank ---- */

static void
one_rank(int who)
{
    double start = now();

    if (rank == who) {
        for (int i = 0; i < 12; i++)
            write_file(in_dir("log.h5"));
        CHECK(now() - start < TIMED_OUT);
        start = now();
        write_file(in_dir("log.h5")); /* nobody is waited for any more */
        add_group(in_dir("log.h5"), "more");
        CHECK(now() - start < limit);
        CHECK(!is_protected(in_dir("log.h5")));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    application_goes_on();
    if (rank == who) { /* meanwhile rank 0 comes, and answers all that it was told before */
        sleep(1);
        no_message_waits();
    }
    checkpoint();
    start = now();
    if (rank == (who + 1) % ranks)
        write_file(in_dir("log.h5"));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(now() - start < TIMED_OUT);
    checkpoint();
    application_goes_on();
}

void
case_first(void)
{
    one_rank(0);
}

void
case_last(void)
{
    one_rank(ranks - 1);
}

void
case_later(void)
{
    checkpoint();
    one_rank(1);
}

/* One file, written by one rank after the other. */
void
case_baton(void)
{
    const char *path = in_dir("shared.h5");
    char        name[16];
    double      start = 0;
    int         baton = 0;

    checkpoint();
    for (int round = 0; round < 2; round++) {
        if (rank > 0)
            MPI_Recv(&baton, 1, MPI_INT, rank - 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        start = now();
        snprintf(name, sizeof name, "of%d_%d", rank, round);
        if (rank == 0 && round == 0)
            write_file(path);
        else
            add_group(path, name);
        CHECK(now() - start < TIMED_OUT);
        if (rank < ranks - 1)
            MPI_Send(&baton, 1, MPI_INT, rank + 1, 5, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    read_file(path);
    CHECK(!is_protected(path));
    checkpoint();
    application_goes_on();
}

/* ---- inputs ---- */

void
case_input(void)
{
    double start = now();

    read_file(in_dir("input.h5")); /* all of them */
    if (rank == 2)
        read_file(in_dir("input.h5"));
    CHECK(now() - start < limit);
    MPI_Barrier(MPI_COMM_WORLD);
    application_goes_on();
}

/* A file that is protected is read by one rank: its owner, or another. */
static void
protected_input(int reader, int owner)
{
    double start;

    checkpoint();
    if (rank == reader) {
        read_file(in_dir("ckpt_%d.h5", owner));
        start = now();
        read_file(in_dir("ckpt_%d.h5", owner));
        CHECK(now() - start < limit + 1.5); /* a protected file is worth a short wait each time */
    }
    MPI_Barrier(MPI_COMM_WORLD);
    application_goes_on();
    checkpoint();
}

void
case_own(void)
{
    protected_input(1, 1);
}

void
case_foreign(void)
{
    protected_input(0, 3);
}

/* One rank adds to its protected file, the others do not. */
void
case_append(void)
{
    checkpoint();
    if (rank == 2)
        add_group(mine("ckpt"), "more");
    MPI_Barrier(MPI_COMM_WORLD);
    checkpoint();
    application_goes_on();
}

/* An external link into a file that all may see, followed by one rank only. */
void
case_link(void)
{
    hid_t file, set;

    file = create(mine("main"), H5F_ACC_TRUNC);
    CHECK(H5Lcreate_external("target.h5", "/data", file, "there", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    CHECK(H5Fclose(file) >= 0);
    CHECK(is_protected(mine("main")));
    file = H5Fopen(mine("main"), H5F_ACC_RDONLY, H5P_DEFAULT);
    CHECK(file >= 0);
    if (rank == 1) {
        set = H5Dopen2(file, "there", H5P_DEFAULT);
        CHECK(set >= 0);
        H5Dclose(set);
    }
    CHECK(H5Fclose(file) >= 0);
    MPI_Barrier(MPI_COMM_WORLD);
    application_goes_on();
}

/* Before all have come together for any file, one rank cannot create its own: the others are told so, and do not wait. */
void
case_not_created(void)
{
    const bool fails = rank == 2;
    hid_t      file = H5I_INVALID_HID;

    if (fails) {
        H5E_BEGIN_TRY
        {
            file = create(in_dir("none/ckpt_2.h5"), H5F_ACC_TRUNC);
        }
        H5E_END_TRY
        CHECK(file < 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (!fails)
        write_file(mine("ckpt"));
    MPI_Barrier(MPI_COMM_WORLD);
    checkpoint();
    application_goes_on();
}

/* ---- order ---- */

void
case_order(void)
{
    for (int i = 0; i < 3; i++) {
        hid_t a = create(mine("a"), H5F_ACC_TRUNC), b = create(mine("b"), H5F_ACC_TRUNC);

        CHECK(H5Fclose(rank % 2 ? b : a) >= 0);
        CHECK(H5Fclose(rank % 2 ? a : b) >= 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(is_protected(mine("a")) || is_protected(mine("b")));
    checkpoint();
    application_goes_on();
}

/* The same on three ranks, another order on one. */
void
case_odd_one(void)
{
    hid_t a = create(mine("a"), H5F_ACC_TRUNC), b = create(mine("b"), H5F_ACC_TRUNC);

    CHECK(H5Fclose(rank == 3 ? b : a) >= 0);
    CHECK(H5Fclose(rank == 3 ? a : b) >= 0);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(is_protected(mine("a")) && !is_protected(mine("b")));
    application_goes_on();
}

/* ---- files that are there on some ranks ---- */

/* H5Fcreate over files that are there on ranks below `some`; `safe`: protected before. */
void
case_subset(void)
{
    for (int safe = 0; safe < 2; safe++)
        for (int some = 1; some <= ranks; some++) {
            double start;

            if (safe)
                write_file(mine("part"));
            MPI_Barrier(MPI_COMM_WORLD);
            if (rank >= some || !safe)
                unlink(mine("part"));
            if (!safe && rank < some) {
                FILE *f = fopen(mine("part"), "w"); /* no HDF5 file at all */
                CHECK(f != NULL && fclose(f) == 0);
            }
            MPI_Barrier(MPI_COMM_WORLD);
            start = now();
            write_file(mine("part"));
            CHECK(now() - start < limit); /* the same call everywhere: no waiting */
            CHECK(is_protected(mine("part")));
            read_file(mine("part"));
            MPI_Barrier(MPI_COMM_WORLD);
        }
    application_goes_on();
}

/* EXCL fails where the file is, and works where it is not; the others are not protected then. */
void
case_exclusive(void)
{
    hid_t file;

    if (rank < 2)
        write_file(mine("excl"));
    MPI_Barrier(MPI_COMM_WORLD);
    H5E_BEGIN_TRY
    {
        file = create(mine("excl"), H5F_ACC_EXCL);
    }
    H5E_END_TRY
    CHECK((file < 0) == (rank < 2));
    if (file >= 0)
        CHECK(H5Fclose(file) >= 0);
    MPI_Barrier(MPI_COMM_WORLD);
    checkpoint();
    application_goes_on();
}
