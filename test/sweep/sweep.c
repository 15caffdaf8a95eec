/* sweep.c: see sweep.h. */
#include "sweep.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WATCHDOG = 300, SHOWN = 40, TALLIES = 32, STATUS_DIED = 42, STATUS_LEFT = 43 };

static struct {
    const char *name;
    bool        all;
    uint64_t    seed;
    long        points, violations;
    struct {
        const char *what;
        long        n;
    } tallies[TALLIES];
    struct timespec start;
} now;

/* With --coverage (test/checks/nightly_coverage.sh) there, else null: _exit alone forgets what was counted. */
void __gcov_dump(void) __attribute__((weak));

static struct {
    const char *name;
    const long *points, *violations;
    pid_t       of;
} cut;

/* How far it came; nothing else does, so that no one takes it for the whole. */
static void
cut_short(int sig)
{
    char line[128];
    int  n = snprintf(line, sizeof line, "%s: cut short after %ld points, %ld violations\n",
                      cut.name, *cut.points, *cut.violations);

    if (getpid() == cut.of && write(STDOUT_FILENO, line, (size_t)n) < 0)
        _exit(1);
    _exit(128 + sig);
}

void
sweep_when_cut_short(const char *name, const long *points, const long *violations)
{
    cut.name = name;
    cut.points = points;
    cut.violations = violations;
    cut.of = getpid();
    signal(SIGTERM, cut_short);
}

void
sweep_begin(const char *name, int argc, char **argv)
{
    if (argc != 2 || (strcmp(argv[1], "change") != 0 && strcmp(argv[1], "all") != 0)) {
        fprintf(stderr, "usage: %s change|all\n", argv[0]);
        exit(2);
    }
    now.name = name;
    now.all = strcmp(argv[1], "all") == 0;
    now.seed = 1;
    sweep_when_cut_short(name, &now.points, &now.violations);
    clock_gettime(CLOCK_MONOTONIC, &now.start);
}

const char *
sweep_name(void)
{
    return now.name;
}

bool
sweep_all(void)
{
    return now.all;
}

int
sweep_sample(int otherwise)
{
    const char *value = getenv("SWEEP_POINTS");

    return value != NULL ? atoi(value) : otherwise;
}

uint32_t
sweep_random(uint32_t below)
{
    now.seed = now.seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)((now.seed >> 32) * below >> 32);
}

/* ---- counting ---- */

void
sweep_point(void)
{
    now.points++;
}

void
sweep_violation(const char *fmt, ...)
{
    va_list args;

    if (now.violations++ == SHOWN)
        printf("... and more\n");
    if (now.violations > SHOWN)
        return;
    va_start(args, fmt);
    printf("VIOLATION ");
    vprintf(fmt, args);
    printf("\n");
    fflush(stdout);
    va_end(args);
}

long
sweep_violations(void)
{
    return now.violations;
}

void
sweep_tally(const char *what)
{
    for (int i = 0; i < TALLIES; i++) {
        if (now.tallies[i].what == NULL)
            now.tallies[i].what = what;
        if (strcmp(now.tallies[i].what, what) == 0) {
            now.tallies[i].n++;
            return;
        }
    }
}

bool
sweep_seen(sweep_set *set, uint64_t print)
{
    size_t at;

    print |= 1;
    at = print % SWEEP_SET;
    while (set->print[at] != 0 && set->print[at] != print)
        at = (at + 1) % SWEEP_SET;
    if (set->print[at] == print || set->used > SWEEP_SET / 2)
        return set->print[at] == print;
    set->print[at] = print;
    set->used++;
    return false;
}

static long
seconds_since_start(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long)(t.tv_sec - now.start.tv_sec);
}

void
sweep_progress(const char *what)
{
    if (now.all)
        printf("%6ld s, %8ld points, %ld violations: %s\n", seconds_since_start(), now.points,
               now.violations, what);
    fflush(stdout);
}

int
sweep_end(void)
{
    for (int i = 0; i < TALLIES && now.tallies[i].what != NULL; i++)
        printf("%8ld %s\n", now.tallies[i].n, now.tallies[i].what);
    printf("%8ld seconds\n", seconds_since_start());
    printf("%s: %ld points, %ld violations\n", now.name, now.points, now.violations);
    return now.violations == 0 && now.points > 0 ? 0 : 1;
}

/* ---- children ---- */

void
sweep_end_child(int status)
{
    if (__gcov_dump != NULL)
        __gcov_dump();
    _exit(status);
}

void
sweep_die(void)
{
    sweep_end_child(STATUS_DIED);
}

void
sweep_leave(void)
{
    sweep_end_child(STATUS_LEFT);
}

child_end
sweep_child(void (*body)(void *arg), void *arg)
{
    pid_t pid;
    int   status = 0;

    fflush(stdout);
    pid = fork();
    if (pid < 0) {
        perror("fork");
        exit(1);
    }
    if (pid == 0) {
        alarm(WATCHDOG); /* the main thread takes it, wherever it is */
        body(arg);
        sweep_end_child(0);
    }
    while (waitpid(pid, &status, 0) < 0)
        continue;
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == STATUS_LEFT))
        return CHILD_DONE;
    if (WIFEXITED(status) && WEXITSTATUS(status) == STATUS_DIED)
        return CHILD_KILLED;
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? CHILD_HUNG : CHILD_CRASHED;
}

void *
sweep_shared(uint64_t size)
{
    void *at = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    return at;
}

/* ---- the clock ---- */

static _Atomic int64_t hurried_from;
static atomic_int      hurry = 1;

static int64_t
nanoseconds(const struct timespec *t)
{
    return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

typedef int clock_function(clockid_t id, struct timespec *out);

/* The C library's clock_gettime, which asks no kernel: ranks that wait read the clock all the time. */
static int
true_clock(clockid_t id, struct timespec *out)
{
    static _Atomic(clock_function *) found;
    clock_function                  *libc = atomic_load(&found);

    if (libc == NULL) {
        libc = (clock_function *)dlsym(RTLD_NEXT, "clock_gettime");
        atomic_store(&found, libc);
    }
    return libc(id, out);
}

/* In the place of the C library's, for the engine, which is linked into this program. */
int
clock_gettime(clockid_t id, struct timespec *out)
{
    const int factor = atomic_load(&hurry);
    int       rc = true_clock(id, out);

    if (rc == 0 && factor > 1 && id == CLOCK_MONOTONIC) {
        int64_t from = atomic_load(&hurried_from);
        int64_t t = from + (nanoseconds(out) - from) * factor;

        out->tv_sec = t / 1000000000;
        out->tv_nsec = t % 1000000000;
    }
    return rc;
}

void
sweep_hurry(int factor)
{
    struct timespec t;

    true_clock(CLOCK_MONOTONIC, &t);
    atomic_store(&hurried_from, nanoseconds(&t));
    atomic_store(&hurry, factor);
}
