/* commit.c: see commit.h. */
#include "commit.h"

#include "delta.h"
#include "journal.h"
#include "names/claim.h"
#include "names/names.h"
#include "shadow.h"
#include "siblings.h"

#include <stdlib.h>
#include <string.h>

static rset_status
no_memory(const rset_local *local, rset_err *err)
{
    return rset_fail(err, RSET_NOMEM, "%s: no memory to finish its commit", rset_local_name(local));
}

/* ---- prepared -> published ---- */

/* `suffix`: what the published name ends in. RSET_ABSENT, without a message: it was published before, or is gone. */
static rset_status
rename_new(const rset_local *local, const char *name, const char *suffix, rset_err *err)
{
    rset_err    own = RSET_ERR_NONE;
    char       *temp = rset_join_names(name, RSET_SUFFIX_NEW), *to = rset_join_names(name, suffix);
    rset_status st = temp != NULL && to != NULL ? rset_dir_rename(local->dir, temp, to, &own)
                                                : no_memory(local, &own);

    free(temp);
    free(to);
    return st == RSET_OK || st == RSET_ABSENT ? st : rset_fail(err, st, "%s", own.text);
}

/* The redundancy file that was prepared is not there. OK: somebody else has published it. RSET_IO: it was removed, and the data must
 * not follow. */
static rset_status
is_published(const rset_local *local, const rset_commit *commit, rset_err *err)
{
    rset_evidence ev = {0};
    rset_status   st = rset_survey_local(local, &ev, err);

    if (st == RSET_OK && rset_evidence_generation(&ev) != commit->generation)
        st = rset_fail(err, RSET_IO,
                       "%s: the redundancy file that was prepared is gone before it was published; "
                       "has another program removed it? What was protected last stays",
                       rset_local_name(local));
    rset_evidence_free(&ev);
    return st;
}

rset_status
rset_commit_publish(const rset_local *local, const rset_commit *commit, rset_err *err)
{
    rset_status st;

    if (commit->update != NULL)
        return rset_delta_decide(local->dir, commit->name, err);
    st = rename_new(local, commit->name, commit->next ? RSET_SUFFIX_VOID : "", err);
    return st == RSET_ABSENT ? is_published(local, commit, err) : st;
}

/* ---- published -> finished ---- */

/* Gives the shadow file of that generation the data file's name, durably. */
static rset_status
publish_shadow(const rset_local *local, uint64_t generation, rset_err *err)
{
    char       *name = rset_name_of(RSET_NAME_SHADOW, local->prefix, generation);
    rset_status st = name != NULL ? rset_dir_rename(local->dir, name, local->names[0], err)
                                  : no_memory(local, err);

    free(name);
    return st == RSET_OK ? rset_dir_sync(local->dir, err) : st;
}

/* From now on the journal that leads back to that generation says what state the file is in. */
static rset_status
publish_journal(const rset_local *local, uint64_t generation, rset_err *err)
{
    rset_undo   next;
    rset_status st;

    if (local->next != NULL) {
        rset_journal_publish(local->next);
        return RSET_OK;
    }
    st = rset_undo_load(local->dir, local->prefix, generation, &next, err);
    if (st != RSET_OK)
        return st;
    st = rset_undo_succeed(local->dir, local->prefix, &next, err);
    rset_undo_free(&next);
    return st;
}

/* The redundancy file that stays is void where the file goes on changing. */
static rset_status
forget_older(const rset_local *local, const rset_commit *commit, rset_err *err)
{
    rset_commit stays = *commit;
    char       *name = rset_join_names(commit->name, commit->next ? RSET_SUFFIX_VOID : "");
    rset_status st;

    stays.name = name;
    st = name != NULL ? rset_commit_forget(local, &stays, err) : no_memory(local, err);
    free(name);
    return st;
}

rset_status
rset_commit_finish(const rset_local *local, const rset_commit *commit, rset_err *err)
{
    bool        in_place = true;
    rset_status st = rename_new(local, commit->desc_name, "", err);

    if (st == RSET_ABSENT) /* it is written anew where the file is rebuilt */
        st = RSET_OK;
    if (st == RSET_OK && commit->update != NULL)
        st = rset_delta_finish(local->dir, commit->name, commit->update, commit->next, &in_place,
                               err);
    /* Redundancy first: it says which content the data file must have, also after a power failure. */
    if (st == RSET_OK && commit->shadow)
        st = rset_dir_sync(local->dir, err);
    if (st == RSET_OK && commit->shadow)
        st = publish_shadow(local, commit->generation, err);
    else if (st == RSET_OK)
        st = rset_dir_sync(local->dir, err);
    /* An update that could not be put into its file, because that is gone, still says what it had. */
    if (st == RSET_OK && in_place)
        st = forget_older(local, commit, err);
    return st == RSET_OK && commit->next ? publish_journal(local, commit->generation, err) : st;
}

