/* lives.h: what lives.c (MPI) and serial_lives.c (no MPI) are: programs that do what their arguments say, with HDF5 files of which
 * each value tells who wrote it, and when. For the random lives (test/lives). They are not linked with redset.
 *
 *   lives NAME VALUES WORD...
 *
 * NAME is the path of the files, with # for the rank, or of one file of all. A file has the dataset "all" of VALUES values, and "part" of a quarter of
 * that. A value is step * 2^40 + rank * 2^32 + index. Words; R@WORD is done by rank R only, -R@WORD by the others:
 *
 *   create=STEP      H5Fcreate; both datasets are written
 *   change           H5Fopen for change of the own file
 *   open, open=RANK  H5Fopen for reading of the own file, of that of another rank
 *   write=STEP       "part" is rewritten
 *   half, rest, read the first half of both datasets is read, the second one, all
 *   close            H5Fclose
 *   mute             from now on HDF5 does not print errors, nor are they in the log
 *   sleep=SECONDS, meet (MPI_Barrier), stop (SIGSTOP), kill (SIGKILL)
 *   say=NAME         makes the file $LIVES_SIGNS/NAME; await=NAME waits for it, at most a minute
 *   fork ... end     a child does the words in between; join waits for it. exit ends it before, with what HDF5 does at an exit
 *
 * Each word writes one line of JSON to $LIVES_LOG when it begins, and one when it ends: who ($LIVES_WHO.<rank>, a child has a c
 * behind it), word, ok, what HDF5's innermost error says, and what was read: how many values of which step and rank. Exit status
 * 0: all words were done, whatever became of them. */
#ifndef LIVES_H
#define LIVES_H

#include "said.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { KINDS = 8 };

/* How many values of a dataset are of which step and rank. */
typedef struct found {
    int      n;
    uint64_t kind[KINDS];
    size_t   count[KINDS];
    size_t   bad; /* values that are of another place, or of more kinds than there is room for */
} found;

static int         rank;
static const char *name_of_files;
static size_t      values;
static char        path[4096], who[256];
static hid_t       file = H5I_INVALID_HID;
static int         logs = -1;
static pid_t       child;
static void (*barrier)(void); /* NULL without MPI */

static const char *const dataset_name[2] = {"all", "part"};

static inline size_t
dataset_size(int dataset)
{
    return dataset == 0 ? values : values / 4 + 1;
}

/* ---- the log ---- */

/* One line in one write: those of several processes do not mix. */
static inline void
put_line(const char *word, const char *text)
{
    char      line[16384];
    const int n = snprintf(line, sizeof line, "{\"who\":\"%s\",\"pid\":%d,\"word\":\"%s\",%s}\n",
                           who, (int)getpid(), word, text);

    if (n < 0 || (size_t)n >= sizeof line || write(logs, line, (size_t)n) != n)
        abort();
}

static inline void
begin_word(const char *word)
{
    said[0] = '\0';
    put_line(word, "\"begins\":true");
}

static inline void
end_word(const char *word, bool ok, const char *more)
{
    char text[12288], what[sizeof said];

    memcpy(what, said, sizeof what);
    for (char *c = what; *c != '\0'; c++)
        if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ')
            *c = '\'';
    snprintf(text, sizeof text, "\"ok\":%s,\"file\":\"%s\",\"said\":\"%s\"%s",
             ok ? "true" : "false", path, what, more);
    put_line(word, text);
}

/* ---- values ---- */

static inline void
name_file_of(int whose)
{
    const char *at = strchr(name_of_files, '#');

    if (at == NULL)
        snprintf(path, sizeof path, "%s", name_of_files);
    else
        snprintf(path, sizeof path, "%.*s%d%s", (int)(at - name_of_files), name_of_files, whose,
                 at + 1);
}

static inline void
count_value(found *f, uint64_t value, size_t at)
{
    const uint64_t kind = value >> 32;
    int            i = 0;

    while (i < f->n && f->kind[i] != kind)
        i++;
    if ((value & UINT32_MAX) != at || i == KINDS) {
        f->bad++;
        return;
    }
    f->kind[i] = kind;
    f->count[i]++;
    f->n += i == f->n;
}

static inline int
print_found(char *to, size_t size, const char *name, const found *f)
{
    int n = snprintf(to, size, ",\"%s\":{", name);

    for (int i = 0; i < f->n; i++)
        n += snprintf(to + n, size - (size_t)n, "%s\"%" PRIu64 ".%" PRIu64 "\":%zu",
                      i > 0 ? "," : "", f->kind[i] >> 8, f->kind[i] & 255, f->count[i]);
    return n + snprintf(to + n, size - (size_t)n, "},\"%s_bad\":%zu", name, f->bad);
}

