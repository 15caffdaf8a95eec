/* scavenge_target.c: the directory that files are brought to. What is not complete lies in SCAVENGE_STAGE below it, which
 * one run at a time has to itself; so a run that was killed leaves nothing under the name of a file. See scavenge.h. */
#include "scavenge.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

char *
scavenge_path(const scavenge *s, const char *name)
{
    return must_print("%s/%s", s->o->to, name);
}

/* ---- what is not complete ---- */

void
scavenge_remove(const char *path)
{
    char   *paths[] = {(char *)path, NULL};
    FTS    *walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    FTSENT *entry;

    while (walk != NULL && (entry = fts_read(walk)) != NULL) {
        if (entry->fts_info == FTS_DP)
            (void)rmdir(entry->fts_accpath);
        else if (entry->fts_info != FTS_D)
            (void)unlink(entry->fts_accpath);
    }
    if (walk != NULL)
        fts_close(walk);
}

/* What a run that was killed has left there. */
static void
remove_leftovers(const char *stage)
{
    char *old = must_print("%s/new", stage);

    scavenge_remove(old);
    free(old);
}

/* A file system without locks lets every run in; their places have different names. */
static rset_status
take_lock(scavenge *s, const char *stage, rset_err *err)
{
    char       *path = must_print("%s/lock", stage);
    rset_status st = RSET_OK;

    s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (s->lock < 0)
        st = rset_fail_errno(err, RSET_IO, errno, "%s: cannot be created", path);
    else if (flock(s->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        st = rset_fail(err, RSET_IO,
                       "%s: another h5redset scavenge is bringing files to this directory; wait "
                       "for it",
                       s->o->to);
    if (st != RSET_OK && s->lock >= 0) {
        close(s->lock);
        s->lock = -1;
    }
    free(path);
    return st;
}

static rset_status
make_dir(const char *path, rset_err *err)
{
    rset_dir   *dir = NULL;
    rset_status st = rset_dir_open(path, true, &dir, err);

    if (st == RSET_OK)
        st = rset_dir_may_change(dir, err);
    rset_dir_close(dir);
    return st;
}

/* The directory that is to be safe is none of those that are searched: nothing of these is changed. */
static rset_status
check_apart(const scavenge *s, rset_err *err)
{
    struct stat sb;

    if (stat(s->o->to, &sb) != 0)
        return RSET_OK;
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
    char       *stage = scavenge_path(s, SCAVENGE_STAGE);
    struct stat sb;
    rset_status st = check_apart(s, err);

    s->lock = -1;
    st = agree(s, st, err);
    if (st == RSET_OK && s->j->rank == 0) {
        st = rset_dir_make(s->o->to, &s->made, err);
        if (st == RSET_OK)
            st = make_dir(stage, err);
        if (st == RSET_OK)
            st = take_lock(s, stage, err);
        if (st == RSET_OK)
            remove_leftovers(stage);
    }
    st = agree(s, st, err);
    if (st == RSET_OK && stat(stage, &sb) != 0)
        st = rset_fail_errno(err, RSET_IO, errno,
                             "%s: was made by another process, and is not there on this node; "
                             "name a directory that all nodes share",
                             stage);
    s->stage = must_print("%s/new/%d.%ld", stage, s->j->rank, (long)getpid());
    if (st == RSET_OK)
        st = make_dir(s->stage, err);
    free(stage);
    return agree(s, st, err);
}

void
scavenge_end(scavenge *s)
{
    rset_err err = RSET_ERR_NONE;
    char    *stage = scavenge_path(s, SCAVENGE_STAGE);

    (void)agree(s, RSET_OK, &err); /* nobody needs it any more */
    if (s->lock >= 0) {
        scavenge_remove(stage);
        close(s->lock);
    }
    if (s->made != NULL) /* stays when anything came into it */
        rset_dir_unmake(s->o->to, s->made);
    free(stage);
}

/* ---- what is ---- */

rset_status
scavenge_publish(const scavenge *s, const char *staged, const char *name, rset_err *err)
{
    char       *path = scavenge_path(s, name), *dir = dir_of(path);
    rset_dir   *into = NULL;
    rset_file  *there = NULL;
    rset_status st = rset_dir_open(dir, true, &into, err);

    if (st == RSET_OK &&
        rset_file_hold(into, rset_path_base(path), false, &there, NULL) == RSET_BUSY)
        st = rset_fail(
            err, RSET_BUSY,
            "%s: is to be replaced, and a program on %s has it open to change it: close it "
            "there, and run this again",
            path, s->j->host);
    if (st == RSET_OK && rename(staged, path) != 0)
        st = rset_fail_errno(err, RSET_IO, errno, "%s: cannot be given its name", path);
    if (st == RSET_OK)
        st = rset_dir_sync(into, err);
    rset_file_close(there, NULL);
    rset_dir_close(into);
    free(dir);
    free(path);
    return st;
}
