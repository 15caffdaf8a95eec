/* test_tool_progress.c: how h5redset tells how far it is (inside: main is h5redset_main here), by a clock of the test's: it goes on
 * by what each read of a file takes, and does not depend on the machine. */
#include "image.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

int     h5redset_main(int argc, char **argv);
double  __wrap_rset_clock(void);
ssize_t __real_pread(int fd, void *buf, size_t len, off_t off);
ssize_t __wrap_pread(int fd, void *buf, size_t len, off_t off);

enum { N = 4, SIZE = 4 << 20, LARGE_READ = 4096, TEXT = 64 * 1024 };

static atomic_uint reads;    /* of content, not of headers */
static double      per_read; /* s */

double
__wrap_rset_clock(void)
{
    return 1000 + reads * per_read;
}

ssize_t
__wrap_pread(int fd, void *buf, size_t len, off_t off)
{
    reads += len >= LARGE_READ;
    return __real_pread(fd, buf, len, off);
}

/* ---- runs of the tool ---- */

/* Four files of SIZE bytes, each in a directory of its own, protected by XOR. */
typedef struct world {
    char *base, *out; /* `out`: where the tool's stdout goes */
    image image;
} world;

/* A terminal of which the other end is read, or a pipe. */
typedef struct sink {
    int to, from;
} sink;

static sink
open_sink(bool terminal)
{
    int fds[2];

    if (!terminal) {
        assert_int_equal(pipe(fds), 0);
    } else {
        fds[0] = posix_openpt(O_RDWR | O_NOCTTY);
        assert_true(fds[0] >= 0 && grantpt(fds[0]) == 0 && unlockpt(fds[0]) == 0);
        fds[1] = open(ptsname(fds[0]), O_RDWR | O_NOCTTY);
        assert_true(fds[1] >= 0);
    }
    return (sink){.from = fds[0], .to = fds[1]};
}

/* What comes until nobody has the other end open any more, which a terminal calls an error. */
static void
drain(const sink *s, char out[TEXT])
{
    size_t  n = 0;
    ssize_t got;

    close(s->to);
    while (n + 1 < TEXT && (got = read(s->from, out + n, TEXT - 1 - n)) > 0)
        n += (size_t)got;
    out[n] = '\0';
    close(s->from);
}

/* Runs the tool in a process of its own, with reads that take so long; its exit status. What it says on stderr is in `out`, and on
 * stdout in w->out/stdout. */