static inline bool
write_dataset(int dataset, uint64_t step, bool create)
{
    const hsize_t n = dataset_size(dataset);
    uint64_t     *data = malloc(n * sizeof *data);
    hid_t         set, space;
    bool          ok;

    if (data == NULL)
        abort();
    for (hsize_t i = 0; i < n; i++)
        data[i] = step << 40 | (uint64_t)rank << 32 | i;
    space = H5Screate_simple(1, &n, NULL);
    set = create ? H5Dcreate2(file, dataset_name[dataset], H5T_STD_U64LE, space, H5P_DEFAULT,
                              H5P_DEFAULT, H5P_DEFAULT)
                 : H5Dopen2(file, dataset_name[dataset], H5P_DEFAULT);
    ok = set >= 0 && H5Dwrite(set, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
    ok = set >= 0 && H5Dclose(set) >= 0 && ok;
    (void)H5Sclose(space);
    free(data);
    return ok;
}

/* Reads `count` values from `from` on. */
static inline bool
read_dataset(int dataset, hsize_t from, hsize_t count, found *f)
{
    uint64_t *data = calloc(count + 1, sizeof *data);
    hid_t     set = H5Dopen2(file, dataset_name[dataset], H5P_DEFAULT), space, memory;
    bool      ok = false;

    if (data == NULL)
        abort();
    if (set >= 0) {
        space = H5Dget_space(set);
        memory = H5Screate_simple(1, &count, NULL);
        ok = H5Sselect_hyperslab(space, H5S_SELECT_SET, &from, NULL, &count, NULL) >= 0 &&
             H5Dread(set, H5T_NATIVE_UINT64, memory, space, H5P_DEFAULT, data) >= 0;
        (void)H5Sclose(memory);
        (void)H5Sclose(space);
        ok = H5Dclose(set) >= 0 && ok;
    }
    for (hsize_t i = 0; i < count && ok; i++)
        count_value(f, data[i], (size_t)(from + i));
    free(data);
    return ok;
}

/* ---- words; `value` is what stands behind the =, or "" ---- */

static inline void
create(const char *word, const char *value)
{
    const uint64_t step = strtoull(value, NULL, 10);

    name_file_of(rank);
    file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    end_word(word, file >= 0 && write_dataset(0, step, true) && write_dataset(1, step, true), "");
}

static inline void
open_to_change(const char *word, const char *value)
{
    (void)value;
    name_file_of(rank);
    file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    end_word(word, file >= 0, "");
}

static inline void
open_to_read(const char *word, const char *value)
{
    name_file_of(value[0] != '\0' ? atoi(value) : rank);
    file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    end_word(word, file >= 0, "");
}

static inline void
write_part(const char *word, const char *value)
{
    if (file >= 0)
        end_word(word, write_dataset(1, strtoull(value, NULL, 10), false), "");
}

/* Of each dataset what is between two eighths of it. */
static inline void
read_between(const char *word, unsigned from, unsigned to)
{
    char  text[2048];
    found f[2] = {0};
    bool  ok = true;
    int   n = 0;

    if (file < 0)
        return;
    for (int d = 0; d < 2; d++) {
        const hsize_t first = dataset_size(d) * from / 8;

        ok = ok && read_dataset(d, first, dataset_size(d) * to / 8 - first, &f[d]);
        n += print_found(text + n, sizeof text - (size_t)n, dataset_name[d], &f[d]);
    }
    end_word(word, ok, text);
}

static inline void
read_half(const char *word, const char *value)
{
    (void)value;
    read_between(word, 0, 4);
}

static inline void
read_rest(const char *word, const char *value)
{
    (void)value;
    read_between(word, 4, 8);
}

static inline void
read_all(const char *word, const char *value)
{
    (void)value;
    read_between(word, 0, 8);
}

static inline void
close_file(const char *word, const char *value)
{
    (void)value;
    if (file >= 0)
        end_word(word, H5Fclose(file) >= 0, "");
    file = H5I_INVALID_HID;
}

static inline void
pause_for(double seconds)
{
    struct timespec t = {.tv_sec = (time_t)seconds};

    t.tv_nsec = (long)(1e9 * (seconds - (double)t.tv_sec));
    (void)nanosleep(&t, NULL);
}

static inline void
sleep_for(const char *word, const char *value)
{
    (void)word;
    pause_for(atof(value));
}

static inline void
meet(const char *word, const char *value)
{
    (void)value;
    if (barrier != NULL)
        barrier();
    end_word(word, true, "");
}

static inline void
stop(const char *word, const char *value)
{
    (void)value;
    raise(SIGSTOP);
    end_word(word, true, "");
}

static inline void
kill_self(const char *word, const char *value)
{
    (void)word;
    (void)value;
    raise(SIGKILL);
}

static inline const char *
sign(const char *value)
{
    static char name[4096];

    snprintf(name, sizeof name, "%s/%s", getenv("LIVES_SIGNS"), value);
    return name;
}

static inline void
say(const char *word, const char *value)
{
    const int fd = open(sign(value), O_CREAT | O_WRONLY, 0666);

    end_word(word, fd >= 0 && close(fd) == 0, "");
}

static inline void
await(const char *word, const char *value)
{
    bool seen = false;

    for (int i = 0; i < 6000 && !seen; i++) {
        seen = access(sign(value), F_OK) == 0;
        if (!seen)
            pause_for(0.01);
    }
    end_word(word, seen, "");
}

static inline void
mute(const char *word, const char *value)
{
    (void)value;
    end_word(word, H5Eset_auto2(H5E_DEFAULT, NULL, NULL) >= 0, "");
}

static inline void
exit_child(const char *word, const char *value)
{
    (void)value;
    end_word(word, true, "");
    exit(0);
}

static inline void
join(const char *word, const char *value)
{
    char text[64];
    int  status = 0;

    (void)value;
    if (child <= 0)
        return;
    (void)waitpid(child, &status, 0);
    child = 0;
    snprintf(text, sizeof text, ",\"signal\":%d", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    end_word(word, WIFEXITED(status) && WEXITSTATUS(status) == 0, text);
}

static const struct {
    const char *name;
    void (*run)(const char *word, const char *value);
} words[] = {{"create", create},     {"change", open_to_change},
             {"open", open_to_read}, {"write", write_part},
             {"half", read_half},    {"rest", read_rest},
             {"read", read_all},     {"close", close_file},
             {"sleep", sleep_for},   {"meet", meet},
             {"stop", stop},         {"kill", kill_self},
             {"say", say},           {"await", await},
             {"join", join},         {"exit", exit_child},
             {"mute", mute}};

/* Is the word for this rank? `word` goes behind who it is for. */
static inline bool
is_mine(const char **word)
{
    const char *at = strchr(*word, '@');
    const bool  others = **word == '-';
    const int   whom = at != NULL ? atoi(*word + others) : -1;

    if (at != NULL)
        *word = at + 1;
    return at == NULL || (whom == rank) != others;
}

static inline bool
run_word(const char *word)
{
    const size_t n = strcspn(word, "=");

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i].name) == n && strncmp(words[i].name, word, n) == 0) {
            begin_word(word);
            words[i].run(word, word + n + (word[n] == '='));
            return true;
        }
    fprintf(stderr, "lives: there is no word %s: see lives.h\n", word);
    return false;
}

