/* store.h: every file call of the engine, through one table (tests replace it), and the few ways in
 * which the engine touches a disk: read a regular file, write a new one beside it, publish by rename.
 *
 * A directory is opened once from the caller's path; after that only base names relative to it are
 * used, never a path from a header (P7). Names with '/' are refused. Symlinks are not followed for
 * the last component, special files are never opened (O_NOFOLLOW, O_NONBLOCK, then fstat). Where the
 * kernel has openat2, it keeps opens inside the directory as well.
 * EINTR and short transfers are handled here; fsync and close after writing are checked. All calls
 * are local. RSET_ABSENT: the name does not exist; RSET_IO otherwise, with errno in the message;
 * messages name the full path. */
#ifndef RSET_STORE_H
#define RSET_STORE_H

#include "common/err.h"

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Locks of our own on one file, which HDF5's, and rset_file_lock, have nothing to do with (names/claim.h says what for). Whoever only
 * looks asks (rset_file_is_guarded), and takes none: for that moment it would be in the way of a program that writes. */
typedef enum {
    RSET_GUARD_WRITTEN,
    RSET_GUARD_USED,
    RSET_GUARD_COMMITTED,
    RSET_GUARD_REPAIRED,
    RSET_GUARD_CHANGED, /* of an undo journal: the file that it belongs to is being changed */
    RSET_GUARDS
} rset_guard;

/* The system calls, as a table: a test replaces them to fail, count or log the Nth one. The same
 * conventions as the calls themselves: -1 and errno. */
typedef struct rset_sys {
    int (*openat)(int dirfd, const char *name, int flags, mode_t mode);
    int (*close)(int fd);
    ssize_t (*pread)(int fd, void *buf, size_t len, off_t off);
    ssize_t (*pwrite)(int fd, const void *buf, size_t len, off_t off);
    off_t (*lseek)(int fd, off_t off, int whence); /* SEEK_DATA, SEEK_HOLE */
    int (*ftruncate)(int fd, off_t len);
    int (*clone)(int to, int from); /* ioctl(FICLONE): `to` shares all bytes of `from` */
    int (*fsync)(int fd);
    int (*sync_file_range)(int fd, off_t off, off_t len, unsigned flags);
    int (*fstat)(int fd, struct stat *st);
    int (*fstatat)(int dirfd, const char *name, struct stat *st, int flags);
    int (*renameat)(int from_dir, const char *from, int to_dir, const char *to);
    int (*rename_new)(int from_dir, const char *from, int to_dir,
                      const char *to); /* the same, but EEXIST where the name is taken */
    int (*linkat)(int from_dir, const char *from, int to_dir, const char *to, int flags);
    int (*unlinkat)(int dirfd, const char *name, int flags);
    int (*mkdir)(const char *path, mode_t mode);
    DIR *(*fdopendir)(int fd);
    struct dirent *(*readdir)(DIR *dir);
    int (*closedir)(DIR *dir);
    int (*fchmod)(int fd, mode_t mode);
    int (*fchown)(int fd, uid_t uid, gid_t gid);
    int (*futimens)(int fd, const struct timespec times[2]);
    int (*fsetxattr)(int fd, const char *name, const void *value, size_t size, int flags);
    ssize_t (*fgetxattr)(int fd, const char *name, void *value, size_t size);
    int (*fremovexattr)(int fd, const char *name);
    int (*flock)(int fd, int operation);
    int (*guard)(int fd, rset_guard which,
                 short type); /* fcntl(F_OFD_SETLK); type: F_RDLCK, F_WRLCK or F_UNLCK */
    int (*guarded)(int fd, rset_guard which); /* fcntl(F_OFD_GETLK): 1: exclusively; 0: not */
    uint64_t (*boot)(void); /* another number each time that the machine is started; 0: not known */
} rset_sys;

extern const rset_sys rset_sys_posix;   /* the real ones */
void rset_sys_use(const rset_sys *sys); /* NULL: back to the real ones; tests only */

/* From now on this thread has a table of open files of its own, without those of the others. A killed process keeps its files
 * and their locks until its last thread has ended that shares its table: none that the kernel lets wait must be among
 * them. False: this system cannot do that. Local to the thread. */
bool rset_sys_unshare_files(void);

/* A program prints to descriptors 0 to 2, whatever has them: where it has closed one, no file may get it (S4). */
enum { RSET_PRINTED = 3 };

/* rset_low_take opens those of 0 to 2 that are closed on nothing, until rset_low_leave: what anybody opens meanwhile gets none of them.
 * *low says which they are. Local to the process. */
typedef struct rset_low {
    bool taken[RSET_PRINTED];
} rset_low;
void rset_low_take(rset_low *low);
void rset_low_leave(const rset_low *low);

