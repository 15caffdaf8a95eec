/* memfs_calls.h: what the calls of memfs share, each of which holds the lock while it looks at what there is. */
#ifndef MEMFS_CALLS_H
#define MEMFS_CALLS_H

#include "memfs.h"

#include <pthread.h>
#include <sys/types.h>
#include <time.h>

typedef struct memfs_fd {
    bool        used;
    int         dir;  /* of a directory: its number, else -1 */
    memfs_file *file; /* of a file */
} memfs_fd;

extern pthread_mutex_t memfs_lock;
extern memfs_state     memfs_now; /* what there is */

extern _Thread_local memfs_rank memfs_me; /* whose thread this is */

/* A step outside. */
void memfs_escape(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A step outside, unless it is a file of the calling rank. */
void memfs_changes(const char *call, int dir, const char *name);

/* Sets errno; -1. */
int         memfs_fail(int why);
int         memfs_new_fd(int dir, memfs_file *file);
memfs_fd   *memfs_of_fd(int fd);
memfs_file *memfs_file_of(int fd);
/* The directory that a descriptor stands for, or -1. Names with '/' are a step outside. */
int memfs_dir_of(int dirfd, const char *name);

/* ---- memfs_attrs.c ---- */

extern uid_t memfs_uid; /* of all files */
extern gid_t memfs_gid;

int     memfs_fstat(int fd, struct stat *st);
int     memfs_fstatat(int dirfd, const char *name, struct stat *st, int flags);
int     memfs_fchmod(int fd, mode_t mode);
int     memfs_fchown(int fd, uid_t uid, gid_t gid);
int     memfs_futimens(int fd, const struct timespec times[2]);
int     memfs_fsetxattr(int fd, const char *name, const void *value, size_t size, int flags);
int     memfs_fremovexattr(int fd, const char *name);
ssize_t memfs_fgetxattr(int fd, const char *name, void *value, size_t size);

#endif
