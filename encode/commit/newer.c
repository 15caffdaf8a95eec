/* newer.c: see newer.h. */
#include "newer.h"

#include "forget.h"
#include "names/names.h"

#include <stdlib.h>
#include <string.h>

static rset_status
no_memory(const rset_local *local, rset_err *err)
{
    return rset_fail(err, RSET_NOMEM, "%s: no memory to put it aside", rset_local_name(local));
}

/* ---- putting aside ---- */

/* What is put aside, and as what. */
typedef struct putting {
    const rset_local *local;
    rset_name_kind    as;
    char             *data, *prefix; /* owned */
    rset_names        from;          /* what lies beside the data file */
    rset_names        to;            /* the same names with that prefix, in the same order */
    rset_err         *err;
} putting;

/* Files of other generations that are kept stay, as those do that were put aside; a new file that is written is none of this one. */
static bool
goes_with_it(const putting *p, const char *name, uint64_t generation)
{
    const char          *shadow = p->local->shadow;
    rset_name            parsed;
    uint64_t             of = 0;
    const rset_name_kind kind = rset_name_classify(name, p->local->prefix, &parsed, &of);

    switch (rset_name_role_of(kind)) {
    case RSET_ROLE_OWN: return shadow == NULL || strcmp(name, shadow) != 0;
    case RSET_ROLE_BEFORE: return of == generation || !rset_names_has_older(&p->from, of);
    default: return false;
    }
}

static rset_status
find_names(putting *p, uint64_t generation)
{
    const rset_local *local = p->local;
    rset_names       *from = &p->from;
    rset_status st = rset_names_find(local->dir, local->prefix, local->names[0], from, p->err);
    size_t      n = 0;

    for (size_t i = 0; i < from->n; i++)
        if (goes_with_it(p, from->at[i], generation))
            from->at[n++] = from->at[i];
        else
            free(from->at[i]);
    from->n = n;
    return st;
}

static rset_status
make_names(putting *p, uint64_t generation)
{
    const rset_local *local = p->local;
    const size_t      from = strlen(local->prefix);

    p->data = rset_name_of(p->as, local->prefix, generation);
    if (p->data != NULL)
        p->prefix = rset_join_names(p->data, ".");
    p->to.at = calloc(p->from.n + 1, sizeof *p->to.at);
    if (p->prefix == NULL || p->to.at == NULL)
        return no_memory(local, p->err);
    for (size_t i = 0; i < p->from.n; i++, p->to.n++)
        if ((p->to.at[i] = rset_join_names(p->prefix, p->from.at[i] + from)) == NULL)
            return no_memory(local, p->err);
    return RSET_OK;
}

/* Before any of them is made (N1). */
static rset_status
note_names(const putting *p)
{
    const char *const data[] = {p->data};
    rset_status       st = rset_names_note(p->local->dir, p->local->prefix, data, 1, p->err);

    return st == RSET_OK ? rset_names_note(p->local->dir, p->prefix, (const char *const *)p->to.at,
                                           p->to.n, p->err)
                         : st;
}

/* What lies beside it is found by it. What was put aside before the data file lost its name stays. */
static rset_status
stand_for_data(const putting *p)
{
    const rset_access access = RSET_ACCESS_OWNER;
    rset_file        *file = NULL;
    rset_status       st;

    if (rset_dir_has_file(p->local->dir, p->data))
        return RSET_OK;
    st = rset_file_create(p->local->dir, p->data, &access, &file, p->err);
    return rset_file_close(file, p->err) != RSET_OK && st == RSET_OK ? p->err->status : st;
}

static rset_status
link_all(const putting *p, bool there)
{
    rset_dir   *dir = p->local->dir;
    rset_status st =
        there ? rset_dir_link(dir, p->local->names[0], dir, p->data, p->err) : stand_for_data(p);

    for (size_t i = 0; st == RSET_OK && i < p->from.n; i++)
        st = rset_dir_link(dir, p->from.at[i], dir, p->to.at[i], p->err);
    return st;
}

static rset_status
put(const rset_local *local, rset_name_kind as, uint64_t generation, rset_err *err)
{
    putting     p = {.local = local, .as = as, .err = err};
    bool        there = false;
    struct stat sb;
    rset_status st = rset_dir_find_file(local->dir, local->names[0], &sb, &there, err);

    if (st == RSET_OK)
        st = find_names(&p, generation);
    if (st == RSET_OK && (there || p.from.n > 0)) {
        st = make_names(&p, generation);
        if (st == RSET_OK)
            st = note_names(&p);
        if (st == RSET_OK)
            st = link_all(&p, there);
    }
    rset_names_free(&p.from);
    rset_names_free(&p.to);
    free(p.data);
    free(p.prefix);
    return st;
}

rset_status
rset_newer_put(const rset_local *local, uint64_t generation, rset_err *err)
{
    return put(local, RSET_NAME_NEWER, generation, err);
}

