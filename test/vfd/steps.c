/* steps.c - an MPI + HDF5 program that goes from step to step with the files of ranks.c, whatever becomes of each; in
 * which a rank is late, writes a file of its own, or dies. It is not linked with redset and knows nothing of it.
 *
 *   steps DIR SIZE SAYS WORD...
 *
 *   create=CONTENT      H5Fcreate; all is written (SIZE and CONTENT: seeds.h)
 *   open=CONTENT        H5Fopen; the part is rewritten, whatever is in the rest
 *   close               H5Fclose, if there is anything to close
 *   read                H5Fopen for reading, and H5Fclose
 *   read=RANK           the same, but this rank does not
 *   late=RANK:SECONDS   this rank sleeps
 *   log=RANK            this rank writes DIR/log.h5, a file that only it has
 *   meet                all wait for each other
 *   killed              all are killed, when they have come here
 *   killed=RANK         this rank is killed as soon as it is here, and mpirun ends the others where they are
 *
 * What a rank's calls of a word came to is a line in the file SAYS.<rank>: number of the word, from 1 on; ok or error. A
 * call that failed says why on standard error, too. Exit status 0: all ranks came to the end. */
#include "seeds.h"

#include <signal.h>
#include <time.h>

static FILE *says;
static hid_t file = H5I_INVALID_HID;

static herr_t
last_of(unsigned n, const H5E_error2_t *record, void *to)
{
    (void)n;
    *(const char **)to = record->desc;
    return 0;
}

static void
say(int word, int ok)
{
    const char *text = NULL;

    fprintf(says, "%d %s\n", word, ok ? "ok" : "error");
    fflush(says); /* it may be the last */
    if (!ok && why >= 0)
        H5Ewalk2(why, H5E_WALK_DOWNWARD, last_of, &text);
    if (!ok)
        complain("word %d: %s", word, text != NULL ? text : "failed");
    if (why >= 0)
        H5Eclose_stack(why);
    why = H5I_INVALID_HID;
}

/* ---- words; `value` is what stands behind the = ---- */

static void
create(int word, const char *content)
{
    file = tried(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    take_seed(content);
    if (file >= 0)
        must(write_dataset(file, 0, 1) == RIGHT && write_dataset(file, 1, 1) == RIGHT ? path : NULL,
             "writing a new file");
    say(word, file >= 0);
}

static void
open_and_update(int word, const char *content)
{
    file = tried(H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT));
    take_seed(content);
    if (file >= 0)
        must(write_dataset(file, 1, 0) == RIGHT ? path : NULL, "updating a file");
    say(word, file >= 0);
}

static void
close_file(int word, const char *value)
{
    (void)value;
    if (file >= 0)
        say(word, tried(H5Fclose(file)) >= 0);
    file = H5I_INVALID_HID;
}

static int
is_me(const char *value)
{
    return atoi(value) == rank;
}

static void
late(int word, const char *value)
{
    const double    seconds = atof(value + strcspn(value, ":") + 1);
    struct timespec t = {.tv_sec = (time_t)seconds};

    (void)word;
    t.tv_nsec = (long)(1e9 * (seconds - (double)t.tv_sec));
    if (is_me(value))
        nanosleep(&t, NULL);
}

static void
write_log(int word, const char *value)
{
    char  name[sizeof path + 16];
    hid_t log;

    if (!is_me(value))
        return;
    snprintf(name, sizeof name, "%s/log.h5", dir);
    log = tried(H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    say(word, log >= 0 && write_dataset(log, 1, 1) == RIGHT && tried(H5Fclose(log)) >= 0);
}

static void
read_only(int word, const char *absent)
{
    if (absent[0] != '\0' && is_me(absent))
        return;
    file = tried(H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT));
    say(word, file >= 0 && tried(H5Fclose(file)) >= 0);
    file = H5I_INVALID_HID;
}

static void
meet(int word, const char *value)
{
    (void)word;
    (void)value;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void
killed(int word, const char *value)
{
    if (value[0] == '\0')
        meet(word, value);
    if (value[0] == '\0' || is_me(value))
        raise(SIGKILL);
}

static const struct {
    const char *name;
    void (*run)(int word, const char *value);
} words[] = {
    {"create", create}, {"open", open_and_update}, {"close", close_file}, {"read", read_only},
    {"late", late},     {"log", write_log},        {"meet", meet},        {"killed", killed}};

static int
run_word(int number, const char *word)
{
    const size_t n = strcspn(word, "=");

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i].name) == n && strncmp(words[i].name, word, n) == 0) {
            words[i].run(number, word + n + (word[n] == '='));
            return 1;
        }
    return 0;
}

int
main(int argc, char **argv)
{
    char name[sizeof path];
    int  known = argc > 4;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (known) {
        name_file(argv[1], argv[2]);
        snprintf(name, sizeof name, "%s.%d", argv[3], rank);
        says = must(fopen(name, "w"), name);
        must(H5open() >= 0 ? name : NULL, "H5open"); /* it is, when HDF5_DRIVER cannot be loaded */
        H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    }
    for (int i = 4; i < argc && known; i++)
        known = run_word(i - 3, argv[i]);
    if (!known && rank == 0)
        fprintf(stderr, "usage: steps DIR SIZE SAYS WORD...: see steps.c\n");
    MPI_Finalize();
    return known ? 0 : USAGE;
}
