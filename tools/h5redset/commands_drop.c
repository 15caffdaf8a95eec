/* commands_drop.c: h5redset drop: an older generation of the files of all ranks is removed. */
#include "commands.h"
#include "exits.h"
#include "files.h"
#include "replaced.h"
#include "wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One rank's, of this process: the generation that goes, and the files that it is one of. */
typedef struct piece {
    const sighting *s;
    files           f;
} piece;

/* What goes: one generation of some files, of all that was seen. */
typedef struct dropping {
    job             *j;
    const options   *o;
    const catalog   *older;
    const file_list *l;
    uint64_t         generation;
    size_t           n, room;
    piece           *at;
} dropping;

/* Is `at` a name of the file `name`, or of an older generation of it? */
static bool
is_called(const char *at, const char *name)
{
    return strncmp(at, name, strlen(name)) == 0 && rset_name_recorded(at) == strlen(name);
}

static bool
is_at(const sighting *at, const sighting *s, const char *name)
{
    return at != NULL && at->device == s->device && at->inode == s->inode &&
           strcmp(at->host, s->host) == 0 && is_called(at->name, name);
}

/* Of a file of one rank (root=) replicas lie in other places. Others that are called so have other generations. */
static bool
is_replica_of(const family *f, const sighting *s, const char *name)
{
    return f->desc.ranks == 1 && f->generation == s->older && is_called(family_name(f), name);
}

/* Is it of these files? Other files may have been protected in one commit with them, and have the same generation. What is left of one
 * that nothing records lies where another generation was seen, or where that was. */
static bool
is_of(const file_list *l, const sighting *s)
{
    char *name = path_of_file(s->name);
    bool  is = false;

    for (size_t g = 0; g < l->n + l->naside && !is; g++) {
        const listed *one = g < l->n ? &l->at[g] : &l->aside[g - l->n];
        const family *f = one->f;

        for (const member *m = NULL; !is && (m = family_next(f, m)) != NULL;)
            is = is_at(m->seen, s, name);
        is = is || is_replica_of(f, s, name);
    }
    free(name);
    return is;
}

/* Is it this process's to remove? */
static bool
is_mine(const dropping *d, const sighting *s)
{
    return s->older == d->generation && s->by == d->j->rank && s->asked && !s->ahead &&
           is_of(d->l, s);
}

/* What one of them comes to. */
typedef rset_status (*drop_step)(const dropping *d, piece *p, rset_err *err);

/* Takes it with those that are this process's. How many failed. */
static int
on_mine(dropping *d, drop_step step)
{
    int n = 0;

    for (size_t i = 0; i < d->n; i++) {
        rset_err          err = RSET_ERR_NONE;
        const rset_status st = step(d, &d->at[i], &err);

        if (st != RSET_OK && !wait_tries_again(d->j, st, d->at[i].s->path))
            print_error("%s", err.text);
        n += st != RSET_OK;
    }
    return n;
}

static void
take_mine(dropping *d)
{
    for (size_t i = 0; i < d->older->sightings->n; i++)
        if (is_mine(d, &d->older->sightings->at[i])) {
            d->at = must_have_room(d->at, d->n, &d->room, sizeof *d->at);
            d->at[d->n++] = (piece){.s = &d->older->sightings->at[i]};
        }
}

static void
release(dropping *d)
{
    for (size_t i = 0; i < d->n; i++)
        files_close(&d->at[i].f);
    free(d->at);
}

/* Does another piece of this process hold these files? */
static bool
is_held(const dropping *d, const piece *p)
{
    for (const piece *q = d->at; q < p; q++)
        if (q->f.n_held > 0 && strcmp(q->f.prefix, p->f.prefix) == 0 &&
            strcmp(q->s->dir, p->s->dir) == 0)
            return true;
    return false;
}

/* What each process says before any of them removes something. */
static rset_status
hold_one(const dropping *d, piece *p, rset_err *err)
{
    rset_status st = files_open_newest(p->s, &d->o->paths, &p->f, err);

    if (st == RSET_OK && !p->s->aside && rset_generation_is_open(&p->f.local, d->generation))
        return rset_fail(err, RSET_BUSY, "%s: is open, and not removed: close it first",
                         p->s->path);
    if (st == RSET_OK && !d->o->dry_run && !is_held(d, p))
        st = files_hold(&p->f, HOLD_FROM_WRITERS, d->j, err);
    return st;
}

/* What needs space comes first, on all processes: where one has none, none removes anything. */
static rset_status
detach(const dropping *d, piece *p, rset_err *err)
{
    return p->s->aside || d->o->dry_run ? RSET_OK
                                        : rset_kept_detach(&p->f.local, d->generation, err);
}

