/* commands_remove.c: h5redset rm: files that were protected together go, with all that protects them; h5redset unprotect: what protects
 * files goes; and h5redset gc: what protects files that were deleted goes. Each step is done on all processes before the next one, so that
 * what is left where it is cut short is known to the same command: the data first; what protects it; and last what says whose it was. */
#include "commands.h"
#include "exits.h"
#include "files.h"
#include "judge.h"
#include "removable.h"
#include "replaced.h"
#include "wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what this process has of them ---- */

typedef struct piece {
    const sighting *seen;
    const member   *m; /* of unprotect: whose it is */
    files           f;
} piece;

typedef struct removal {
    job             *j;
    const options   *o;
    const removable *what;
    size_t           n, room;
    piece           *at;
} removal;

static void
add(removal *r, const sighting *seen, const member *m)
{
    if (seen->by != r->j->rank)
        return;
    r->at = must_have_room(r->at, r->n, &r->room, sizeof *r->at);
    r->at[r->n++] = (piece){.seen = seen, .m = m};
}

static size_t
take_members(removal *r, const family *f)
{
    size_t n = 0;

    for (const member *m = NULL; (m = family_next(f, m)) != NULL;)
        if (m->seen != NULL && m->asked) {
            add(r, m->seen, m);
            n++;
        }
    return n;
}

/* Was an earlier unprotect cut short, so that nothing is left beside the file but its descriptor file? */
static bool
is_begun(const member *m)
{
    return m->seen->there && m->seen->trouble == NULL && m->seen->said.has_desc;
}

/* How many there are on all processes. */
static size_t
take_pieces(removal *r)
{
    const catalog *c = r->what->c;
    size_t         n = 0;

    for (size_t i = 0; r->o->command != COMMAND_UNPROTECT && i < c->sightings->n; i++)
        if (c->sightings->at[i].asked && removable_has(r->what, &c->sightings->at[i])) {
            add(r, &c->sightings->at[i], NULL);
            n++;
        }
    for (size_t i = 0; r->o->command == COMMAND_UNPROTECT && i < c->nfamilies; i++)
        n += take_members(r, &c->families[i]);
    for (size_t i = 0; r->o->command == COMMAND_UNPROTECT && i < c->nstrays; i++)
        if (is_begun(c->strays[i].sets->members))
            n += take_members(r, &c->strays[i]);
    return n;
}

static void
release(removal *r)
{
    for (size_t i = 0; i < r->n; i++)
        files_close(&r->at[i].f);
    free(r->at);
}

/* ---- nobody uses them ---- */

static rset_status
say_written(const char *path, rset_err *err)
{
    return rset_fail(err, RSET_BUSY,
                     "%s: is there, and was not when it was looked for; nothing was removed", path);
}

static rset_status
hold_piece(const removal *r, piece *p, rset_err *err)
{
    const bool  gc = r->o->command == COMMAND_GC;
    const char *why = p->m != NULL ? needed_why(p->m) : NULL;
    files_place at = place_of(p->seen);
    rset_status st;

    at.within = gc ? NULL : &r->o->paths;
    st = files_open(&at, &p->f, err);
    if (st == RSET_OK)
        st = files_hold(&p->f, p->m != NULL ? HOLD_FROM_WRITERS : HOLD_FROM_ALL, r->j, err);
    if (st == RSET_OK && gc && !rset_evidence_gone(&p->f.local, &p->f.evidence))
        st = say_written(p->seen->path, err);
    if (st == RSET_OK && why != NULL && !r->o->force)
        st = rset_fail(err, RSET_USAGE, "%s: %s; --force does it all the same", p->seen->path, why);
    return st;
}

/* Of a rank of which nothing was seen: on its node its files are looked for where they are recorded. */
static rset_status
look_for_member(const removal *r, const member *m, rset_err *err)
{
    const rset_info *known = m->known;
    const char      *path = known != NULL ? recorded_path(known) : "";
    files            f = {0};
    rset_status      st;

    if (m->seen != NULL || path[0] != '/' || known->host == NULL ||
        strcmp(known->host, r->j->host) != 0)
        return RSET_OK;
    st = files_open_path(path, (files_place){.path = path, .known = known}, &f, err);
    if (st == RSET_OK && !rset_evidence_gone(&f.local, &f.evidence))
        st = say_written(path, err);
    files_close(&f);
    return st == RSET_ABSENT ? RSET_OK : st;
}

static rset_status
look_for_rest(const removal *r, rset_err *err)
{
    const family *f = r->what->f;
    rset_status   st = RSET_OK;

    for (const member *m = NULL; st == RSET_OK && (m = family_next(f, m)) != NULL;)
        st = look_for_member(r, m, err);
    return st;
}

static int
tell_refused(const removal *r, rset_status st, const rset_err *err)
{
    if (st != RSET_OK && !wait_tries_again(r->j, st, err->text))
        print_error("%s", err->text);
    return exits_of(st);
}

/* The exit status, the same on all processes. */
static int
hold_all(removal *r)
{
    rset_err    err = RSET_ERR_NONE;
    rset_status st = r->o->command == COMMAND_GC ? look_for_rest(r, &err) : RSET_OK;
    int         worst = tell_refused(r, st, &err);

    for (size_t i = 0; i < r->n; i++) {
        rset_err own = RSET_ERR_NONE;

        st = hold_piece(r, &r->at[i], &own);
        worst = exits_worse(worst, tell_refused(r, st, &own));
    }
    return job_most(r->j, worst);
}

/* ---- removing ---- */

