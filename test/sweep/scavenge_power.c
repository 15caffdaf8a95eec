/* scavenge_power.c: see scavenge_power.h. */
#include "scavenge_power.h"

#include <fts.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sweep.h"

enum { MOST = 512 };

const char *const scavenge_power_names[POWER_WAYS] = {"all", "content", "names", "some"};

/* Shared with the child. */
static struct {
    int   ndirty, nnames;
    ino_t dirty[MOST]; /* files that were written since they were synced */
    struct {
        ino_t dir;
        char  path[PATH_MAX];
    } names[MOST]; /* that were given since their directory was synced */
} * unsure;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void
scavenge_power_begin(void)
{
    if (unsure == NULL)
        unsure = sweep_shared(sizeof *unsure);
    unsure->ndirty = unsure->nnames = 0;
}

static ino_t
number_of(int fd)
{
    struct stat sb;

    return fstat(fd, &sb) == 0 ? sb.st_ino : 0;
}

static void
written(ino_t file)
{
    for (int i = 0; i < unsure->ndirty; i++)
        if (unsure->dirty[i] == file)
            return;
    if (unsure->ndirty == MOST)
        abort();
    unsure->dirty[unsure->ndirty++] = file;
}

static void
synced(ino_t number)
{
    for (int i = unsure->ndirty - 1; i >= 0; i--)
        if (unsure->dirty[i] == number)
            unsure->dirty[i] = unsure->dirty[--unsure->ndirty];
    for (int i = unsure->nnames - 1; i >= 0; i--)
        if (unsure->names[i].dir == number)
            unsure->names[i] = unsure->names[--unsure->nnames];
}

/* By a path: those of the tool. */
static void
named(const char *path)
{
    char        dir[PATH_MAX];
    struct stat sb;

    snprintf(dir, sizeof dir, "%s", path);
    *strrchr(dir, '/') = '\0';
    if (unsure->nnames == MOST || stat(dir, &sb) != 0)
        abort();
    unsure->names[unsure->nnames].dir = sb.st_ino;
    snprintf(unsure->names[unsure->nnames++].path, PATH_MAX, "%s", path);
}

void
scavenge_power_see(const tap_event *e, long result)
{
    if (result < 0)
        return;
    pthread_mutex_lock(&lock);
    switch (e->call) {
    case TAP_CREATE: written(number_of((int)result)); break;
    case TAP_PWRITE:
    case TAP_FTRUNCATE: written(number_of(e->fd)); break;
    case TAP_FSYNC: synced(number_of(e->fd)); break;
    case TAP_RENAME:
        if (e->to[0] == '/')
            named(e->to);
        break;
    default: break;
    }
    pthread_mutex_unlock(&lock);
}

/* ---- what is left ---- */

static bool
is_lost(scavenge_power_way how, bool content)
{
    return how == POWER_ALL || (how == POWER_SOME && sweep_random(2) != 0) ||
           how == (content ? POWER_CONTENT : POWER_NAMES);
}

void
scavenge_power_go(const char *dir, scavenge_power_way how)
{
    char   *paths[] = {(char *)dir, NULL};
    FTS    *walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    FTSENT *f;

    while (walk != NULL && (f = fts_read(walk)) != NULL)
        for (int i = 0; f->fts_info == FTS_F && i < unsure->ndirty; i++)
            if (unsure->dirty[i] == f->fts_statp->st_ino && is_lost(how, true) &&
                truncate(f->fts_accpath, f->fts_statp->st_size / 2) != 0)
                abort();
    if (walk != NULL)
        fts_close(walk);
    for (int i = 0; i < unsure->nnames; i++)
        if (is_lost(how, false))
            unlink(unsure->names[i].path);
}