static int
run(const world *w, double seconds, bool terminal, const char *const *words, char out[TEXT])
{
    const char *argv[8] = {"h5redset"};
    sink        s = open_sink(terminal);
    int         argc = 1, status;
    pid_t       child;

    for (; words[argc - 1] != NULL; argc++)
        argv[argc] = words[argc - 1];
    fflush(NULL);
    child = fork();
    if (child == 0) {
        const int plain = open(path_of("%s/stdout", w->out), O_WRONLY | O_CREAT | O_TRUNC, 0600);

        dup2(plain, STDOUT_FILENO);
        dup2(s.to, STDERR_FILENO);
        close(s.to);
        close(s.from);
        per_read = seconds;
        status = h5redset_main(argc, (char **)argv);
        fflush(NULL);
        _exit(status);
    }
    drain(&s, out);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static const char *
file_of(const world *w, int r)
{
    return path_of("%s/n%d/f_%d.h5", w->base, r, r);
}

static void
begin(world *w)
{
    static uint8_t bytes[SIZE];
    char           out[TEXT], *files[N];

    *w = (world){.base = scratch_make(), .out = scratch_make()};
    for (int r = 0; r < N; r++) {
        assert_int_equal(mkdir(path_of("%s/n%d", w->base, r), 0700), 0);
        fill_random(bytes, SIZE, (uint64_t)r + 1);
        files[r] = strdup(file_of(w, r));
        write_file(files[r], bytes, SIZE);
    }
    assert_int_equal(run(w, 0, false,
                         (const char *[]){"protect", "--scheme=XOR", files[0], files[1], files[2],
                                          files[3], NULL},
                         out),
                     0);
    for (int r = 0; r < N; r++)
        free(files[r]);
    w->image = image_take(w->base);
}

static void
end(world *w)
{
    image_free(&w->image);
    remove_tree(w->base);
    remove_tree(w->out);
    free(w->base);
    free(w->out);
}

static void
lose(const world *w, int r)
{
    remove_tree(path_of("%s/n%d", w->base, r));
}

/* All files are as they were. */
static void
assert_data(const world *w)
{
    char why[1024];

    if (!image_same(&w->image, w->base, NULL, IMAGE_CONTENT, why))
        fail_msg("%s", why);
}

/* Are these all the lines "h5redset: DOING: N %, ..." of `out`, in order, each step once, and the last is 100? */
static int
steps_of(const char *out, const char *doing)
{
    char        begins[64];
    const char *at = out;
    int         n = 0, last = 0, is = 0;

    snprintf(begins, sizeof begins, "h5redset: %s: ", doing);
    while ((at = strstr(at, begins)) != NULL) {
        at += strlen(begins);
        is = atoi(at);
        if (is <= last || is % 10 != 0 || strncmp(strchr(at, ' '), " %, ", 4) != 0)
            fail_msg("not a step after %d %%: %s", last, at);
        last = is;
        n++;
    }
    if (n > 0)
        assert_int_equal(last, 100);
    return n;
}

/* Was about as much read as was expected? In MiB. */
static void
assert_expected(const char *out, const char *doing)
{
    char        begins[64];
    const char *at;
    double      done, total, all;

    snprintf(begins, sizeof begins, "h5redset: %s: 90 %%, ", doing);
    at = strstr(out, begins);
    assert_non_null(at);
    assert_int_equal(sscanf(at + strlen(begins), "%lf MiB of %lf MiB", &done, &total), 2);
    snprintf(begins, sizeof begins, "h5redset: %s: 100 %%, ", doing);
    at = strstr(at, begins);
    assert_non_null(at);
    assert_int_equal(sscanf(at + strlen(begins), "%lf MiB in", &all), 1);
    if (all < 0.9 * total || all > 1.1 * total)
        fail_msg("%s: %.1f MiB were read of %.1f", doing, all, total);
}

/* ---- tests ---- */

/* All reads together take less than 2 s. */
static void
nothing_in_the_first_seconds(void **state)
{
    world w;
    char  out[TEXT];

    (void)state;
    for (int terminal = 0; terminal < 2; terminal++) {
        begin(&w);
        lose(&w, 1);
        assert_int_equal(run(&w, 0.001, terminal, (const char *[]){"rebuild", w.base, NULL}, out),
                         0);
        assert_string_equal(out, "");
        assert_data(&w);
        end(&w);
    }
}

static void
a_line_for_each_step(void **state)
{
    world w;
    char  out[TEXT];

    (void)state;
    begin(&w);
    lose(&w, 1);
    assert_int_equal(run(&w, 0.3, false, (const char *[]){"rebuild", w.base, NULL}, out), 0);
    assert_data(&w);
    assert_true(steps_of(out, "rebuilding") >= 9);
    assert_expected(out, "rebuilding");
    assert_null(strstr(out, "verifying")); /* is done while it is rebuilt */
    assert_null(strchr(out, '\r'));
    assert_non_null(strstr(out, "/s, "));
    assert_non_null(strstr(out, " s left\n"));
    end(&w);
}

/* Two sets of files in one run: of all of them. */
static void
of_all_files_together(void **state)
{
    world w, second;
    char  out[TEXT];

    (void)state;
    begin(&w);
    begin(&second);
    lose(&w, 1);
    lose(&second, 2);
    assert_int_equal(
        run(&w, 0.3, false, (const char *[]){"rebuild", w.base, second.base, NULL}, out), 0);
    assert_true(steps_of(out, "rebuilding") >= 9);
    assert_expected(out, "rebuilding");
    assert_data(&w);
    assert_data(&second);
    end(&second);
    end(&w);
}

static void
damaged_and_single_files(void **state)
{
    world w;
    char  out[TEXT];

    (void)state;
    begin(&w);
    assert_int_equal(unlink(file_of(&w, 1)), 0);
    assert_int_equal(run(&w, 0.3, false, (const char *[]){"rebuild", file_of(&w, 1), NULL}, out),
                     0);
    assert_true(steps_of(out, "rebuilding") >= 9);
    assert_expected(out, "rebuilding");
    assert_data(&w);
    flip_bit(file_of(&w, 2), SIZE / 2);
    assert_int_equal(run(&w, 0.3, false, (const char *[]){"rebuild", w.base, NULL}, out), 0);
    assert_true(steps_of(out, "verifying") >= 9);
    assert_expected(out, "verifying");
    assert_true(steps_of(out, "rebuilding") >= 7); /* some reads are large */
    assert_expected(out, "rebuilding");
    assert_data(&w);
    end(&w);
}

static void
scavenge_copies_and_rebuilds(void **state)
{
    world w;
    char  out[TEXT], *to;

    (void)state;
    begin(&w);
    lose(&w, 1);
    to = scratch_make();
    assert_int_equal(run(&w, 0.7, false,
                         (const char *[]){"scavenge", "--to", path_of("%s/safe", to), w.base, NULL},
                         out),
                     0);
    assert_true(steps_of(out, "copying") >= 2); /* reads each file at once */
    assert_true(steps_of(out, "rebuilding") >= 9);
    assert_expected(out, "rebuilding");
    remove_tree(to);
    free(to);
    end(&w);
}

/* A terminal has one line, which is drawn over, and nothing is left of it. */
static void
a_bar_in_a_terminal(void **state)
{
    world       w;
    char        out[TEXT];
    const char *last;

    (void)state;
    begin(&w);
    lose(&w, 1);
    assert_int_equal(run(&w, 0.3, true, (const char *[]){"rebuild", w.base, NULL}, out), 0);
    assert_non_null(strstr(out, "\rrebuilding ["));
    assert_null(strchr(out, '\n'));
    last = strrchr(out, '\r');
    assert_string_equal(last, "\r\033[K");
    end(&w);
}

/* JSON is all that there is on stdout. */
static void
json_is_alone(void **state)
{
    world w;
    char  out[TEXT], text[8] = "";
    FILE *f;

    (void)state;
    begin(&w);
    assert_int_equal(
        run(&w, 0.3, false, (const char *[]){"status", "--verify", "--json", w.base, NULL}, out),
        0);
    assert_true(steps_of(out, "verifying") >= 9);
    f = fopen(path_of("%s/stdout", w.out), "r");
    assert_non_null(f);
    assert_true(fread(text, 1, 1, f) == 1);
    assert_string_equal(text, "{");
    while (fgets(out, TEXT, f) != NULL)
        assert_null(strstr(out, "verifying"));
    fclose(f);
    end(&w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_in_the_first_seconds),
        cmocka_unit_test(a_line_for_each_step),
        cmocka_unit_test(of_all_files_together),
        cmocka_unit_test(damaged_and_single_files),
        cmocka_unit_test(scavenge_copies_and_rebuilds),
        cmocka_unit_test(a_bar_in_a_terminal),
        cmocka_unit_test(json_is_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