/* The generation that what lies here is of, as far as anything here says so. */
static uint64_t
generation_of(const rset_evidence *ev)
{
    if (ev->has_header)
        return rset_evidence_generation(ev);
    if (ev->undo.there && ev->undo.head.generation != 0)
        return ev->undo.head.generation;
    return ev->mark;
}

rset_status
rset_lost_put(const rset_local *local, uint64_t *generation_out, rset_err *err)
{
    rset_evidence ev = {0};
    rset_status   st = rset_survey_local(local, &ev, err);

    *generation_out = st == RSET_OK ? generation_of(&ev) : 0;
    rset_evidence_free(&ev);
    return *generation_out != 0 ? put(local, RSET_NAME_LOST, *generation_out, err) : st;
}

/* What protects the data file goes after it: without it what is left is taken for lost, and not for whole. */
rset_status
rset_lost_move(const rset_local *local, uint64_t *generation_out, rset_err *err)
{
    rset_status st = rset_lost_put(local, generation_out, err);

    if (st == RSET_OK && *generation_out != 0)
        st = rset_dir_sync(local->dir, err);
    if (st == RSET_OK && *generation_out != 0)
        st = rset_dir_unlink(local->dir, local->names[0], err);
    if (st == RSET_OK && *generation_out != 0)
        st = rset_forget_others(local, NULL, err);
    return st;
}

/* ---- removing ---- */

static rset_status
drop(const rset_local *local, rset_name_kind as, uint64_t generation, rset_err *err)
{
    char       *data = rset_name_of(as, local->prefix, generation);
    rset_status st = data != NULL ? rset_forget_data(local, data, err) : no_memory(local, err);

    free(data);
    return st;
}

rset_status
rset_newer_drop(const rset_local *local, uint64_t generation, rset_err *err)
{
    return drop(local, RSET_NAME_NEWER, generation, err);
}

rset_status
rset_lost_drop(const rset_local *local, uint64_t generation, rset_err *err)
{
    return drop(local, RSET_NAME_LOST, generation, err);
}

/* Is what was put aside as that generation the same file as what has the name, or nothing where that is gone? Then the commit that was
 * to take its place did not come to be. */
static bool
is_left_over(const rset_local *local, uint64_t generation)
{
    char       *data = rset_name_of(RSET_NAME_LOST, local->prefix, generation);
    struct stat aside, now;
    bool        is = false;

    if (data != NULL && local->nfiles > 0 &&
        rset_dir_stat(local->dir, data, &aside, NULL) == RSET_OK)
        is = rset_dir_stat(local->dir, local->names[0], &now, NULL) == RSET_OK
                 ? aside.st_ino == now.st_ino && aside.st_dev == now.st_dev
                 : aside.st_size == 0;
    free(data);
    return is;
}

/* While a commit is prepared, and may be decided on, what it was to take the place of may be all that is left of that. */
static rset_status
part_lost(const rset_local *local, uint64_t current, rset_evidence *ev, rset_err *err)
{
    rset_status st = RSET_OK;
    size_t      n = 0;

    for (size_t i = 0; st == RSET_OK && i < ev->nlost; i++) {
        if (ev->next != 0 || current == 0 || rset_generation_newer(current, ev->lost[i]) ||
            !is_left_over(local, ev->lost[i]))
            ev->lost[n++] = ev->lost[i];
        else
            st = rset_lost_drop(local, ev->lost[i], err);
    }
    if (st == RSET_OK)
        ev->nlost = n;
    return st;
}

rset_status
rset_newer_part(const rset_local *local, uint64_t current, rset_evidence *ev, rset_err *err)
{
    rset_status st = part_lost(local, current, ev, err);
    size_t      n = 0;

    for (size_t i = 0; st == RSET_OK && i < ev->nnewer; i++) {
        if (current == 0 || rset_generation_newer(current, ev->newer[i]))
            ev->newer[n++] = ev->newer[i];
        else
            st = rset_newer_drop(local, ev->newer[i], err);
    }
    if (st == RSET_OK)
        ev->nnewer = n;
    return st;
}

static rset_status
forget_all(const rset_local *local, rset_name_kind as, rset_err *err)
{
    rset_names  names;
    rset_name   parsed;
    uint64_t    generation;
    rset_status st = rset_names_find(local->dir, local->prefix, NULL, &names, err);

    for (size_t i = 0; st == RSET_OK && i < names.n; i++)
        if (rset_name_classify(names.at[i], local->prefix, &parsed, &generation) == as)
            st = drop(local, as, generation, err);
    rset_names_free(&names);
    return st;
}

rset_status
rset_newer_forget(const rset_local *local, rset_err *err)
{
    return forget_all(local, RSET_NAME_NEWER, err);
}

rset_status
rset_lost_forget(const rset_local *local, rset_err *err)
{
    return forget_all(local, RSET_NAME_LOST, err);
}
