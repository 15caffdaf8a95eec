/* commit.c: see commit.h. */
#include "commit.h"

#include "forget.h"
#include "member/delta.h"
#include "member/journal.h"
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
    return st == RSET_OK || st == RSET_ABSENT ? st : rset_fail_as(err, &own);
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
    st = name != NULL ? rset_forget_others(local, &stays, err) : no_memory(local, err);
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
        return rset_fail_as(err, &own);
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