static rset_status
remove_data(const files *f, rset_err *err)
{
    rset_status st = RSET_OK;

    for (int i = 0; st == RSET_OK && i < f->n; i++) {
        rset_dir *dir = rset_local_dir(&f->local, i);

        if (dir != NULL)
            st = rset_dir_unlink(dir, f->names[i], err);
        if (dir != NULL && st == RSET_OK)
            st = rset_dir_sync(dir, err);
    }
    return st;
}

/* Of all pieces. The exit status, the same on all processes. */
static int
on_all(const removal *r, rset_status (*step)(const files *f, rset_err *err))
{
    int worst = 0;

    for (size_t i = 0; i < r->n; i++) {
        rset_err err = RSET_ERR_NONE;

        if (step(&r->at[i].f, &err) != RSET_OK) {
            print_error("%s", err.text);
            worst = EXITS_ERROR;
        }
    }
    return job_most(r->j, worst);
}

/* With rm a changed file that was put aside goes with its data file; the others leave it, since it protects nothing. The exit status. */
static int
settle_replaced(const removal *r, const piece *p)
{
    if (r->o->command == COMMAND_RM)
        return replaced_remove(r->j, r->o, r->what->replaced, p->seen);
    replaced_tell_left(r->j, r->what->replaced, p->seen);
    return 0;
}

static void
tell(const removal *r, const piece *p)
{
    const bool would = r->o->dry_run;

    if (r->o->command == COMMAND_UNPROTECT)
        print_line(stdout, "%s: %s", p->seen->path,
                   would ? "redundancy would be removed" : "not protected any more");
    else
        print_line(stdout, "%s: %s%s", p->seen->path,
                   r->o->command == COMMAND_GC ? "what protected it " : "",
                   would ? "would be removed" : "was removed");
}

/* `tries`: it is only found out whether they could be removed. Collective; the exit status: EXITS_NOTHING where there is nothing of them. */
static int
remove_together(job *j, const options *o, const removable *what, bool tries)
{
    const bool acts = !tries && !o->dry_run;

    removal r = {.j = j, .o = o, .what = what};
    int     status, left = 0;

    if (take_pieces(&r) == 0)
        return EXITS_NOTHING;
    status = hold_all(&r);
    if (status == 0 && acts && o->command == COMMAND_RM)
        status = on_all(&r, remove_data);
    if (status == 0 && acts)
        status = on_all(&r, files_unprotect_begin);
    if (status == 0 && acts)
        status = on_all(&r, files_unprotect_end);
    for (size_t i = 0; status == 0 && !tries && i < r.n; i++) {
        tell(&r, &r.at[i]);
        left |= settle_replaced(&r, &r.at[i]);
    }
    release(&r);
    return status == 0 && !tries ? job_most(j, left) : status;
}

/* ---- which ---- */

/* Without --force rm removes all that was protected together, or nothing; and a file of which nobody knows how it was protected is not
 * removed for what it may be. What is wrong with it is the same on all processes. */
static rset_status
check(const options *o, const removable *what, rset_err *err)
{
    const bool recorded = family_is_recorded(what->f);

    if (o->command == COMMAND_GC || (!recorded && is_deleted(&what->f->decision)))
        return removable_deleted(what, err);
    if (!recorded)
        return rset_fail(err, RSET_USAGE,
                         "%s: nothing that can be reached records how it was protected, and it is "
                         "left: remove it with rm(1)",
                         member_path(what->f->sets->members));
    return o->force ? RSET_OK : removable_whole(what, err);
}

/* Collective; the exit status. */
static int
remove_if(job *j, const options *o, const removable *what, bool tries)
{
    rset_err          err = RSET_ERR_NONE;
    const rset_status st = check(o, what, &err);

    if (st != RSET_OK && j->rank == 0)
        print_error("%s", err.text);
    return st == RSET_OK ? remove_together(j, o, what, tries) : EXITS_ERROR;
}

/* Those that were asked for; of gc, that were deleted. Collective; the exit status, -1: there are none. */
static int
remove_some(job *j, const options *o, removable *what, const family *some, size_t n, bool tries)
{
    int worst = -1;

    for (size_t i = 0; i < n; i++) {
        what->f = &some[i];
        if (what->f->asked && (o->command != COMMAND_GC || is_deleted(&what->f->decision)))
            worst = exits_worse(worst, remove_if(j, o, what, tries));
    }
    return worst;
}

static int
remove_all(job *j, const options *o, removable *what, bool tries)
{
    const catalog *c = what->c;
    const int      status = remove_some(j, o, what, c->families, c->nfamilies, tries);

    return exits_worse(status, remove_some(j, o, what, c->strays, c->nstrays, tries));
}

/* Of rm nothing goes where something cannot; of gc what can. */
static int
begin(job *j, const options *o, const picture *p)
{
    removable what = {.j = j, .c = &p->newest, .replaced = &p->replaced};
    const int status = o->command == COMMAND_RM ? remove_all(j, o, &what, true) : 0;

    return status == 0 ? remove_all(j, o, &what, false) : status;
}

int
command_rm(job *j, const options *o, const picture *p)
{
    const int status = begin(j, o, p);

    return status < 0 ? EXITS_NOTHING : status;
}

int
command_gc(job *j, const options *o, const picture *p)
{
    const int status = begin(j, o, p);

    if (status < 0 && j->rank == 0)
        printf("nothing that was deleted is left\n");
    return status < 0 ? EXITS_WELL : status;
}

/* What others need is told, and what of these is in the way. */
int
command_unprotect(job *j, const options *o, const picture *p)
{
    const removable what = {.j = j, .c = &p->newest, .replaced = &p->replaced};
    const bool      needed = !o->force && needed_tell(&p->newest, j->rank == 0);
    const int       status = remove_together(j, o, &what, needed);

    return needed ? EXITS_ERROR : status;
}
