/* store_sys.h: what the files of this room share. Nobody else includes this. */
#ifndef RSET_STORE_SYS_H
#define RSET_STORE_SYS_H

#include "common/ranges.h"
#include "store.h"

/* The table in use. Every file call of the engine goes through it. */
extern const rset_sys *rset_sys_now;
extern unsigned        rset_sys_tables; /* how often it was replaced */

/* A descriptor of a directory that several have open (store_shared.c). */
typedef struct rset_shared rset_shared;

struct rset_dir {
    int          fd;
    rset_shared *shared; /* whose descriptor it is; NULL: its own */
    bool
        search_only; /* opened without read permission: names can be used, but not listed or synced */
    bool sync_failed; /* the kernel reports a lost write once; asking again would get a false OK */
    bool trusts;      /* `trust` is known */
    rset_trust trust;
    char       path[]; /* as given by the caller */
};

/* Which bytes of a new file have been written: those, or more where they are too many ranges. Ascending, disjoint. */
enum { RSET_WRITTEN_MAX = 64 };

typedef struct rset_written {
    size_t     n;
    rset_range at[RSET_WRITTEN_MAX];
} rset_written;

/* Any of [from, to)? */
bool rset_written_has(const rset_written *w, uint64_t from, uint64_t to);
void rset_written_note(rset_written *w, uint64_t from, uint64_t to);

/* How many of the bytes, from the first one on, are in blocks of zeros (of 32 KiB, the last one shorter), or in others. Pure. */
size_t rset_run_of(const uint8_t *buf, size_t len, bool zeros);

struct rset_file {
    int         fd;
    bool        created;     /* or opened for writing */
    bool        unsynced;    /* written since the last successful fsync */
    size_t      waiting;     /* bytes written since the disk was last told to begin with them */
    bool        sync_failed; /* as in rset_dir */
    bool        has_home;    /* what is known of the directory of a created file, by root */
    struct stat home;
    bool        has_origin; /* created like something: never more open than that */
    rset_access origin;
    bool is_new; /* created here: it is `size` bytes long, and zeros where nothing was written */
    uint64_t     size;
    rset_written written;
    char         path[]; /* directory and name */
};

/* The mode that a file like `origin` is created with: no more than that, whichever group it will have. Pure. */
mode_t rset_access_first_mode(const rset_access *origin);

/* Has the file this group now? `has`: the group that it had. Root need not look at whose directory it is in. */
bool rset_access_give_group(const rset_file *file, uint32_t gid, uint32_t has);

/* The mode of a file that has the group of `access`, or has not, in the place of `now`. -1 and errno. */
int rset_access_set_mode(const rset_file *file, rset_access access, bool has_group, mode_t now);

/* Group first, then the mode: at no moment is more permitted than in the end. `now`: what it has. -1 and errno. */
int rset_access_set(const rset_file *file, rset_access access, const struct stat *now);

/* One less has it open; the last one closes it. */
void rset_shared_leave(rset_shared *shared);

/* One user at a time syncs it. Returns where is kept whether a sync of it has failed, to be used until the end. A sync that failed has
 * failed for all: the kernel says so once. */
bool *rset_shared_begin_sync(rset_shared *shared);
void  rset_shared_end_sync(rset_shared *shared);

/* RSET_USAGE unless `name` is a plain name inside the directory (P7). */
rset_status rset_dir_check_name(const rset_dir *dir, const char *name, rset_err *err);

/* RSET_IO where the name is that of a file which the directory does not trust. */
rset_status rset_dir_check_free(rset_dir *dir, const char *name, rset_err *err);

/* RSET_DAMAGED where the directory does not trust the file. */
rset_status rset_dir_check_trusted(const rset_dir *dir, const char *path, const struct stat *sb,
                                   rset_err *err);

/* openat, with the directory and name checked by the caller; again after EINTR. */
int rset_sys_open(int dirfd, const char *name, int flags, mode_t mode);

/* RSET_ABSENT when `sys_errno` says that the name does not exist, else RSET_IO. */
rset_status rset_sys_status(int sys_errno);

#endif
