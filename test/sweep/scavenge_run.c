/* scavenge_run.c: see scavenge_run.h. */
#include "scavenge_run.h"

#include "tap.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sweep.h"

scavenge_end *scavenge_came_to;

int h5redset_main(int argc, char **argv);

static void
end(int status)
{
    fflush(NULL);
    tap_leave();
    *scavenge_came_to = (scavenge_end){.done = true, .status = status};
    sweep_leave();
}

void
scavenge_run(const char *from, const char *to, bool force, const char *said)
{
    const char *argv[] = {"h5redset", "scavenge", "--to", to, from, "--force", NULL};

    if (freopen("/dev/null", "w", stdout) == NULL || freopen(said, "w", stderr) == NULL)
        sweep_die();
    tap_enter(0);
    tap_see_threads(TAP_MINE);
    end(h5redset_main(force ? 6 : 5, (char **)argv));
}

/* ---- in the place of the C library's ---- */

int  __real_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
int  __real_open(const char *path, int flags, ...);
void __real_exit(int status) __attribute__((noreturn));
int  __wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
int  __wrap_open(const char *path, int flags, ...);
void __wrap_exit(int status) __attribute__((noreturn));

/* By its whole path: so the power sweep knows the names that the tool gives (scavenge_power.c). */
int
__wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    char    link[64], path[PATH_MAX];
    ssize_t n;

    if (tap_rank() < 0 || from_dir != AT_FDCWD)
        return __real_renameat2(from_dir, from, to_dir, to, flags);
    snprintf(link, sizeof link, "/proc/self/fd/%d", to_dir);
    n = readlink(link, path, sizeof path);
    if (n <= 0 || (size_t)n + strlen(to) + 2 > sizeof path)
        sweep_die();
    snprintf(path + n, sizeof path - (size_t)n, "/%s", to);
    return tap_table.renameat(AT_FDCWD, from, AT_FDCWD, path);
}

int
__wrap_open(const char *path, int flags, ...)
{
    mode_t  mode = 0;
    va_list args;

    va_start(args, flags);
    if ((flags & O_CREAT) != 0)
        mode = va_arg(args, mode_t);
    va_end(args);
    return tap_rank() < 0 ? __real_open(path, flags, mode)
                          : tap_table.openat(AT_FDCWD, path, flags, mode);
}

/* The tool ends where it has no memory. */
void
__wrap_exit(int status)
{
    if (tap_rank() >= 0)
        end(status);
    __real_exit(status);
}
