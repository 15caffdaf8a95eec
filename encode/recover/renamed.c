/* renamed.c: files that have other names than what protects them: recognised, made one again, and told apart by numbers where
 * records have old names. See recover_internal.h. */
#include "commit/renamed.h"
#include "names/claim.h"
#include "recover_internal.h"
#include "rendezvous/rendezvous.h"

#include <stdlib.h>
#include <string.h>

/* ---- recognised ---- */

rset_status
rset_recovery_recognise(rset_recovery *r)
{
    const rset_recover_args *a = r->args;
    rset_evidence            found = {0};
    rset_status              st;

    if (r->renamed_from != NULL)
        return RSET_OK;
    st = rset_renamed_find(a->local, a->evidence, &r->renamed_from, &found, r->err);
    if (st == RSET_OK && r->renamed_from != NULL) {
        rset_evidence_free(a->evidence);
        *a->evidence = found;
    }
    return st;
}

rset_status
rset_recovery_adopt(rset_recovery *r)
{
    const rset_recover_args *a = r->args;
    rset_status              st = RSET_OK;

    r->adopted = true;
    if (r->renamed_from == NULL)
        return RSET_OK;
    st = rset_renamed_adopt(a->local, r->renamed_from, a->evidence, r->err);
    free(r->renamed_from);
    r->renamed_from = NULL;
    return st == RSET_OK ? rset_survey_local(a->local, a->evidence, r->err) : st;
}

/* ---- by one process ---- */

/* *prefix_out: of the old name; NULL: there is none. */
static rset_status
find_alone(const rset_local *local, const rset_evidence *ev, char **prefix_out,
           rset_evidence *found, rset_err *err)
{
    rset_status st = rset_renamed_find(local, ev, prefix_out, found, err);

    if (*prefix_out != NULL && found->header.infos[0].desc.ranks != 1) {
        free(*prefix_out);
        *prefix_out = NULL;
        rset_evidence_free(found);
    }
    return st;
}

/* The old name is looked for again, now that the claim keeps other processes from changing it, and adopted. */
static rset_status
adopt_claimed(const rset_local *local, rset_evidence *ev, rset_err *err)
{
    char         *prefix = NULL;
    rset_evidence found = {0};
    rset_status   st = rset_survey_local(local, ev, err);

    if (st == RSET_OK)
        st = find_alone(local, ev, &prefix, &found, err);
    if (st == RSET_OK && prefix != NULL)
        st = rset_renamed_adopt(local, prefix, &found, err);
    if (prefix != NULL && rset_survey_local(local, ev, err) != RSET_OK && st == RSET_OK)
        st = err->status;
    rset_evidence_free(&found);
    free(prefix);
    return st;
}

rset_status
rset_adopt_alone(const rset_local *local, rset_evidence *ev, rset_err *err)
{
    char         *prefix = NULL;
    rset_evidence found = {0};
    rset_file    *claim = NULL;
    rset_status   st = RSET_OK;

    if (ev->any)
        st = find_alone(local, ev, &prefix, &found, err);
    if (st == RSET_OK && prefix != NULL)
        st = rset_claim(local->dir, prefix, rset_local_name(local), RSET_CLAIM_ALONE, &claim, err);
    if (st == RSET_OK && claim != NULL)
        st = adopt_claimed(local, ev, err);
    rset_claim_end(claim);
    rset_evidence_free(&found);
    free(prefix);
    return st;
}

/* ---- names ---- */

static bool
same_numbers(const rset_kind *a, const rset_kind *b)
{
    return a->nruns == b->nruns && memcmp(a->runs, b->runs, a->nruns * sizeof a->runs[0]) == 0;
}

rset_name_changes
rset_recovery_own_change(const rset_local *local, const rset_evidence *ev)
{
    const rset_info *info = ev->header.infos;
    rset_kind        old, new;
    uint64_t         old_hash, new_hash;

    if (!ev->has_header || local->nfiles < 1 || info->nfiles < 1)
        return (rset_name_changes){.least_old = UINT64_MAX, .least_new = UINT64_MAX};
    rset_kind_of(info->files[0].path, &old);
    rset_kind_of(local->names[0], &new);
    old_hash = rset_name_hash(old.text);
    new_hash = rset_name_hash(new.text);
    if (rset_name_is_recorded_as(local->names[0], rset_path_base(info->files[0].path)))
        return (rset_name_changes){.kept = 1, .least_old = UINT64_MAX, .least_new = UINT64_MAX};
    return (rset_name_changes){.numbered = same_numbers(&old, &new),
                               .other = !same_numbers(&old, &new),
                               .least_old = old_hash,
                               .most_old = old_hash,
                               .least_new = new_hash,
                               .most_new = new_hash};
}

void
rset_recovery_merge_changes(rset_name_changes *into, const rset_name_changes *other)
{
    into->kept += other->kept;
    into->numbered += other->numbered;
    into->other += other->other;
    if (other->least_old < into->least_old)
        into->least_old = other->least_old;
    if (other->least_new < into->least_new)
        into->least_new = other->least_new;
    if (other->most_old > into->most_old)
        into->most_old = other->most_old;
    if (other->most_new > into->most_new)
        into->most_new = other->most_new;
}

static void
merge_changes(void *into, const void *other)
{
    rset_recovery_merge_changes(into, other);
}

void
rset_recovery_take_changes(rset_recovery *r, const rset_name_changes *all)
{
    r->by_numbers = all->numbered > 0 && all->kept == 0 && all->other == 0 &&
                    all->least_old == all->most_old && all->least_new == all->most_new;
}

rset_status
rset_recovery_agree_on_names(rset_recovery *r, rset_status own)
{
    rset_name_changes    all = rset_recovery_own_change(r->args->local, r->evidence);
    const rset_reduction what = {&all, sizeof all, merge_changes};
    rset_status          st;

    if (r->all.count[RSET_STATE_COMMITTING] == 0)
        return own;
    st = rset_reduce(r->args->world, own, r->args->host, &what, r->err);
    if (st == RSET_OK)
        rset_recovery_take_changes(r, &all);
    return st;
}

uint64_t
rset_recovery_name_hash(const rset_recovery *r, const char *base)
{
    rset_kind kind;

    if (!r->by_numbers)
        return rset_name_hash(base);
    rset_kind_of(base, &kind);
    return rset_crc64(0, kind.runs, kind.nruns * sizeof kind.runs[0]) | 1;
}
