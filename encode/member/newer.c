/* newer.c: see newer.h. */
#include "newer.h"

#include "commit.h"
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
    char             *data, *prefix; /* owned */
    rset_names        from;          /* what lies beside the data file */
    rset_names        to;            /* the same names with that prefix, in the same order */
    rset_err         *err;
} putting;

/* Other generations have names of their own already. */
static bool
goes_with_it(const char *name, const char *prefix)
{
    rset_name            parsed;
    uint64_t             generation;
    const rset_name_kind kind = rset_name_classify(name, prefix, &parsed, &generation);

    return kind != RSET_NAME_KEPT && kind != RSET_NAME_BACK && kind != RSET_NAME_NEWER;
}

static rset_status
find_names(putting *p)
{
    const rset_local *local = p->local;
    rset_names       *from = &p->from;
    rset_status st = rset_names_find(local->dir, local->prefix, local->names[0], from, p->err);
    size_t      n = 0;

    for (size_t i = 0; i < from->n; i++)
        if (goes_with_it(from->at[i], local->prefix))
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

    p->data = rset_newer_name(local->prefix, generation);
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

/* What lies beside it is found by it. */
static rset_status
stand_for_data(const putting *p)
{
    const rset_access access = RSET_ACCESS_OWNER;
    rset_file        *file = NULL;
    rset_status       st = rset_file_create(p->local->dir, p->data, &access, &file, p->err);

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

rset_status
rset_newer_put(const rset_local *local, uint64_t generation, rset_err *err)
{
    putting     p = {.local = local, .err = err};
    bool        there = false;
    struct stat sb;
    rset_status st = rset_dir_find_file(local->dir, local->names[0], &sb, &there, err);

    if (st == RSET_OK)
        st = find_names(&p);
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

/* ---- removing ---- */

rset_status
rset_newer_drop(const rset_local *local, uint64_t generation, rset_err *err)
{
    char       *data = rset_newer_name(local->prefix, generation);
    rset_status st = data != NULL ? rset_commit_remove(local, data, err) : no_memory(local, err);

    free(data);
    return st;
}

rset_status
rset_newer_part(const rset_local *local, uint64_t current, rset_evidence *ev, rset_err *err)
{
    rset_status st = RSET_OK;
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

rset_status
rset_newer_forget(const rset_local *local, rset_err *err)
{
    rset_names  names;
    rset_name   parsed;
    uint64_t    generation;
    rset_status st = rset_names_find(local->dir, local->prefix, NULL, &names, err);

    for (size_t i = 0; st == RSET_OK && i < names.n; i++)
        if (rset_name_classify(names.at[i], local->prefix, &parsed, &generation) == RSET_NAME_NEWER)
            st = rset_newer_drop(local, generation, err);
    rset_names_free(&names);
    return st;
}