/* What is published has to be seen before anything else is removed: a disk that fails may have hidden it. */
static rset_status
see_published(const rset_local *local, uint64_t generation, rset_evidence *ev, rset_err *err)
{
    rset_status st = rset_survey_local(local, ev, err);

    if (st == RSET_OK && rset_evidence_generation(ev) != generation)
        st = rset_fail(err, RSET_IO,
                       "%s: the redundancy file that is being published cannot be read; check the "
                       "storage, and open again",
                       rset_local_name(local));
    return st;
}

/* The file that the others are found by: one that is not the first has no redundancy of its own. */
static void
mark_data(const rset_local *local, uint64_t generation)
{
    rset_file *file = NULL;

    if (local->nfiles > 0 &&
        rset_file_open_update(local->dir, local->names[0], &file, NULL) == RSET_OK)
        rset_file_set_mark(file, generation);
    rset_file_close(file, NULL);
}

/* The program was writing on if the commit has a next journal. */
static rset_status
has_next(const rset_local *local, uint64_t generation, bool *has_out, rset_err *err)
{
    rset_undo   next;
    rset_status st = rset_undo_load(local->dir, local->prefix, generation, &next, err);

    *has_out = st == RSET_OK && (rset_undo_is_next(&next) || next.rotten);
    if (st == RSET_OK)
        rset_undo_free(&next);
    return st;
}

static rset_status
complete(const rset_local *local, const rset_commit *commit, rset_evidence *ev, rset_err *err)
{
    rset_commit then = *commit;
    rset_status st = has_next(local, commit->generation, &then.next, err);

    if (st == RSET_OK && rset_evidence_generation(ev) != commit->generation) {
        st = ev->next_updates ? rset_delta_decide(local->dir, commit->name, err)
                              : rset_commit_publish(local, &then, err);
        if (st == RSET_OK)
            st = rset_dir_sync(local->dir, err);
        if (st == RSET_OK)
            st = see_published(local, commit->generation, ev, err);
    }
    then.update = ev->over_name != NULL ? &ev->over : NULL;
    then.shadow = rset_evidence_has_shadow(ev, commit->generation);
    if (st == RSET_OK && ev->has_header)
        st = rset_siblings_publish(local->dir, ev->header.infos[0].together, commit->generation,
                                   err);
    if (st == RSET_OK)
        st = rset_commit_finish(local, &then, err);
    if (st == RSET_OK && commit->generation != 0)
        mark_data(local, commit->generation);
    return st;
}

rset_status
rset_commit_complete(const rset_local *local, uint64_t generation, rset_evidence *ev, rset_err *err)
{
    const bool  prepared = ev->next == generation && rset_evidence_generation(ev) != generation;
    rset_name   parsed;
    char       *name = rset_bare_name(prepared ? ev->next_name : ev->name), *desc = NULL;
    rset_status st = RSET_OK;

    if (name != NULL && rset_format_parse_name(name, &parsed))
        desc = rset_format_desc_name(local->prefix, parsed.rank);
    if (desc == NULL)
        st = no_memory(local, err);
    if (st == RSET_OK)
        st = complete(local,
                      &(rset_commit){.generation = generation, .name = name, .desc_name = desc}, ev,
                      err);
    free(name);
    free(desc);
    if (st == RSET_OK)
        st = rset_survey_local(local, ev, err);
    /* What a program had begun to change is the file of this commit now, if it has not gone on since. */
    if (st == RSET_OK && ev->is_void && rset_evidence_generation(ev) == generation &&
        !rset_undo_is_of(&ev->undo, generation))
        st = rset_set_void(local->dir, ev, false, err);
    return st;
}

/* Is that generation prepared, or published and not finished? */
static bool
is_left(const rset_evidence *ev, uint64_t generation)
{
    return rset_evidence_generation(ev) == generation ? rset_evidence_committing(ev)
                                                      : ev->next == generation;
}

rset_status
rset_commit_settle(const rset_local *local, uint64_t generation, int seconds, rset_evidence *ev,
                   rset_err *err)
{
    rset_file  *held = NULL;
    rset_err    own = RSET_ERR_NONE;
    rset_status st = rset_claim_to_repair(local->dir, local->prefix, rset_local_name(local),
                                          seconds, &held, &own);

    if (st == RSET_BUSY || st == RSET_NOMEM)
        return rset_fail(err, st, "%s", own.text);
    st = rset_survey_local(local, ev, err);
    if (st == RSET_OK && is_left(ev, generation))
        st = rset_commit_complete(local, generation, ev, err);
    rset_claim_end(held);
    return st;
}

/* ---- discarding ---- */

rset_status
rset_commit_discard(const rset_local *local, const rset_evidence *ev, rset_err *err)
{
    rset_status st;

    if (ev->next_name == NULL)
        return RSET_OK;
    st = rset_siblings_discard(local->dir, ev->next_together, ev->next, err);
    if (st == RSET_OK)
        st = rset_dir_unlink(local->dir, ev->next_name, err);
    return st == RSET_OK ? rset_dir_sync(local->dir, err) : st;
}

