/* deletions.c: see deletions.h. */
#include "deletions.h"

#include "names/claim.h"
#include "picture/located.h"
#include "protect/protect.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct entry {
    char    *dir, *base; /* owned */
    char    *now;        /* what it is called: that, or what it was renamed to; owned */
    uint64_t generation, size, secs, nsecs;
    unsigned said; /* how often */
    bool missing; /* under the name that it had last; whether it has another one is not known yet */
    bool gone;
} entry;

struct rset_deletions {
    pthread_mutex_t lock;
    entry          *at; /* in the order in which they came */
    size_t          n, room;
    uint64_t       *found; /* directories that were listed; owned */
    size_t          nfound;
};

rset_deletions *
rset_deletions_new(void)
{
    rset_deletions *d = calloc(1, sizeof *d);

    if (d != NULL)
        (void)pthread_mutex_init(&d->lock, NULL);
    return d;
}

static void
forget(rset_deletions *d, size_t i)
{
    free(d->at[i].dir);
    free(d->at[i].base);
    free(d->at[i].now);
    memmove(&d->at[i], &d->at[i + 1], (--d->n - i) * sizeof *d->at);
}

void
rset_deletions_free(rset_deletions *d)
{
    if (d == NULL)
        return;
    while (d->n > 0)
        forget(d, d->n - 1);
    free(d->at);
    free(d->found);
    (void)pthread_mutex_destroy(&d->lock);
    free(d);
}

/* ---- what there is ---- */

static void
add(rset_deletions *d, const char *dir, const char *base, const entry *like)
{
    entry e = *like;

    if (d->n == d->room) {
        const size_t room = 2 * d->room + 8;
        entry       *more = realloc(d->at, room * sizeof *more);

        if (more == NULL)
            return;
        d->at = more;
        d->room = room;
    }
    e.dir = strdup(dir);
    e.base = strdup(base);
    e.now = strdup(base);
    d->at[d->n++] = e;
    if (e.dir == NULL || e.base == NULL || e.now == NULL)
        forget(d, d->n - 1);
}

/* The entry of that file, of which there is at most one; d->n: there is none. */
static size_t
find(const rset_deletions *d, const char *dir, const char *base)
{
    size_t i = 0;

    while (i < d->n && (strcmp(d->at[i].base, base) != 0 || strcmp(d->at[i].dir, dir) != 0))
        i++;
    return i;
}

static bool
is_older(const entry *a, const entry *b)
{
    return a->secs != b->secs ? a->secs < b->secs : a->nsecs < b->nsecs;
}

/* Forgets the oldest of the files that are there, if these are too many; else false. */
static bool
make_room(rset_deletions *d)
{
    size_t n = 0, oldest = d->n;

    for (size_t i = 0; i < d->n; i++) {
        if (d->at[i].gone)
            continue;
        n++;
        if (oldest == d->n || is_older(&d->at[i], &d->at[oldest]))
            oldest = i;
    }
    if (n <= RSET_DELETIONS_KNOWN)
        return false;
    forget(d, oldest);
    return true;
}

void
rset_deletions_note(rset_deletions *d, const rset_local *local, uint64_t generation)
{
    const char *dir = rset_dir_path(local->dir), *base = local->names[0];
    struct stat sb;
    size_t      before;

    if (d == NULL || rset_dir_stat(local->dir, base, &sb, NULL) != RSET_OK)
        return;
    pthread_mutex_lock(&d->lock);
    before = find(d, dir, base);
    if (before < d->n)
        forget(d, before);
    add(d, dir, base,
        &(entry){.generation = generation,
                 .size = (uint64_t)sb.st_size,
                 .secs = (uint64_t)sb.st_mtim.tv_sec,
                 .nsecs = (uint64_t)sb.st_mtim.tv_nsec});
    (void)make_room(d);
    pthread_mutex_unlock(&d->lock);
}

/* ---- what is gone ---- */

/* Is it that file, by another name? */
static bool
is_it(const entry *e, const struct stat *sb)
{
    return S_ISREG(sb->st_mode) && (uint64_t)sb->st_size == e->size &&
           (uint64_t)sb->st_mtim.tv_sec == e->secs && (uint64_t)sb->st_mtim.tv_nsec == e->nsecs;
}

