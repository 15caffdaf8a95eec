/* preload_hold.c - for LD_PRELOAD: a data file that is locked with flock is held once more, as long as the process lives, as by
 * somebody who looks through its descriptors: a close alone does not let go of the lock then. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static int
is_data(int fd)
{
    char          link[64], name[4096];
    const ssize_t n = (snprintf(link, sizeof link, "/proc/self/fd/%d", fd),
                       readlink(link, name, sizeof name - 1));

    return n > 3 && memcmp(name + n - 3, ".h5", 3) == 0;
}

int
flock(int fd, int how)
{
    int (*next)(int fd, int how) = NULL;
    void *found = dlsym(RTLD_NEXT, "flock");

    memcpy(&next, &found, sizeof next);
    if (next == NULL || next(fd, how) != 0)
        return -1;
    if ((how & LOCK_UN) == 0 && is_data(fd))
        (void)dup(fd);
    return 0;
}