/* ---- removing ---- */

static bool
is_called(const char *name, const char *other)
{
    return other != NULL && strcmp(name, other) == 0;
}

/* The redundancy file that is kept is marked void as long as there is no other one of its name. */
static bool
is_void_of(const rset_local *local, const char *name, const char *keep)
{
    const size_t n = keep != NULL ? strlen(keep) : 0;

    return n > 0 && strncmp(name, keep, n) == 0 && strcmp(name + n, RSET_SUFFIX_VOID) == 0 &&
           !rset_dir_has_file(local->dir, keep);
}

/* Files of generations that are kept or were put aside have their own time to go (kept.h, newer.h); the next journal of the commit
 * is the journal from now on. */
static bool
is_needed(const rset_names *names, const char *name, const rset_commit *stays)
{
    rset_name            parsed;
    uint64_t             generation = 0;
    const rset_name_kind kind = rset_name_classify(name, names->prefix, &parsed, &generation);

    switch (rset_name_role_of(kind)) {
    case RSET_ROLE_BEFORE:
        return rset_names_has_older(names, generation) ||
               (kind == RSET_NAME_UNDO && stays->next && generation == stays->generation);
    case RSET_ROLE_ASIDE: return true;
    default: return false;
    }
}

/* *used_out: a program writes it now, so that it stays. */
static rset_status
forget_one(const rset_local *local, const char *name, bool *used_out, rset_err *err)
{
    rset_name parsed;
    uint64_t  generation = 0;

    *used_out = false;
    switch (rset_name_classify(name, local->prefix, &parsed, &generation)) {
    case RSET_NAME_SHADOW:
        return rset_guarded_remove(local->dir, name, RSET_GUARD_WRITTEN, used_out, err);
    case RSET_NAME_BEGUN:
        return rset_guarded_remove(local->dir, name, RSET_GUARD_CHANGED, used_out, err);
    default: return rset_dir_unlink(local->dir, name, err);
    }
}

/* What a rebuild that was cut short has left of the data files in other directories. They are not listed: the rank that the
 * redundancy in `names` is of tells how it has called them. */
static rset_status
forget_far(const rset_local *local, const rset_names *names, rset_err *err)
{
    rset_status st = RSET_OK;

    for (size_t k = 0; local->dirs != NULL && k < names->n; k++) {
        rset_name  parsed = {.rank = -1};
        uint64_t   ignored;
        const bool told =
            rset_name_classify(names->at[k], local->prefix, &parsed, &ignored) != RSET_NAME_OTHER &&
            parsed.rank >= 0;

        for (int i = 1; told && st == RSET_OK && i < local->nfiles; i++) {
            char *temp = rset_logical_temp_name(local, parsed.rank, i);

            if (temp == NULL)
                st = no_memory(local, err);
            else if (local->dirs[i] != NULL)
                st = rset_dir_unlink(local->dirs[i], temp, err);
            free(temp);
        }
    }
    return st;
}

static bool
is_kept(const rset_local *local, const rset_names *names, const char *name,
        const rset_commit *stays)
{
    return is_called(name, stays->name) || is_called(name, stays->desc_name) ||
           is_called(name, local->shadow) || is_void_of(local, name, stays->name) ||
           is_needed(names, name, stays);
}

rset_status
rset_commit_forget(const rset_local *local, const rset_commit *stays, rset_err *err)
{
    static const rset_commit nothing = {0};
    rset_names               names;
    rset_status              st, first;
    size_t                   kept;

    if (stays != NULL)
        st = rset_names_find(local->dir, local->prefix, NULL, &names, err);
    else
        st = rset_names_find_all(local->dir, local->prefix, NULL, &names, err);
    first = st == RSET_OK ? forget_far(local, &names, err) : st;
    kept = names.nolder;
    if (stays == NULL)
        stays = &nothing;
    for (size_t i = 0; i < names.n; i++) {
        bool stays_there = is_kept(local, &names, names.at[i], stays);

        st = stays_there ? RSET_OK : forget_one(local, names.at[i], &stays_there, err);
        kept += stays_there;
        first = first == RSET_OK ? st : first;
    }
    rset_names_free(&names);
    return first == RSET_OK && kept == 0 ? rset_names_forget(local->dir, local->prefix, err)
                                         : first;
}

rset_status
rset_commit_remove(const rset_local *local, const char *data, rset_err *err)
{
    char       *prefix = rset_join_names(data, ".");
    rset_status st = prefix != NULL ? RSET_OK : no_memory(local, err);

    if (st == RSET_OK)
        st = rset_commit_forget(&(rset_local){.dir = local->dir, .prefix = prefix}, NULL, err);
    if (st == RSET_OK)
        st = rset_dir_unlink(local->dir, data, err);
    free(prefix);
    return st;
}
