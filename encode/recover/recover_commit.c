/* recover_commit.c: a commit that all ranks had decided on, and that was cut short, goes forward. See
 * recover_internal.h.
 *
 * Each rank publishes with two renames, the redundancy file's and, when the data was written beside the old
 * file, the data file's; before the first of them every rank has all of it complete on disk. So one
 * published redundancy file is the proof that all may go on (P11). */
#include "member/beside.h"
#include "member/delta.h"
#include "recover_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- which generation ---- */

/* Votes for a generation: published headers, and complete unpublished ones when somebody published
 * it: then the commit had been decided by all, and goes forward (P11). */
static int
votes(const muster *m, uint64_t generation)
{
    int published = 0, waiting = 0;

    for (int r = 0; r < m->args->world->size; r++) {
        const card *c = &m->cards[r];

        if (c->has && c->generation == generation)
            published++;
        else if (c->next == generation && generation != 0)
            waiting++;
    }
    return published > 0 ? published + waiting : 0;
}

void
rset_muster_choose(muster *m)
{
    int best = 0;

    for (int r = 0; r < m->args->world->size; r++) {
        const card *c = &m->cards[r];
        int         n = c->has ? votes(m, c->generation) : 0;

        if (n > best ||
            (n > 0 && n == best && rset_generation_newer(c->generation, m->generation))) {
            best = n;
            m->generation = c->generation;
            m->ranks = c->ranks;
        }
    }
}

/* ---- going forward ---- */

/* Publishes the ".new" file of that name, if there is one; `mark`: is put behind the name. */
static rset_status
finish_rename(muster *m, const char *name, const char *mark)
{
    rset_dir   *dir = m->args->local->dir;
    char       *temp = rset_beside_name(name, RSET_SUFFIX_NEW), *to = rset_beside_name(name, mark);
    struct stat sb;
    rset_status st =
        temp != NULL && to != NULL
            ? rset_dir_stat(dir, temp, &sb, NULL)
            : rset_fail(m->err, RSET_NOMEM, "%s: no memory to finish its commit", name);

    if (st == RSET_OK)
        st = rset_dir_rename(dir, temp, to, m->err);
    free(temp);
    free(to);
    return st == RSET_ABSENT ? RSET_OK : st;
}

/* Is the file about to be protected under its own name, where a program has changed it since? */
static bool
changed_since(const muster *m)
{
    return m->closing != NULL && m->closing->beside == NULL;
}

/* Does this rank have the generation complete, and not published? Asked only where there is something to
 * finish: m->generation is not 0. */
static bool
waits(const muster *m)
{
    return m->args->evidence->next == m->generation;
}

/* A new redundancy file, or an update of the one that is there (delta.h); `name` without suffix. */
static rset_status
publish_waiting(muster *m, const char *name)
{
    if (!waits(m))
        return RSET_OK;
    if (strcmp(m->args->evidence->next_name + strlen(name), RSET_SUFFIX_DELTA) == 0)
        return rset_delta_decide(m->args->local->dir, name, m->err);
    return finish_rename(m, name, changed_since(m) ? RSET_SUFFIX_VOID : ""); /* P3 */
}

rset_status
rset_muster_survey(muster *m)
{
    const rset_local *local = m->args->local;

    return rset_survey_again(local->dir, local->prefix, local->nfiles > 0 ? local->names[0] : "",
                             m->args->evidence, m->err);
}

static rset_status
make_names(const muster *m, char **name_out, char **desc_out)
{
    const char *at = waits(m) ? m->args->evidence->next_name : m->args->evidence->name;
    rset_name   parsed;

    *name_out = rset_bare_name(at);
    *desc_out = *name_out != NULL && rset_format_parse_name(*name_out, &parsed)
                    ? rset_format_desc_name(m->args->local->prefix, parsed.rank)
                    : NULL;
    if (*name_out != NULL && *desc_out != NULL)
        return RSET_OK;
    return rset_fail(m->err, RSET_NOMEM, "no memory to finish the commit of %s", at);
}

/* Is anything of the commit of m->generation not done, as this rank's card has it? */
static bool
has_share(const muster *m, const card *c)
{
    bool has = c->has && c->generation == m->generation;

    return (c->next == m->generation && m->generation != 0 && !has) ||
           (has && (c->beside || c->pending));
}

