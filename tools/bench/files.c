/* files.c: see files.h. */
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- one file ---- */

bool
bench_file_open(const bench *b, const char *name, bench_file *out)
{
    rset_err err = RSET_ERR_NONE;

    memset(out, 0, sizeof *out);
    snprintf(out->base, sizeof out->base, "%s_%d.h5", name, b->rank);
    snprintf(out->prefix, sizeof out->prefix, "%s.", out->base);
    snprintf(out->path, sizeof out->path, "%s/%s", b->dir, out->base);
    out->names[0] = out->base;
    out->paths[0] = out->path;
    if (rset_dir_open(b->dir, false, &out->dir, &err) != RSET_OK)
        return bench_fail(b, "%s", err.text);
    out->local = (rset_local){.dir = out->dir,
                              .prefix = out->prefix,
                              .nfiles = 1,
                              .names = out->names,
                              .paths = out->paths};
    return true;
}

void
bench_file_close(bench_file *file)
{
    rset_dir_close(file->dir);
    file->dir = NULL;
}

bool
bench_file_bare(const bench *b, const bench_file *file)
{
    rset_err err = RSET_ERR_NONE;

    return rset_unprotect(&file->local, &err) == RSET_OK || bench_fail(b, "%s", err.text);
}

bool
bench_file_remove(const bench *b, const bench_file *file)
{
    rset_err err = RSET_ERR_NONE;

    if (rset_dir_unlink(file->dir, file->base, &err) != RSET_OK)
        return bench_fail(b, "%s", err.text);
    return bench_file_bare(b, file);
}

bool
bench_file_survey(const bench *b, const bench_file *file, rset_evidence *out)
{
    rset_err err = RSET_ERR_NONE;

    return rset_survey(file->dir, file->prefix, file->base, out, &err) == RSET_OK ||
           bench_fail(b, "%s", err.text);
}

bool
bench_file_flush(const bench *b, const bench_file *file)
{
    int  fd = open(file->path, O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0 && fsync(fd) == 0;

    if (!ok)
        bench_fail(b, "%s: cannot be synced: %s", file->path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return ok;
}

bool
bench_file_read(const bench *b, const bench_file *file)
{
    char   *buf = malloc(BENCH_PIECE);
    int     fd = open(file->path, O_RDONLY | O_CLOEXEC);
    ssize_t n = -1;

    if (buf != NULL && fd >= 0)
        while ((n = read(fd, buf, BENCH_PIECE)) > 0)
            continue;
    if (n < 0)
        bench_fail(b, "%s: cannot be read: %s", file->path, strerror(errno));
    if (fd >= 0)
        close(fd);
    free(buf);
    return n == 0;
}

/* ---- transfers ---- */

bool
bench_pread(const bench *b, int fd, void *buf, size_t len, uint64_t off)
{
    size_t done = 0;

    while (done < len) {
        ssize_t n = pread(fd, (char *)buf + done, len - done, (off_t)(off + done));

        if (n < 0 && errno != EINTR)
            return bench_fail(b, "read: %s", strerror(errno));
        if (n == 0)
            break;
        done += n > 0 ? (size_t)n : 0;
    }
    memset((char *)buf + done, 0, len - done);
    return true;
}

bool
bench_pwrite(const bench *b, int fd, const void *buf, size_t len, uint64_t off)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = pwrite(fd, (const char *)buf + done, len - done, (off_t)(off + done));

        if (n < 0 && errno != EINTR)
            return bench_fail(b, "write: %s", strerror(errno));
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* ---- the page cache ---- */

/* The share of the open file that is in memory, 0 to 1. */
static double
resident(int fd)
{
    const size_t   page = (size_t)sysconf(_SC_PAGESIZE);
    struct stat    sb;
    size_t         pages, in = 0;
    unsigned char *map;
    void          *at;

    if (fstat(fd, &sb) != 0 || sb.st_size == 0)
        return 0;
    pages = ((size_t)sb.st_size + page - 1) / page;
    at = mmap(NULL, (size_t)sb.st_size, PROT_READ, MAP_SHARED, fd, 0);
    map = malloc(pages);
    if (at != MAP_FAILED && map != NULL && mincore(at, (size_t)sb.st_size, map) == 0)
        for (size_t i = 0; i < pages; i++)
            in += map[i] & 1;
    else
        in = pages;
    free(map);
    if (at != MAP_FAILED)
        munmap(at, (size_t)sb.st_size);
    return (double)in / (double)pages;
}

enum { DROP_TRIES = 20 };

static bool
drop(int dir, const char *name)
{
    const struct timespec nap = {.tv_nsec = 50 * 1000 * 1000};
    int                   fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    bool                  gone = false;

    for (int i = 0; fd >= 0 && !gone && i < DROP_TRIES; i++) {
        if (i > 0)
            nanosleep(&nap, NULL);
        gone = fsync(fd) == 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0 &&
               resident(fd) < 0.05;
    }
    if (fd >= 0)
        close(fd);
    return gone;
}

bool
bench_files_drop(const bench *b, const bench_file *file, bool *dropped_out)
{
    DIR           *dir = opendir(b->dir);
    struct dirent *entry;
    bool           gone = dir != NULL;

    while (dir != NULL && (entry = readdir(dir)) != NULL)
        if (strncmp(entry->d_name, file->base, strlen(file->base)) == 0)
            gone = gone && drop(dirfd(dir), entry->d_name);
    *dropped_out = bench_all(b, gone);
    if (dir == NULL)
        bench_fail(b, "%s: %s", b->dir, strerror(errno));
    else
        closedir(dir);
    return bench_all(b, dir != NULL);
}

/* ---- the directory ---- */

static void
empty(const char *path)
{
    DIR           *dir = opendir(path);
    struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir != NULL)
        closedir(dir);
}

bool
bench_files_make(bench *b)
{
    int n = snprintf(b->dir, sizeof b->dir, "%s/h5redset-bench.%d", b->options.dir, b->rank);

    if (n < 0 || (size_t)n >= sizeof b->dir)
        return bench_fail(b, "%s: the name is too long", b->options.dir);
    if (mkdir(b->options.dir, 0777) != 0 && errno != EEXIST)
        return bench_fail(b, "%s: cannot be made: %s", b->options.dir, strerror(errno));
    if (mkdir(b->dir, 0777) != 0 && errno != EEXIST)
        return bench_fail(b, "%s: cannot be made: %s", b->dir, strerror(errno));
    empty(b->dir);
    return true;
}

void
bench_files_remove(const bench *b)
{
    empty(b->dir);
    rmdir(b->dir);
}

/* ---- which are to be lost ---- */

int
bench_losses(const bench_scheme *s)
{
    return s->parity;
}

bool
bench_is_lost(const bench *b, const bench_scheme *s, int rank)
{
    return rank >= b->size - bench_losses(s);
}
