/* scratch.c: see scratch.h. */
#include "scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATHS = 16, PATH_SIZE = 4096 };

char *
scratch_make(void)
{
    const char *parents[] = {getenv("TMPDIR"), "/dev/shm", "/tmp"};

    for (size_t i = 0; i < sizeof parents / sizeof *parents; i++) {
        char *path = NULL;

        if (parents[i] == NULL || asprintf(&path, "%s/redset_test_XXXXXX", parents[i]) < 0)
            continue;
        if (mkdtemp(path) != NULL)
            return path;
        free(path);
    }
    fail_msg("no place for a scratch directory");
    return NULL;
}

void
remove_tree(const char *dir)
{
    DIR           *d = opendir(dir);
    struct dirent *e;

    if (d == NULL)
        return;
    while ((e = readdir(d)) != NULL) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (unlinkat(dirfd(d), e->d_name, 0) != 0) {
            char *path = NULL;

            if (asprintf(&path, "%s/%s", dir, e->d_name) >= 0)
                remove_tree(path);
            free(path);
        }
    }
    closedir(d);
    rmdir(dir);
}

const char *
path_of(const char *fmt, ...)
{
    static _Thread_local char paths[PATHS][PATH_SIZE];
    static _Thread_local int  next;
    char                     *path = paths[next++ % PATHS];
    va_list                   args;

    va_start(args, fmt);
    vsnprintf(path, PATH_SIZE, fmt, args);
    va_end(args);
    return path;
}

const char *
journal_in(const char *dir, const char *prefix)
{
    const char *path = path_of("%s/%sredset.%016x.undo", dir, prefix, 0);
    glob_t      found;

    if (glob(path_of("%s/%sredset.????????????????.undo", dir, prefix), 0, NULL, &found) == 0)
        path = path_of("%s", found.gl_pathv[found.gl_pathc - 1]); /* in ascending order */
    globfree(&found);
    return path;
}

bool
exists(const char *path)
{
    struct stat sb;

    return lstat(path, &sb) == 0;
}

uint8_t *
read_file(const char *path, size_t *size_out)
{
    int         fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat sb;
    uint8_t    *buf;
    size_t      got = 0;

    if (fd < 0 || fstat(fd, &sb) != 0)
        fail_msg("%s cannot be read", path);
    buf = malloc((size_t)sb.st_size + 1);
    assert_non_null(buf);
    while (got < (size_t)sb.st_size) {
        ssize_t n = read(fd, buf + got, (size_t)sb.st_size - got);

        if (n <= 0)
            fail_msg("%s cannot be read", path);
        got += (size_t)n;
    }
    close(fd);
    *size_out = got;
    return buf;
}

mode_t (*image_mode)(const char *path);

mode_t
image_mode_of(const char *path)
{
    return image_mode != NULL ? image_mode(path) : 0644;
}

static void
put(const char *path, const void *data, size_t size, int flags)
{
    int    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, image_mode_of(path));
    size_t done = 0;

    if (fd < 0)
        fail_msg("%s cannot be written", path);
    while (done < size) {
        ssize_t n = write(fd, (const char *)data + done, size - done);

        if (n <= 0)
            fail_msg("%s cannot be written", path);
        done += (size_t)n;
    }
    close(fd);
}

void
write_file(const char *path, const void *data, size_t size)
{
    put(path, data, size, O_TRUNC);
}

void
append_file(const char *path, const void *data, size_t size)
{
    put(path, data, size, O_APPEND);
}

void
flip_bit(const char *path, size_t byte)
{
    int         fd = open(path, O_RDWR | O_CLOEXEC);
    uint8_t     b;
    struct stat sb;

    if (fd < 0 || fstat(fd, &sb) != 0 || pread(fd, &b, 1, (off_t)byte) != 1)
        fail_msg("%s has no byte %zu", path, byte);
    b ^= 0x10;
    assert_int_equal(pwrite(fd, &b, 1, (off_t)byte), 1);
    assert_int_equal(futimens(fd, (struct timespec[]){sb.st_atim, sb.st_mtim}),
                     0); /* as a disk does it */
    close(fd);
}

void
fill_random(uint8_t *to, size_t size, uint64_t seed)
{
    uint64_t s = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;

    for (size_t i = 0; i < size; i++) {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        to[i] = (uint8_t)(s >> 32);
    }
}
