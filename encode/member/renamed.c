/* renamed.c: see renamed.h. */
#include "renamed.h"

#include "commit.h"

#include <stdlib.h>
#include <string.h>

/* ---- finding ---- */

/* Prefixes of other protected files in the directory, as their names tell them. */
typedef struct prefixes {
    const char *own;
    char      **at;
    size_t      n, room;
    rset_err   *err;
    rset_status st;
} prefixes;

static bool
is_listed(const prefixes *p, const char *prefix)
{
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->at[i], prefix) == 0)
            return true;
    return strcmp(prefix, p->own) == 0;
}

/* What protects a generation that is kept says nothing of other files. */
static bool
is_of_older(char *prefix)
{
    char *end = prefix + strlen(prefix) - 1;
    bool  is;

    *end = '\0';
    is = rset_name_kept(prefix) != 0;
    *end = '.';
    return is;
}

static bool
see(const char *name, void *arg)
{
    prefixes *p = arg;
    char     *prefix = NULL;
    bool      ours;

    p->st = rset_name_seen(name, &ours, &prefix, p->err);
    if (p->st == RSET_OK && prefix != NULL && !is_of_older(prefix) && !is_listed(p, prefix)) {
        if (p->n == p->room) {
            const size_t room = 2 * p->room + 8;
            char       **grown = realloc(p->at, room * sizeof *grown);

            if (grown == NULL)
                p->st = rset_fail(p->err, RSET_NOMEM, "no memory for names in a directory");
            p->at = grown != NULL ? grown : p->at;
            p->room = grown != NULL ? room : p->room;
        }
        if (p->n < p->room) {
            p->at[p->n++] = prefix;
            prefix = NULL;
        }
    }
    free(prefix);
    return p->st == RSET_OK;
}

/* May something else record the data file than what has its name? */
static bool
may_be_renamed(const rset_local *local, const rset_evidence *ev)
{
    if (local->dir == NULL || local->nfiles != 1 || local->shadow != NULL || ev->placeholder ||
        ev->undo.there || ev->undo.rotten || ev->nshadows > 0 || ev->next_name != NULL)
        return false;
    if (ev->has_header && (ev->mark == 0 || ev->mark == rset_evidence_generation(ev)))
        return false;
    return rset_dir_has_file(local->dir, local->names[0]);
}

/* Has the file of this prefix no place any more? Else what is there under it is its own. */
static bool
is_left_behind(const rset_local *local, const char *prefix)
{
    char      *base = strndup(prefix, strlen(prefix) - 1);
    const bool gone = base != NULL && !rset_dir_has_file(local->dir, base);

    free(base);
    return gone;
}

/* Nothing is to be finished or rolled back. */
static bool
is_settled(const rset_evidence *found)
{
    return found->has_header && !found->is_void && found->over_name == NULL &&
           found->next_name == NULL && found->nshadows == 0 && !found->undo.there &&
           !found->undo.rotten && found->header.infos[0].nfiles == 1 &&
           found->header.infos[0].files[0].has_sums;
}

static rset_status
records(const rset_local *local, const rset_evidence *ev, const rset_evidence *found,
        bool *does_out, rset_err *err)
{
    const rset_info *info = &found->header.infos[0];

    *does_out = false;
    if (!is_settled(found) || (ev->mark != 0 && ev->mark != info->desc.generation))
        return RSET_OK;
    return rset_is_as_recorded(local, info, does_out, err);
}

/* What lies under this prefix, if that records the data file; *does_out says so. */
static rset_status
look_at(const rset_local *local, const rset_evidence *ev, const char *prefix, rset_evidence *ev_out,
        bool *does_out, rset_err *err)
{
    rset_evidence found = {0};
    rset_status   st = rset_survey(local->dir, prefix, "", &found, err);

    *does_out = false;
    if (st == RSET_OK)
        st = records(local, ev, &found, does_out, err);
    if (st != RSET_OK || !*does_out) {
        rset_evidence_free(&found);
        return st;
    }
    *ev_out = found;
    ev_out->mark = ev->mark;
    return RSET_OK;
}

/* The first that records it: where the file names no generation, and several record this content, any of them does. */
static rset_status
choose(const rset_local *local, const rset_evidence *ev, prefixes *p, char **prefix_out,
       rset_evidence *ev_out, rset_err *err)
{
    rset_status st = RSET_OK;
    bool        does = false;

    for (size_t i = 0; st == RSET_OK && !does && i < p->n; i++) {
        if (is_left_behind(local, p->at[i]))
            st = look_at(local, ev, p->at[i], ev_out, &does, err);
        if (does) {
            *prefix_out = p->at[i];
            p->at[i] = NULL;
        }
    }
    return st;
}

rset_status
rset_renamed_find(const rset_local *local, const rset_evidence *ev, char **prefix_out,
                  rset_evidence *ev_out, rset_err *err)
{
    prefixes    p = {.own = local->prefix, .err = err};
    rset_status st = RSET_OK;

    *prefix_out = NULL;
    if (!may_be_renamed(local, ev))
        return RSET_OK;
    st = rset_dir_list(local->dir, see, &p, err);
    if (p.st != RSET_OK)
        st = p.st;
    if (st == RSET_OK)
        st = choose(local, ev, &p, prefix_out, ev_out, err);
    for (size_t i = 0; i < p.n; i++)
        free(p.at[i]);
    free(p.at);
    return st;
}

/* ---- adopting ---- */

/* The redundancy file last: without it under the new name, it is found under the old one. */
static rset_status
take_over(const rset_local *local, const char *old_name, const char *name, const char *old_desc,
          const char *desc, rset_err *err)
{
    const char *const names[] = {name, desc};
    rset_status       st = rset_commit_forget(local, NULL, NULL, err);

    if (st == RSET_OK)
        st = rset_names_note(local->dir, local->prefix, names, 2, err);
    if (st == RSET_OK && rset_dir_has_file(local->dir, old_desc))
        st = rset_dir_rename(local->dir, old_desc, desc, err);
    if (st == RSET_OK)
        st = rset_dir_rename(local->dir, old_name, name, err);
    return st == RSET_OK ? rset_dir_sync(local->dir, err) : st;
}

rset_status
rset_renamed_adopt(const rset_local *local, const char *prefix, const rset_evidence *ev,
                   rset_err *err)
{
    const rset_desc *d = &ev->header.infos[0].desc;
    const rset_local old = {.dir = local->dir, .prefix = prefix};
    char            *name = rset_format_redundancy_name(local->prefix, d);
    char            *desc = rset_format_desc_name(local->prefix, d->rank);
    char            *old_desc = rset_format_desc_name(prefix, d->rank);
    rset_status      st;

    if (name == NULL || desc == NULL || old_desc == NULL)
        st = rset_fail(err, RSET_NOMEM, "%s: no memory for its new name", rset_local_name(local));
    else
        st = take_over(local, ev->name, name, old_desc, desc, err);
    if (st == RSET_OK)
        st = rset_commit_forget(&old, NULL, NULL, err);
    free(name);
    free(desc);
    free(old_desc);
    return st;
}