/* The user that file calls of this thread are made for, and who owns what they create: as setfsuid(2) says. That is geteuid(), unless
 * root's tool works for the owner of files (tools/h5redset/owner.h). */
uid_t rset_user(void);

/* Since the machine was started last, all that processes have written is seen by all of them; before, some of it may have
 * been lost. 0: it is not known which start this is. */
uint64_t rset_sys_boot(void);

enum { RSET_NO_GID = UINT32_MAX }; /* of no group */

typedef struct rset_dir rset_dir; /* an open directory and the path it was opened by */

/* Opens the directory `path`; `create`: makes it and missing parents (mode 0777 & ~umask) first, as
 * on a node that is new. rset_dir_close(NULL) does nothing. */
rset_status rset_dir_open(const char *path, bool create, rset_dir **dir_out, rset_err *err);
void        rset_dir_close(rset_dir *dir);
/* Closes its descriptor: from now on it has a path, and nothing else. */
void rset_dir_rest(rset_dir *dir);

/* For who has the directory open for long: from now on all of this process that do, as the same user, have one descriptor of it
 * together. Not in a thread of rset_sys_unshare_files. Does nothing where there is no memory, or the kernel does not tell mounts
 * apart. */
void        rset_dir_share(rset_dir *dir);
const char *rset_dir_path(const rset_dir *dir); /* as given to rset_dir_open */

/* Opens the directory `name` in another one; a symbolic link of that name is not followed (RSET_IO). */
rset_status rset_dir_enter(rset_dir *dir, const char *name, rset_dir **dir_out, rset_err *err);

/* Is it the directory that the path `root` leads to, or somewhere below that, by whatever path it was opened? What counts is where it
 * is, not what it is called: no link in its path leads out unnoticed. RSET_IO: that cannot be seen. */
rset_status rset_dir_is_below(const rset_dir *dir, const char *root, bool *is_out, rset_err *err);

/* The descriptor of the directory, for calls of h5redset that are not in this header. Borrowed. */
int rset_dir_fd(const rset_dir *dir);

/* A number that tells the directory from others of this machine, by whatever path it was opened; 0 where the system does not
 * say. */
uint64_t rset_dir_number(const rset_dir *dir);

/* Calls visit(name, arg) for each entry other than "." and ".." until it returns false. The
 * directory may be changed by visit only through names already visited. */
rset_status rset_dir_list(rset_dir *dir, bool (*visit)(const char *name, void *arg), void *arg,
                          rset_err *err);
/* Calls visit as rset_dir_list does, but for entries that are known to be no directories: not every file system tells that here. */
rset_status rset_dir_list_dirs(rset_dir *dir, bool (*visit)(const char *name, void *arg), void *arg,
                               rset_err *err);

/* Makes the directory `path` and its missing parents. *first_out (freed with free()): the topmost that
 * had to be made, NULL when none had. rset_dir_unmake removes them again, as far as they are empty. */
rset_status rset_dir_make(const char *path, char **first_out, rset_err *err);
void        rset_dir_unmake(const char *path, const char *first);

/* Whose files are opened by their names in a directory: those of one user, and of the members of one group. */
typedef struct rset_trust {
    uint32_t    uid, gid; /* RSET_NO_GID: of no group */
    bool        foreign;  /* there are others under names that we may need */
    const char *word; /* in names of files that are opened only if they are theirs; a constant */
} rset_trust;

/* Is the file of one of them? Pure. */
bool rset_trusts(const rset_trust *trust, const struct stat *sb);

/* From now on `dir` opens other users' files by names with the word no more (RSET_DAMAGED). Where `trust` says that there are foreign
 * files it replaces none (RSET_IO), and to remove one does nothing. Until then a directory trusts everybody. Local. */
void rset_dir_trust(rset_dir *dir, const rset_trust *trust);

/* Has a file that the directory does not trust this name? */
bool rset_dir_has_foreign(rset_dir *dir, const char *name);

/* May everybody add names to it? Where that cannot be told: yes. */
bool rset_dir_is_everybodys(const rset_dir *dir);

rset_status rset_dir_stat(rset_dir *dir, const char *name, struct stat *st_out, rset_err *err);
/* Is there a regular file of that name, and nothing else? A disk that fails to say so is an error. *st_out, unless NULL, is
 * valid where there is one. */
rset_status rset_dir_find_file(rset_dir *dir, const char *name, struct stat *st_out,
                               bool *there_out, rset_err *err);