/* What is published has to be seen before anything else is removed: a disk that fails may have hidden it. */
static rset_status
see_published(muster *m)
{
    const rset_evidence *ev = m->args->evidence;
    rset_status          st = rset_muster_survey(m);

    if (st == RSET_OK && (!ev->has_header || ev->header.infos[0].desc.generation != m->generation))
        st = rset_fail(m->err, RSET_IO,
                       "%s: the redundancy file that is being published cannot be read; check the "
                       "storage, and open again",
                       rset_local_name(m->args->local));
    return st;
}

/* An update that could not be put into its file, because that is gone, still says what it had; and what is about to be
 * protected lies beside. */
static rset_status
forget_others(const muster *m, const char *desc)
{
    const rset_local *local = m->args->local;
    const char       *over = m->args->evidence->over_name;

    if (over != NULL || m->closing != NULL)
        return RSET_OK;
    return rset_forget(local->dir, local->prefix, m->args->evidence->name, desc, m->err);
}

/* Not over what is about to be protected, nor that itself. */
static bool
may_take_the_name(const muster *m, const char *at)
{
    return m->closing == NULL || (m->closing->beside != NULL && strcmp(at, RSET_NAME_WAITING) == 0);
}

rset_status
rset_muster_roll_forward(muster *m)
{
    const rset_local *local = m->args->local;
    rset_evidence    *ev = m->args->evidence;
    char             *name = NULL, *desc = NULL;
    const char       *at = NULL;
    rset_status       st;

    if (!has_share(m, &m->cards[m->args->world->rank]))
        return RSET_OK;
    st = make_names(m, &name, &desc);
    if (st == RSET_OK)
        st = publish_waiting(m, name);
    if (st == RSET_OK)
        st = finish_rename(m, desc, "");
    if (st == RSET_OK)
        st = rset_dir_sync(local->dir, m->err);
    if (st == RSET_OK)
        st = see_published(m);
    if (st == RSET_OK)
        st = rset_evidence_finish(local->dir, ev, m->err);
    if (st == RSET_OK && changed_since(m))
        st = rset_set_void(local->dir, ev, true, m->err);
    if (st == RSET_OK)
        st = rset_beside_find(local, ev, &at, m->err);
    if (st == RSET_OK && at != NULL && may_take_the_name(m, at)) {
        st = rset_beside_publish(local, at, m->err);
        m->out->replaced = st == RSET_OK;
    }
    if (st == RSET_OK)
        st = forget_others(m, desc);
    free(name);
    free(desc);
    return st == RSET_OK ? rset_muster_survey(m) : st;
}

rset_status
rset_muster_look_ahead(const muster *m, ahead *out)
{
    const rset_local *local = m->args->local;
    const bool        mine = has_share(m, &m->cards[m->args->world->rank]);
    const char       *at = NULL;
    rset_status       st;

    *out = (ahead){.local = *local};
    st = rset_survey_ahead(local->dir, local->prefix, local->nfiles > 0 ? local->names[0] : "",
                           mine ? m->generation : 0, &out->evidence, m->err);
    if (st == RSET_OK && mine)
        st = rset_beside_find(local, &out->evidence, &at, m->err);
    if (st != RSET_OK || !mine)
        return st;
    out->evidence.beside = out->evidence.waiting = false; /* it has got the name, or was removed */
    if (at == NULL)
        return RSET_OK;
    out->beside = rset_beside_name(local->prefix, at);
    out->local.beside = out->beside;
    return out->beside != NULL ? RSET_OK
                               : rset_fail(m->err, RSET_NOMEM, "%s: no memory", local->prefix);
}

void
rset_muster_ahead_free(ahead *a)
{
    rset_evidence_free(&a->evidence);
    free(a->beside);
}

bool
rset_muster_commit_unfinished(const muster *m)
{
    for (int r = 0; r < m->args->world->size; r++)
        if (has_share(m, &m->cards[r]))
            return true;
    return false;
}

rset_status
rset_finish_commit(const rset_recover_args *args, rset_err *err)
{
    rset_local        names = *args->local;
    rset_recover_args under = *args;
    rset_outcome      ignored = {0};
    muster            m = {.args = &under, .err = err, .out = &ignored, .closing = args->local};
    rset_status       st;

    names.beside = NULL;
    under.local = &names;
    st = rset_muster_gather_cards(&m);
    if (st == RSET_OK) {
        rset_muster_choose(&m);
        if (rset_muster_commit_unfinished(&m))
            st = rset_agree(args->world, rset_muster_roll_forward(&m), args->host, err);
    }
    free(m.cards);
    return st;
}