/* Is what has this name protected under it? Clocks of file systems are coarse: files of two steps may have one time. */
static bool
has_its_own(rset_dir *dir, const char *name)
{
    char      *beside = rset_join_names(name, "." RSET_NAME_NAMES);
    const bool has = beside != NULL && rset_dir_has_file(dir, beside);

    free(beside);
    return has;
}

typedef struct listing {
    rset_deletions *d;
    rset_dir       *dir;
    const char     *path;
} listing;

static bool
visit(const char *name, void *arg)
{
    listing    *l = arg;
    bool        ours = true;
    char       *prefix = NULL, *now;
    rset_err    ignored = RSET_ERR_NONE;
    struct stat sb;
    rset_status st = rset_name_seen(name, &ours, &prefix, &ignored);

    free(prefix);
    if (st != RSET_OK || ours || rset_dir_stat(l->dir, name, &sb, NULL) != RSET_OK ||
        has_its_own(l->dir, name))
        return true;
    for (size_t i = 0; i < l->d->n; i++) {
        entry *e = &l->d->at[i];

        if (!e->missing || strcmp(e->dir, l->path) != 0 || !is_it(e, &sb) ||
            (now = strdup(name)) == NULL)
            continue;
        free(e->now);
        e->now = now;
        e->missing = false;
    }
    return true;
}

/* Entries of one directory whose files are missing under their names are gone, unless the files have other names there. Where the
 * directory cannot be read they are not gone, and are looked at again. */
static void
look_in(rset_deletions *d, const char *path)
{
    rset_dir         *dir = NULL;
    rset_err          ignored = RSET_ERR_NONE;
    const rset_status opened = rset_dir_open(path, false, &dir, &ignored);
    rset_status       st = opened;

    if (st == RSET_OK)
        st = rset_dir_list(dir, visit, &(listing){d, dir, path}, &ignored);
    rset_dir_close(dir);
    for (size_t i = 0; i < d->n; i++) {
        entry *e = &d->at[i];

        if (!e->missing || strcmp(e->dir, path) != 0)
            continue;
        e->gone = st == RSET_OK || opened == RSET_ABSENT;
        e->missing = false;
    }
}

/* A directory is opened once for entries of it that follow each other, as most do. */
static void
find_missing(rset_deletions *d)
{
    rset_dir   *dir = NULL;
    const char *opened = NULL; /* which directory that was, or was to be */
    rset_status st = RSET_OK;
    struct stat sb;

    for (size_t i = 0; i < d->n; i++) {
        entry   *e = &d->at[i];
        rset_err ignored = RSET_ERR_NONE;

        if (e->gone)
            continue;
        if (opened == NULL || strcmp(opened, e->dir) != 0) {
            rset_dir_close(dir);
            dir = NULL;
            opened = e->dir;
            st = rset_dir_open(opened, false, &dir, &ignored);
        }
        e->missing = (st == RSET_OK ? rset_dir_stat(dir, e->now, &sb, NULL) : st) == RSET_ABSENT;
    }
    rset_dir_close(dir);
}

static void
look(rset_deletions *d)
{
    find_missing(d);
    for (size_t i = 0; i < d->n; i++)
        if (d->at[i].missing)
            look_in(d, d->at[i].dir);
}

/* ---- what earlier runs left ---- */

/* Is it this rank's newest generation of a file? */
static bool
is_own(const rset_located *l, int rank, int ranks)
{
    const rset_desc *desc = &l->evidence.header.infos[0].desc;

    return l->n == 1 && desc->rank == rank && desc->ranks == ranks && desc->generation != 0 &&
           !rset_located_is_displaced(l) && rset_name_kept(l->base) == 0 &&
           !l->evidence.undo.aside && !rset_evidence_committing(&l->evidence);
}

static void
take_own(rset_deletions *d, const rset_located *l)
{
    const rset_attrs *a = &l->evidence.header.infos[0].files[0].attrs;

    if (find(d, rset_dir_path(l->dir), l->base) < d->n) /* this run knows more of it */
        return;
    add(d, rset_dir_path(l->dir), l->base,
        &(entry){.generation = l->evidence.header.infos[0].desc.generation,
                 .size = a->size,
                 .secs = a->mtime_secs,
                 .nsecs = a->mtime_nsecs});
}