/* Where a look that fails can do no harm: both say no to what cannot be looked at. */
bool rset_dir_has_file(rset_dir *dir, const char *name);
bool rset_dir_lacks_file(rset_dir *dir, const char *name);
/* May this process make and remove names there? RSET_IO: no, and why not. */
rset_status rset_dir_may_change(const rset_dir *dir, rset_err *err);
/* Gives the file `from` the name `to` in `to_dir`, which may be another directory of the file system. Without `over` only where nothing
 * has that name. RSET_BUSY: something has it, and nothing was renamed. */
rset_status rset_dir_move(rset_dir *dir, const char *from, rset_dir *to_dir, const char *to,
                          bool over, rset_err *err);
/* rset_dir_move over whatever file has the name `to` in the same directory; also where that is the same file. */
rset_status rset_dir_rename(rset_dir *dir, const char *from, const char *to, rset_err *err);
/* Gives the file `from` the name `to` in `to_dir` as well, which may be another directory; what a dead run left under that name is
 * removed first. RSET_USAGE: not on this file system, or not from one directory to the other. */
rset_status rset_dir_link(rset_dir *dir, const char *from, rset_dir *to_dir, const char *to,
                          rset_err *err);
rset_status rset_dir_unlink(rset_dir *dir, const char *name, rset_err *err); /* absent: OK */
rset_status rset_dir_sync(rset_dir *dir, rset_err *err); /* EINVAL (no support) counts as OK */

typedef struct rset_file rset_file;

/* Opens the regular file `name` for reading; anything that is not a regular file is RSET_DAMAGED. */
rset_status rset_file_open(rset_dir *dir, const char *name, rset_file **file_out, rset_err *err);

/* Who may read and write a file: its permission bits (0777), and the group that the middle ones are for. Whoever owns a file of
 * ours may read and write it, and nobody executes it. */
typedef struct rset_access {
    uint32_t mode, gid;
} rset_access;

#define RSET_ACCESS_OWNER ((rset_access){0600, RSET_NO_GID}) /* the owner alone */
#define RSET_ACCESS_ALL   ((rset_access){0777, RSET_NO_GID})

/* Permissions that let nobody in whom either of the two keeps out, with the group of `a`, or where `a` has none, of `b`. Of
 * another group's members nobody knows more than that they are somebody. Pure. */
rset_access rset_access_both(rset_access a, rset_access b);
rset_access rset_access_of(const struct stat *st);

/* *out: that of the regular file `name`. False: there is none, or it cannot be looked at; *out is left as it was. */
bool rset_file_access(rset_dir *dir, const char *name, rset_access *out);

/* Creates `name` for reading and writing; a file or link left there by a dead run is removed first, then O_EXCL.
 * `origin`: what its content comes from; nobody may do more with the new file than with that, at no moment, whatever the umask
 * is and rset_file_set_attrs says later. NULL: it has nothing of any file in it; then its mode is 0666 & ~umask. */
rset_status rset_file_create(rset_dir *dir, const char *name, const rset_access *origin,
                             rset_file **file_out, rset_err *err);

/* Gives a file of ours, which is open for writing, the permissions of what it will have content of from now on. What this user cannot
 * do is left out, and the file more closed; of a file that is not ours (rset_file_is_ours) it may stay more open. */
void rset_file_follow(rset_file *file, rset_access origin);

/* May this process change the permissions of the file? */
bool rset_file_is_ours(rset_file *file);

/* Opens the regular file `name` for reading and writing, without changing it. */
rset_status rset_file_open_update(rset_dir *dir, const char *name, rset_file **file_out,
                                  rset_err *err);

/* Takes a lock that the kernel releases with the last use of `file`, without waiting: exclusive, or
 * shared. False: another process, or another open of this one, is in the way. A file system without
 * locks lets everyone in. */
bool rset_file_lock(rset_file *file, bool exclusive);

/* Takes another lock of that kind, exclusive, which those above and HDF5's have nothing to do with. `file` is open for
 * writing. */
bool rset_file_guard(rset_file *file);

/* One of these, exclusive (`file` is open for writing) or shared. False: another process, or another open of this one, is in the
 * way. A file system without locks lets everyone in. */
bool rset_file_guard_as(rset_file *file, rset_guard which, bool exclusive);
/* Has another process, or another open of this one, that lock, exclusively? Takes none. False where the file system has no locks, or
 * fails to say. */
bool rset_file_is_guarded(rset_file *file, rset_guard which);
/* Lets go of all of them, for a child that was forked meanwhile as well. */
void rset_file_unguard(rset_file *file);

/* Opens the regular file `name`, and locks it like rset_file_lock, for whoever is about to change or replace it, or what belongs to
 * it: as long as a program has it open HDF5 holds such a lock, shared for reading, exclusive for writing. RSET_BUSY: so it
 * is. The name leads to what is locked. Closing it lets go. */