static rset_status
remove_one(const files *f, const sighting *s, rset_err *err)
{
    switch (rset_name_kept_as(s->name)) {
    case RSET_NAME_LOST: return rset_lost_drop(&f->local, s->older, err);
    case RSET_NAME_NEWER: return rset_newer_drop(&f->local, s->older, err);
    default: return rset_kept_drop(&f->local, s->older, err);
    }
}

static rset_status
drop_one(const dropping *d, piece *p, rset_err *err)
{
    char       *path = path_of_file(p->s->path);
    rset_status st = d->o->dry_run ? RSET_OK : remove_one(&p->f, p->s, err);

    if (st == RSET_OK && !d->o->dry_run)
        st = rset_dir_sync(p->f.dir, err);
    if (st == RSET_OK)
        print_line(stdout, "%s: generation %u %s", path, generation_number(d->generation),
                   d->o->dry_run ? "would be dropped" : "dropped");
    free(path);
    return st;
}

/* ---- may it go? ---- */

/* Was the newest file of that rank seen? */
static bool
sees_newest(const file_list *l, int rank)
{
    for (const member *m = NULL; l->n > 0 && (m = family_next(l->at[0].f, m)) != NULL;)
        if (m->rank == rank && m->seen != NULL)
            return true;
    return false;
}

/* Counts the ranks of which this generation was not seen, and may be where nobody has looked. It has gone where the rank's newest file was seen,
 * and a process has looked at the place that is recorded, if one is. */
static int
count_out_of_sight(const dropping *d, const family *f)
{
    int n = 0;

    for (const member *m = NULL; (m = family_next(f, m)) != NULL;)
        n += m->seen == NULL && !(sees_newest(d->l, m->rank) &&
                                  (m->known == NULL || job_reaches(d->j, m->known->host)));
    return n;
}

/* The same on all processes. */
static rset_status
check(const dropping *d, const rset_generations *all, const char *name, rset_err *err)
{
    const listed *g = list_find(d->l, d->generation);
    const int     unseen = g != NULL ? count_out_of_sight(d, g->f) : 0;

    if (d->generation == 0)
        return rset_generations_none(all, d->o->generation, name, err);
    if (all->n > 0 && d->generation == all->at[0] && g != NULL)
        return rset_fail(err, RSET_USAGE,
                         "%s: generation %u is the newest, and not removed: h5redset unprotect "
                         "removes what protects the files",
                         name, generation_number(d->generation));
    if (unseen > 0 && !d->o->force)
        return rset_fail(err, RSET_USAGE,
                         "%s: generation %u of %d ranks is out of sight, and nothing is removed: "
                         "run under mpiexec with a process on each node; --force drops what is "
                         "in sight",
                         name, generation_number(d->generation), unseen);
    return RSET_OK;
}

static int
drop_list(dropping *d)
{
    rset_generations all;
    const listed    *aside;
    rset_err         err = RSET_ERR_NONE;
    char            *name = list_name(d->l);
    rset_status      st;
    bool             done;

    list_generations(d->l, &d->o->which, &all);
    d->generation = rset_generations_find(&all, &d->o->which);
    if (d->generation == 0 && (aside = list_find_aside(d->l, &d->o->which)) != NULL)
        d->generation = aside->generation;
    st = check(d, &all, name, &err);
    if (st != RSET_OK && d->j->rank == 0)
        print_error("%s", err.text);
    free(name);
    if (st != RSET_OK)
        return EXITS_ERROR;
    take_mine(d);
    done = job_most(d->j, on_mine(d, hold_one)) == 0 && job_most(d->j, on_mine(d, detach)) == 0 &&
           job_most(d->j, on_mine(d, drop_one)) == 0;
    release(d);
    return done ? EXITS_WELL : EXITS_ERROR;
}

static int
drop_changed(job *j, const options *o, const picture *p)
{
    if (replaced_asked(&p->replaced) == 0 && j->rank == 0)
        printf("no changed file was put aside\n");
    return replaced_remove(j, o, &p->replaced, NULL);
}

int
command_drop(job *j, const options *o, const picture *p)
{
    const lists *all = &p->all;
    int          worst = 0;

    if (o->changed)
        return drop_changed(j, o, p);
    for (size_t i = 0; i < all->n; i++) {
        dropping  d = {.j = j, .o = o, .older = &p->older, .l = &all->at[i]};
        const int before = wait_refused(j);
        char     *key = list_key(d.l);
        const int status = wait_is_done(j, key) ? EXITS_WELL : drop_list(&d);

        if (wait_settles(j, key, before))
            worst = exits_worse(worst, status);
        free(key);
    }
    return all->n == 0 ? EXITS_NOTHING : worst;
}