/* Where the words go on: for the child behind `fork`, for its parent behind `end`. The child ends there. */
static inline int
fork_at(char **word, int at)
{
    put_line("fork", "\"begins\":true");
    child = fork();
    if (child < 0)
        abort();
    if (child == 0)
        strcat(who, "c");
    else
        while (word[at] != NULL && strcmp(word[at], "end") != 0)
            at++;
    return at;
}

/* Returns the exit status. */
static inline int
run_words(char **word)
{
    bool known = true;

    for (int i = 0; word[i] != NULL && known; i++) {
        const char *w = word[i];

        if (!is_mine(&w)) {
            while (strcmp(w, "fork") == 0 && word[i + 1] != NULL && strcmp(word[i], "end") != 0)
                i++;
            continue;
        }
        if (strcmp(w, "fork") == 0)
            i = fork_at(word, i);
        else if (strcmp(w, "end") == 0 && child == 0)
            _exit(0);
        else if (strcmp(w, "end") != 0)
            known = run_word(w);
    }
    return known ? 0 : 1;
}

/* False: the arguments are wrong. Called before MPI_Init or after it. */
static inline bool
begin_lives(int argc, char **argv)
{
    const char *name = getenv("LIVES_WHO"), *log = getenv("LIVES_LOG");

    if (argc < 4 || log == NULL || getenv("LIVES_SIGNS") == NULL)
        return false;
    logs = open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    name_of_files = argv[1];
    values = strtoull(argv[2], NULL, 10);
    snprintf(who, sizeof who, "%s.%d", name != NULL ? name : "program", rank);
    put_line("starts", "\"begins\":true");
    (void)H5Eset_auto2(H5E_DEFAULT, on_error, NULL);
    return true;
}

#endif