rset_status rset_file_hold(rset_dir *dir, const char *name, bool exclusive, rset_file **file_out,
                           rset_err *err);

/* Does the name still lead to what `file` is? RSET_IO: one of them cannot be looked at. */
rset_status rset_file_has_name(rset_dir *dir, const char *name, rset_file *file, bool *has_out,
                               rset_err *err);

/* Closes; for a created file a failing close is an error. `file` NULL is OK. Always releases it. */
rset_status rset_file_close(rset_file *file, rset_err *err);

rset_status rset_file_stat(rset_file *file, struct stat *st_out, rset_err *err);
const char *rset_file_path(const rset_file *file); /* directory path and name, for messages */

/* Reads up to `len` bytes at `off`; *got_out < len only at the end of the file. */
rset_status rset_file_read(rset_file *file, uint64_t off, void *buf, size_t len, size_t *got_out,
                           rset_err *err);
/* From now on `watch` is called after each read of any file, by the thread that reads, with how much that was; NULL: nobody is.
 * While no other thread reads. */
void rset_file_watch_reads(void (*watch)(size_t bytes));
/* Where the file is not a hole: from the first such byte at or after `off`, which is returned, up to *end_out. What comes before it
 * are zeros, which need not be read; at the file's end there is nothing. `off` and UINT64_MAX where the file system does not tell, or
 * the file is not sparse. Local. */
uint64_t rset_file_next_data(rset_file *file, uint64_t off, uint64_t *end_out);
/* Writes all `len` bytes at `off`. Of a file that this process has created, zeros are left out where nothing was written before, in
 * blocks of 32 KiB from `off` on: they take no space, and read the same. */
rset_status rset_file_write(rset_file *file, uint64_t off, const void *buf, size_t len,
                            rset_err *err);
rset_status rset_file_resize(rset_file *file, uint64_t len, rset_err *err);
/* A file that this process has created, and of which nothing was written, shares the first `size` bytes of `from`, where the file system
 * can do that: no byte is copied. *done_out: it does; else it is empty as before. RSET_IO: it has too many bytes of `from`, and cannot be
 * used. Local. */
rset_status rset_file_clone(rset_file *to, const rset_file *from, uint64_t size, bool *done_out,
                            rset_err *err);
rset_status rset_file_sync(rset_file *file, rset_err *err);

/* Has the disk begin with what is written so far, so that a later sync has less to wait for. Large files that
 * are being written do it by themselves. A hint: changes nothing about what is durable. */
void rset_file_begin_sync(rset_file *file);

/* Gives a rebuilt file its recorded attributes: mode & 0777, owner and group where permitted (a refusal is no
 * error; root gives it to no owner but that of its directory, whatever is recorded, and to no other group where others may write to
 * that directory), atime and mtime with nanoseconds; values that no system accepts are left out. Where the file cannot have the group,
 * its group may do what all may. */
typedef struct rset_file_attrs {
    uint64_t mode, uid, gid, atime_secs, atime_nsecs, mtime_secs, mtime_nsecs;
} rset_file_attrs;
rset_status rset_file_set_attrs(rset_file *file, const rset_file_attrs *attrs, rset_err *err);
/* Those of a file that is there. Pure. */
rset_file_attrs rset_file_attrs_of(const struct stat *st);
/* Who may use a file with these attributes. Pure. */
rset_access rset_file_attrs_access(const rset_file_attrs *attrs);

/* Gives the new file `to` the mode, and where permitted the owner and group, of the file `from`, in place of which
 * it will be. A `from` that is missing changes nothing. */
rset_status rset_file_set_like(rset_dir *dir, const char *to, const char *from, rset_err *err);

/* A 64-bit mark kept with the file (extended attribute user.redset): the generation under which the
 * file was last protected, so that a file whose redundancy files were all removed is still known to
 * be protected. Best effort: where the file system has none, set does nothing and get gives 0. */
void     rset_file_set_mark(rset_file *file, uint64_t mark);
uint64_t rset_file_get_mark(rset_file *file);

/* Reads a whole small file, at most `max` bytes (longer: RSET_DAMAGED). Freed with free(). */
rset_status rset_file_slurp(rset_dir *dir, const char *name, size_t max, uint8_t **buf_out,
                            size_t *len_out, rset_err *err);

/* What comes after the last slash of `path`, in it. */
const char *rset_path_base(const char *path);

/* Splits a path into directory ("." when it has none) and base name; both new strings.
 * RSET_USAGE for an empty base name, RSET_NOMEM. */
rset_status rset_path_split(const char *path, char **dir_out, char **base_out, rset_err *err);

#endif
