/* scavenge_target.c: the directory that files are brought to. It is opened once, and what is in it is reached from there: no link in it
 * is followed, and root works in it as root. What is not complete lies in SCAVENGE_STAGE below it, which nobody else may enter, and
 * which one run at a time has to itself; so a run that was killed leaves nothing under the name of a file. See scavenge.h. */
#include "looked.h"
#include "owner.h"
#include "scavenge.h"
#include "wait.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    OPEN_DIR = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
    OPEN_STAGED = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
};

char *
scavenge_path(const scavenge *s, const char *name)
{
    return must_print("%s/%s", s->o->to, name);
}

/* ---- what is not complete ---- */

static void remove_in(int fd);

/* What is no directory, or one, with all below it. */
static void
remove_name(int above, const char *name)
{
    int fd;

    if (unlinkat(above, name, 0) == 0 || (fd = openat(above, name, OPEN_DIR)) < 0)
        return;
    remove_in(fd);
    (void)unlinkat(above, name, AT_REMOVEDIR);
}

/* `fd` is closed. */
static void
remove_in(int fd)
{
    DIR           *dir = fdopendir(fd);
    struct dirent *entry;

    if (dir == NULL)
        close(fd);
    while (dir != NULL && (entry = readdir(dir)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            remove_name(dirfd(dir), entry->d_name);
    if (dir != NULL)
        closedir(dir);
}

void
scavenge_remove(const char *path)
{
    owner_pause();
    remove_name(AT_FDCWD, path);
    owner_resume();
}

rset_status
scavenge_make(const char *path, uint64_t owner, rset_err *err)
{
    const uid_t to = (uid_t)owner;
    int         rc;

    owner_pause();
    rc = mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : -1;
    if (rc == 0 && owner != owner_self())
        rc = lchown(path, to, (gid_t)-1);
    owner_resume();
    return rc == 0 ? RSET_OK
                   : rset_fail_errno(err, RSET_IO, errno,
                                     "%s: cannot be made for its owner below "
                                     "the target",
                                     path);
}

/* ---- the place for it ---- */

enum { OPEN_LOCK = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK };

/* Nobody has the lock of a run that brings files to the directory o->dir. */
static bool
is_unlocked(const obstacle *o)
{
    char      *path = must_print("%s/" SCAVENGE_STAGE "/lock", o->dir);
    const int  fd = open(path, OPEN_LOCK);
    const bool is = fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;

    if (fd >= 0)
        close(fd);
    free(path);
    return is;
}

static rset_status
say_other(const scavenge *s, rset_err *err)
{
    char *text = must_print(
        "%s: another h5redset scavenge is bringing files to this directory; wait for it", s->o->to);

    wait_note(s->j, &(obstacle){.dir = s->o->to, .name = "", .text = text, .is_free = is_unlocked});
    (void)rset_fail(err, RSET_BUSY, "%s", text);
    free(text);
    return RSET_BUSY;
}

/* A file system without locks lets every run in; their places have different names. A run that ends removes the lock: *gone_out. */
static rset_status
take_lock(scavenge *s, bool *gone_out, rset_err *err)
{
    struct stat sb;

    *gone_out = false;
    s->lock = openat(s->stage_dir, "lock", OPEN_LOCK | O_CREAT, 0600);
    if (s->lock < 0 && errno != ENOENT)
        return rset_fail_errno(err, RSET_IO, errno, "%s/" SCAVENGE_STAGE "/lock: cannot be created",
                               s->o->to);
    if (s->lock >= 0 && flock(s->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        close(s->lock);
        s->lock = -1;
        return say_other(s, err);
    }
    *gone_out = s->lock < 0 || (fstat(s->lock, &sb) == 0 && sb.st_nlink == 0);
    if (*gone_out && s->lock >= 0)
        close(s->lock);
    s->lock = *gone_out ? -1 : s->lock;
    return RSET_OK;
}

/* Opens a directory in another one that is this user's own: what somebody else has put in its place is not entered. */
static rset_status
enter(const scavenge *s, int above, const char *name, int *out, rset_err *err)
{
    struct stat sb;
    rset_status st = RSET_OK;

    *out = openat(above, name, OPEN_DIR);
    if (*out < 0 && errno == ENOENT)
        st = rset_fail_errno(err, RSET_IO, errno,
                             "%s/" SCAVENGE_STAGE ": was made by another process, and is not there "
                             "on this node; name a directory that all nodes share",
                             s->o->to);
    else if (*out < 0 && errno != ELOOP && errno != ENOTDIR)
        st = rset_fail_errno(err, RSET_IO, errno, "%s/%s: cannot be opened", s->o->to, name);
    else if (*out < 0 || fstat(*out, &sb) != 0 || sb.st_uid != geteuid())
        st =
            rset_fail(err, RSET_IO,
                      "%s/" SCAVENGE_STAGE ": is in the way, and not what h5redset has made there; "
                      "move it away",
                      s->o->to);
    return st;
}

/* The directory that nobody else may enter, locked; *gone_out: another run that ends has removed it meanwhile. */
static rset_status
make_locked(scavenge *s, bool *gone_out, rset_err *err)
{
    const int   target = rset_dir_fd(s->target);
    rset_err    own = RSET_ERR_NONE;
    rset_status st = RSET_OK;

    *gone_out = false;
    if (mkdirat(target, SCAVENGE_STAGE, 0700) != 0 && errno != EEXIST)
        st = rset_fail_errno(err, RSET_IO, errno, "%s: nothing can be written to this directory",
                             s->o->to);
    if (st == RSET_OK)
        st = enter(s, target, SCAVENGE_STAGE, &s->stage_dir, &own);
    *gone_out = st != RSET_OK && own.sys_errno == ENOENT;
    if (*gone_out)
        return RSET_OK;
    if (own.status != RSET_OK)
        return rset_fail_as(err, &own);
    if (st == RSET_OK && fchmod(s->stage_dir, 0700) != 0)
        st = rset_fail_errno(err, RSET_IO, errno, "%s/" SCAVENGE_STAGE, s->o->to);
    if (st == RSET_OK)
        st = take_lock(s, gone_out, err);
    if (*gone_out) {
        close(s->stage_dir);
        s->stage_dir = -1;
    }
    return st;
}

/* Below the directory that nobody else may enter is one that others may pass, with their own below it: from there, which is where
 * this process goes, it can be them. */
static rset_status
make_stage(scavenge *s, rset_err *err)
{
    enum { TRIES = 100 };
    bool        gone = true;
    rset_status st = RSET_OK;

    for (int i = 0; st == RSET_OK && gone && i < TRIES; i++)
        st = make_locked(s, &gone, err);
    if (st == RSET_OK && gone)
        st = say_other(s, err);
    if (st != RSET_OK)
        return st;
    remove_name(s->stage_dir, "new"); /* what a run that was killed has left there */
    if (mkdirat(s->stage_dir, "new", 0711) != 0 || fchmodat(s->stage_dir, "new", 0711, 0) != 0)
        st = rset_fail_errno(err, RSET_IO, errno, "%s/" SCAVENGE_STAGE "/new: cannot be made",
                             s->o->to);
    return st;
}

/* One that others may pass, and not list or write. */
static bool
make_passage(const char *path)
{
    return (mkdir(path, 0711) == 0 || errno == EEXIST) && chmod(path, 0711) == 0;
}

/* Paths that are not absolute are below it from now on. */
static rset_status
go_to_stage(scavenge *s, rset_err *err)
{
    int         fd = -1;
    rset_status st = RSET_OK;

    if (s->stage_dir < 0)
        st = enter(s, rset_dir_fd(s->target), SCAVENGE_STAGE, &s->stage_dir, err);
    if (st == RSET_OK)
        st = enter(s, s->stage_dir, "new", &fd, err);
    s->was = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    s->stage = must_print("%d.%ld", s->j->rank, (long)getpid());
    if (st == RSET_OK && (fchdir(fd) != 0 || !make_passage("pieces") || !make_passage(s->stage)))
        st = rset_fail_errno(err, RSET_IO, errno, "%s/" SCAVENGE_STAGE "/new: cannot be used",
                             s->o->to);
    if (fd >= 0)
        close(fd);
    return st;
}

/* The directory that is to be safe is none of those that are searched: nothing of these is changed. */
static rset_status
check_apart(const scavenge *s, rset_err *err)
{
    struct stat sb;
    bool        there = false;
    rset_status st = looked_path(s->o->to, true, &sb, &there, err);

    if (st != RSET_OK || !there)
        return st;
    for (size_t i = 0; i < s->c->sightings->n; i++) {
        const sighting *seen = &s->c->sightings->at[i];

        if (seen->asked && seen->by == s->j->rank && seen->device == (uint64_t)sb.st_dev &&
            seen->inode == (uint64_t)sb.st_ino)
            return rset_fail(err, RSET_USAGE,
                             "%s: is the directory %s, which is to be saved; name another one",
                             s->o->to, seen->dir);
    }
    return RSET_OK;
}

static rset_status
agree(const scavenge *s, rset_status st, rset_err *err)
{
    return s->j->comm != NULL ? rset_agree(s->j->comm, st, s->j->host, err) : st;
}

/* The first process makes the target, and in it the place, each its own part of it. A process that does not find it is on another file system. */
rset_status
scavenge_begin(scavenge *s, rset_err *err)
{
    rset_status st = check_apart(s, err);

    s->lock = s->stage_dir = s->was = -1;
    st = agree(s, st, err);
    if (st == RSET_OK && s->j->rank == 0) {
        st = rset_dir_make(s->o->to, &s->made, err);
        if (st == RSET_OK)
            st = rset_dir_open(s->o->to, false, &s->target, err);
        if (st == RSET_OK)
            st = rset_dir_may_change(s->target, err);
        if (st == RSET_OK)
            st = make_stage(s, err);
    }
    st = agree(s, st, err);
    if (st == RSET_OK && s->target == NULL &&
        rset_dir_open(s->o->to, false, &s->target, NULL) != RSET_OK)
        st = rset_fail(err, RSET_IO,
                       "%s: was made by another process, and is not there on this node; name a "
                       "directory that all nodes share",
                       s->o->to);
    if (st == RSET_OK)
        st = go_to_stage(s, err);
    return agree(s, st, err);
}

void
scavenge_end(scavenge *s)
{
    rset_err err = RSET_ERR_NONE;

    (void)agree(s, RSET_OK, &err); /* nobody needs it any more */
    if (s->was >= 0 && fchdir(s->was) == 0)
        close(s->was);
    if (s->lock >= 0) {
        remove_name(s->stage_dir, "new");
        (void)unlinkat(s->stage_dir, "lock", 0); /* last: who has it has the directory to himself */
        (void)unlinkat(rset_dir_fd(s->target), SCAVENGE_STAGE, AT_REMOVEDIR);
        close(s->lock);
    }
    if (s->stage_dir >= 0)
        close(s->stage_dir);
    rset_dir_close(s->target);
    if (s->made != NULL) /* stays when anything came into it */
        rset_dir_unmake(s->o->to, s->made);
}

/* ---- what is ---- */

/* One directory further: `name` has `n` bytes. `at` is closed, unless it is the target itself. */
static rset_status
step_into(const scavenge *s, rset_dir **at, const char *name, int n, bool create, rset_err *err)
{
    char       *one = must_print("%.*s", n, name);
    rset_dir   *next = NULL;
    rset_status st;

    if (create && mkdirat(rset_dir_fd(*at), one, 0777) == 0)
        (void)rset_dir_sync(*at, NULL);
    st = rset_dir_enter(*at, one, &next, err);
    if (*at != s->target)
        rset_dir_close(*at);
    *at = next;
    free(one);
    return st;
}

rset_status
scavenge_enter(const scavenge *s, const char *name, bool create, rset_dir **out, rset_err *err)
{
    rset_status st = RSET_OK;
    const char *slash;

    *out = s->target;
    while (st == RSET_OK && (slash = strchr(name, '/')) != NULL) {
        st = step_into(s, out, name, (int)(slash - name), create, err);
        name = slash + 1;
    }
    return st;
}

void
scavenge_leave(const scavenge *s, rset_dir *dir)
{
    if (dir != s->target)
        rset_dir_close(dir);
}

/* To whom --owner says that all files are to be given, before anybody knows their names. */
static rset_status
give_away(const scavenge *s, rset_dir *from, const char *staged, rset_err *err)
{
    const int   fd = s->o->owner != NULL ? openat(rset_dir_fd(from), staged, OPEN_STAGED) : -1;
    rset_status st = RSET_OK;

    if (s->o->owner != NULL &&
        (fd < 0 || fchown(fd, (uid_t)s->o->owner_uid, (gid_t)s->o->owner_gid) != 0))
        st = rset_fail_errno(err, RSET_IO, errno, "%s/%s: cannot be given to %s",
                             rset_dir_path(from), staged, s->o->owner);
    if (fd >= 0)
        close(fd);
    return st;
}

/* Holds the file that is to be replaced, if there is one. RSET_BUSY: a program may change it. */
static rset_status
hold_old(const scavenge *s, rset_dir *into, const char *name, rset_file **out, rset_err *err)
{
    if (rset_file_hold(into, rset_path_base(name), false, out, NULL) != RSET_BUSY)
        return RSET_OK;
    return rset_fail(err, RSET_BUSY,
                     "%s/%s: is to be replaced, and a program on %s has it open to change it: "
                     "close it there, and run this again",
                     s->o->to, name, s->j->host);
}

rset_status
scavenge_publish(const scavenge *s, rset_dir *from, const char *staged, const char *name, bool over,
                 rset_err *err)
{
    rset_err    own = RSET_ERR_NONE;
    rset_dir   *into = NULL;
    rset_file  *old = NULL;
    rset_status st;

    owner_pause();
    st = scavenge_enter(s, name, true, &into, err);
    if (st == RSET_OK && over)
        st = hold_old(s, into, name, &old, err);
    if (st == RSET_OK)
        st = give_away(s, from, staged, err);
    if (st == RSET_OK &&
        (st = rset_dir_move(from, staged, into, rset_path_base(name), over, &own)) != RSET_OK)
        (void)rset_fail(err, st,
                        st == RSET_BUSY
                            ? "%s/%s: was made by another program meanwhile; move it away, or "
                              "replace it with --force"
                            : "%s/%s: cannot be given its name: %s",
                        s->o->to, name, own.text);
    if (st == RSET_OK)
        st = rset_dir_sync(into, err);
    rset_file_close(old, NULL);
    if (into != NULL)
        scavenge_leave(s, into);
    owner_resume();
    return st;
}
