/* mixture.c - an MPI + HDF5 program whose ranks come late, fail, die, or do not come, so that their files may be of
 * different versions. It is not linked with redset and knows nothing of it; test_mixture.sh runs it under
 * HDF5_DRIVER=redset on 4 ranks, each with a directory of its own that stands for its node.
 *
 *   mixture CASE DIR PATIENCE ARGUMENT...
 *
 * Rank R keeps its files in DIR/nodeR, or those named TREE:NAME in DIR/TREE/nodeR. In a NAME, @ stands for the rank.
 * PATIENCE: seconds after which ranks that wait for another have given it up; who is late is later than that. The cases,
 * with their arguments, are at the end.
 *
 * What H5Fcreate, H5Fopen to write and H5Fclose returned is a line each in DIR/calls.R:
 *   create|open|close NAME VERSION ok|error SECONDS
 * What was found in files is a line each on standard output, one word per rank: the version, "-" where H5Fopen failed,
 * "?" where the content is not that of any version of this rank. Exit status 0: the program came to its end. */
#include "mixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- cases ---- */

/* All write the file, the number of the version given. */
static void
case_write(void)
{
    write_file(args[0], atoi(args[1]));
}

/* All open it and change it. */
static void
case_change(void)
{
    close_file(change(args[0], atoi(args[1])), args[0], atoi(args[1]));
}

/* All open these files to read. */
static void
case_read(void)
{
    for (int i = 0; args[i] != NULL; i++)
        say_found(look(args[i], H5F_ACC_RDONLY));
}

/* All open these files to write, and change nothing. */
static void
case_take_up(void)
{
    for (int i = 0; args[i] != NULL; i++)
        say_found(look(args[i], H5F_ACC_RDWR));
}

/* One rank has lost its node and creates its file, the others open theirs. */
static void
case_create_or_open(void)
{
    int version = ABSENT;

    if (rank == LATE)
        write_file(args[0], 2);
    else
        version = look(args[0], H5F_ACC_RDWR);
    say_found(version);
}

static const struct {
    const char *name;
    int         arguments; /* at least */
    void (*run)(void);
} cases[] = {
    {"write", 2, case_write},   /* NAME VERSION */
    {"change", 2, case_change}, /* NAME VERSION */
    {"read", 1, case_read},     /* NAME... */
    {"take_up", 1, case_take_up},
    {"late", 1, case_late}, /* NAME; as for those that follow without a comment */
    {"late_killed_before", 1, case_late_killed_before},
    {"late_killed_after", 1, case_late_killed_after},
    {"late_to_open", 1, case_late_to_open},
    {"log", 0, case_log},
    {"vain", 2, case_vain}, /* NAME RANKS */
    {"torn", 1, case_torn},
    {"read_apart", 1, case_read_apart},
    {"create_or_open", 1, case_create_or_open},
    {"fail_first", 2, case_fail_first}, /* NAME space|descriptors|lock|DIRECTORY */
    {"fail", 2, case_fail},
    {"die_created", 1, case_die_created},
    {"die_creating", 1, case_die_creating},
    {"die_changing", 1, case_die_changing},
    {"unprotected", 1, case_unprotected},
    {"late_first", 1, case_late_first},
    {"late_first_free", 1, case_late_first_free},
};

static int
run_case(const char *name, int arguments)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(name, cases[i].name) == 0 && arguments >= cases[i].arguments) {
            cases[i].run();
            return 0;
        }
    fprintf(stderr, "mixture.c: no case %s with %d arguments\n", name, arguments);
    return 2;
}

int
main(int argc, char **argv)
{
    int status;

    if (argc < 4) {
        fprintf(stderr, "usage: mixture CASE DIR PATIENCE ARGUMENT...\n");
        return 2;
    }
    dir = argv[2];
    patience = atof(argv[3]);
    args = argv + 4;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    must(H5open() >= 0, "H5open");
    status = run_case(argv[1], argc - 4);
    MPI_Finalize();
    return status;
}