/* Was this directory listed before? From now on it was. */
static bool
was_listed(rset_deletions *d, rset_dir *dir)
{
    const uint64_t number = rset_dir_number(dir);
    uint64_t      *more;

    for (size_t i = 0; i < d->nfound; i++)
        if (d->found[i] == number)
            return true;
    more = realloc(d->found, (d->nfound + 1) * sizeof *more);
    if (more == NULL)
        return true;
    d->found = more;
    d->found[d->nfound++] = number;
    return false;
}

void
rset_deletions_find(rset_deletions *d, rset_dir *dir, const char *like, int rank, int ranks)
{
    rset_located_list all = {0};
    rset_err          ignored = RSET_ERR_NONE;

    if (d == NULL)
        return;
    pthread_mutex_lock(&d->lock);
    if (!was_listed(d, dir)) {
        if (rset_locate(dir, &(rset_look_at){.like = like}, &all, &ignored) == RSET_OK)
            for (size_t i = 0; i < all.n; i++)
                if (is_own(&all.at[i], rank, ranks))
                    take_own(d, &all.at[i]);
        rset_located_list_free(&all);
        look(d); /* those that are gone take no room */
        while (make_room(d))
            continue;
    }
    pthread_mutex_unlock(&d->lock);
}

/* ---- what is said ---- */

/* Is it to be said rather than that one? */
static bool
comes_first(const entry *a, const entry *b)
{
    return a->said != b->said ? a->said < b->said : a->generation > b->generation;
}

/* The first of those that are gone and not among the `n` chosen; NULL: none. */
static entry *
choose(rset_deletions *d, entry *const *chosen, size_t n)
{
    entry *best = NULL;

    for (size_t i = 0; i < d->n; i++) {
        bool taken = !d->at[i].gone;

        for (size_t k = 0; k < n; k++)
            taken = taken || chosen[k] == &d->at[i];
        if (!taken && (best == NULL || comes_first(&d->at[i], best)))
            best = &d->at[i];
    }
    return best;
}

static void
insert(uint64_t said[RSET_GONE_MAX], size_t n, uint64_t generation)
{
    size_t i = n;

    for (; i > 0 && said[i - 1] < generation; i--)
        said[i] = said[i - 1];
    said[i] = generation;
}

void
rset_deletions_say(rset_deletions *d, uint64_t said_out[RSET_GONE_MAX])
{
    entry *chosen[RSET_GONE_MAX];
    size_t n = 0;

    memset(said_out, 0, RSET_GONE_MAX * sizeof *said_out);
    if (d == NULL)
        return;
    pthread_mutex_lock(&d->lock);
    look(d);
    while (n < RSET_GONE_MAX && (chosen[n] = choose(d, chosen, n)) != NULL) {
        insert(said_out, n, chosen[n]->generation);
        chosen[n++]->said++;
    }
    pthread_mutex_unlock(&d->lock);
}

/* ---- what goes ---- */

/* While nobody has it open to change it, nor begins to. */
static void
unprotect(rset_dir *dir, const char *prefix, const entry *e)
{
    const char *names[1] = {e->base};
    rset_local  local = {.dir = dir, .prefix = prefix, .nfiles = 1, .names = names, .paths = names};
    rset_file  *claim = NULL;
    rset_err    ignored = RSET_ERR_NONE;

    if (rset_claim(dir, prefix, e->base, RSET_CLAIM_ALONE, &claim, &ignored) == RSET_OK &&
        rset_local_gone(&local))
        (void)rset_unprotect(&local, &ignored);
    rset_claim_end(claim);
}

static void
remove_what_protects(const entry *e)
{
    rset_dir *dir = NULL;
    rset_err  ignored = RSET_ERR_NONE;
    char     *prefix = rset_join_names(e->base, ".");

    if (prefix != NULL && rset_dir_open(e->dir, false, &dir, &ignored) == RSET_OK)
        unprotect(dir, prefix, e);
    rset_dir_close(dir);
    free(prefix);
}

void
rset_deletions_remove(rset_deletions *d, const uint64_t common[RSET_GONE_MAX])
{
    if (d == NULL || common[0] == 0)
        return;
    pthread_mutex_lock(&d->lock);
    for (size_t k = 0; k < RSET_GONE_MAX && common[k] != 0; k++)
        for (size_t i = d->n; i-- > 0;)
            if (d->at[i].generation == common[k] && d->at[i].gone) {
                remove_what_protects(&d->at[i]);
                forget(d, i);
            }
    pthread_mutex_unlock(&d->lock);
}
