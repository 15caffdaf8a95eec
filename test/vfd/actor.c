/* actor.c - an MPI + HDF5 program that does what a script tells it, one step after the other, so that a script decides in which
 * order several programs do what (actors.sh). It is not linked with redset and knows nothing of it.
 *
 *   actor DIR SIZE GATE   rank r reads steps, one a line, from the FIFO GATE.r.in, and answers each with a line in GATE.r.out: "ok",
 *                         "wrong" (the content that was read), or "failed: " and what HDF5 said of it first
 *
 *   create SEED   creates DIR/data_<rank>.h5 (seeds.h), and writes all of it
 *   open          opens it for writing; `look`: for reading
 *   write SEED    rewrites a part of it
 *   flush, close  the file
 *   check SEED    reads all of it
 *   pid           is answered with the number of the process
 *   end           the last one
 *
 * What fails is answered, and the next step is waited for. Exit status 0, if MPI has nothing against it. */
#include "seeds.h"

#include <fcntl.h>
#include <unistd.h>

enum { ASKED = 99 };

static hid_t file = H5I_INVALID_HID;

static herr_t
take_first(unsigned n, const H5E_error2_t *record, void *to)
{
    (void)n;
    if (record->desc != NULL && strstr(record->desc, "data_") != NULL && *(char *)to == '\0')
        snprintf(to, 2048, "%s", record->desc);
    return 0;
}

static const char *
answer_of(int result)
{
    static char text[4096];
    char        said[2048] = "";

    if (result == ASKED) {
        snprintf(text, sizeof text, "%ld", (long)getpid());
        return text;
    }
    if (result == RIGHT)
        return "ok";
    if (result == WRONG)
        return "wrong";
    if (why >= 0)
        H5Ewalk2(why, H5E_WALK_DOWNWARD, take_first, said);
    snprintf(text, sizeof text, "failed: %s", said);
    for (char *c = text; *c != '\0'; c++)
        *c = *c == '\n' ? ' ' : *c;
    return text;
}

static int
is_done(hid_t result)
{
    return tried(result) >= 0 ? RIGHT : REFUSED;
}

static int
create(void)
{
    file = tried(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    if (file < 0)
        return REFUSED;
    return write_dataset(file, 0, 1) == RIGHT ? write_dataset(file, 1, 1) : REFUSED;
}

static int
check(void)
{
    int whole = check_dataset(file, 0);
    return whole == RIGHT ? check_dataset(file, 1) : whole;
}

static int
take_step(const char *step)
{
    const char *arg = strchr(step, ' ');

    take_seed(arg != NULL ? arg + 1 : "0");
    if (strncmp(step, "create", 6) == 0)
        return create();
    if (strcmp(step, "open") == 0)
        return is_done(file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT));
    if (strcmp(step, "look") == 0)
        return is_done(file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT));
    if (strncmp(step, "write", 5) == 0)
        return write_dataset(file, 1, 0);
    if (strcmp(step, "flush") == 0)
        return is_done(H5Fflush(file, H5F_SCOPE_LOCAL));
    if (strcmp(step, "close") == 0)
        return is_done(H5Fclose(file));
    if (strcmp(step, "pid") == 0)
        return ASKED;
    return strncmp(step, "check", 5) == 0 ? check() : USAGE;
}

static FILE *
open_gate(const char *gate, const char *end, const char *how)
{
    char name[4096];

    snprintf(name, sizeof name, "%s.%d.%s", gate, rank, end);
    return (FILE *)must(fopen(name, how), name);
}

int
main(int argc, char **argv)
{
    char  step[256];
    FILE *in, *out;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 4 || ranks < 1)
        MPI_Abort(MPI_COMM_WORLD, USAGE);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    name_file(argv[1], argv[2]);
    in = open_gate(argv[3], "in", "r+"); /* for both: it does not end */
    out = open_gate(argv[3], "out", "r+");
    while (fgets(step, sizeof step, in) != NULL && strcmp(step, "end\n") != 0) {
        step[strcspn(step, "\n")] = '\0';
        fprintf(out, "%s\n", answer_of(take_step(step)));
        fflush(out);
        if (why >= 0)
            H5Eclose_stack(why);
        why = H5I_INVALID_HID;
    }
    MPI_Finalize();
    return 0;
}
