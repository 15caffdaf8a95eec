/* rebuild_own.c: what is bad of a member's own data and redundancy. See rebuild_internal.h. */
#include "rebuild_internal.h"

/* Are this member's files there? Of others, what cannot be looked at can be done without. */
static rset_status
look_for_files(const rset_repair *rep, bool *there_out, rset_err *err)
{
    rset_err    own = RSET_ERR_NONE;
    rset_status st;

    *there_out = false;
    if (rep->local->dir == NULL)
        return RSET_OK;
    st = rset_local_there(rep->local, there_out, &own);
    return st == RSET_OK || !rep->writable ? RSET_OK : rset_fail_as(err, &own);
}

/* Does the data file say itself that it is of another generation? */
static bool
is_contradicted(const rset_repair *rep)
{
    return rep->generation != 0 && rep->evidence->mark != 0 &&
           rep->evidence->mark != rep->generation;
}

/* The old content of a file that was changed is what its undo journal leads back to; unless it is as recorded itself. */
static rset_status
look_back(rset_repair *rep, rset_damage *found, rset_err *err)
{
    const rset_info *info = rep->header.infos;

    if (info->nfiles != 1 ||
        !rset_undo_leads_to(&rep->evidence->undo, rep->generation, info->files[0].attrs.size))
        return RSET_OK;
    rep->source.undo = &rep->evidence->undo;
    rep->undo = true;
    return rset_verify_data(&rep->source, info, true, found, err);
}

/* Was it changed by another program, and not by the disk? Of another generation, or changed through this driver, it is neither. */
static void
look_who_wrote_it(rset_repair *rep)
{
    const bool of_it = rep->evidence->has_header
                           ? rset_evidence_generation(rep->evidence) == rep->generation
                           : !rep->outdated && !is_contradicted(rep);

    if (rep->damaged && rep->writable && !rep->changed && of_it)
        (void)rset_is_altered(rep->local, rep->evidence, &rep->header.infos[0], &rep->altered);
}

/* Is its content known, as compared with its own record of the generation? */
static bool
knows_data(const rset_repair *rep)
{
    return rep->verified != NULL && rep->verified->data && !rep->changed &&
           rset_evidence_generation(rep->evidence) == rep->generation;
}

/* Own data against the record. */
static rset_status
compare_data(rset_repair *rep, bool content, rset_damage *out, rset_err *err)
{
    if (!knows_data(rep))
        return rset_verify_data(rep->local, &rep->header.infos[0], content, out, err);
    *out = rep->verified->of_data;
    rep->verified->of_data = (rset_damage){0};
    rep->verified->data = false;
    return RSET_OK;
}

static rset_status
verify_data(rset_repair *rep, rset_health *h, rset_err *err)
{
    const bool  recorded = rset_evidence_generation(rep->evidence) == rep->generation;
    const bool  content = rep->changed || !recorded || rep->content != RSET_CONTENT_NONE;
    rset_damage found = {0};
    rset_status st = compare_data(rep, content && (!rep->optimistic || rep->changed), &found, err);

    if (st == RSET_OK && found.any && rep->changed)
        st = look_back(rep, &found, err);
    rep->data_out = rep->damaged = found.any;
    rep->undo = rep->undo && !found.any;
    rset_damage_take(&found, &h->data, &h->unread);
    if (st == RSET_OK)
        look_who_wrote_it(rep);
    return st;
}

static rset_status
verify_payload(rset_repair *rep, rset_health *h, rset_err *err)
{
    rset_damage found = {0};
    rset_status st = RSET_OK;

    if (rep->verified == NULL || !rep->verified->payload) {
        st = rset_verify_payload(rep->local, rep->evidence, !rep->optimistic, &found, err);
    } else {
        found = rep->verified->of_payload;
        rep->verified->of_payload = (rset_damage){0};
        rep->verified->payload = false;
    }
    rset_damage_take(&found, &h->payload, &h->unread);
    return st;
}

/* Is there a data file that nothing says is of another generation? Asked where there is nothing to compare with, or nothing to compare. */
static rset_status
look_without_record(const rset_repair *rep, bool *there_out, rset_err *err)
{
    const rset_status st = look_for_files(rep, there_out, err);

    *there_out = *there_out && !rep->evidence->placeholder && !is_contradicted(rep);
    return st;
}

/* A piece that could not be compared is judged by what else is known of it. */
static rset_status
judge_own(rset_repair *rep, const rset_pieces_found *found, rset_health *h, rset_err *err)
{
    rset_pieces_are   are;
    const rset_status st = rset_judge_pieces(found, h, &are, err);

    if (!rep->writable)
        return st;
    rep->damaged = rep->damaged || are.damaged;
    rep->unverified = are.unverified;
    rep->flags |= are.lacks;
    return st;
}

rset_status
rset_repair_verify_own(rset_repair *rep, bool has, rset_err *err)
{
    rset_health      *h = &rep->health[rep->set->rank];
    rset_pieces_found found = {.known = rep->header.infos[0].desc.scheme != NULL, .has = has};
    rset_status       st;

    h->unread = rep->evidence->unread;
    found.compared = found.known && rep->local->dir != NULL;
    st = found.compared ? verify_data(rep, h, err) : look_without_record(rep, &found.there, err);
    if (st == RSET_OK && has)
        st = verify_payload(rep, h, err);
    rep->redundancy_out = !has || h->payload.n > 0;
    found.records = rep->has_infos;
    if (st == RSET_OK)
        st = judge_own(rep, &found, h, err);
    if (rep->writable && rep->redundancy_out && (!rep->has_infos || rep->cramped))
        rep->flags |= RSET_LACKS_PAYLOAD;
    h->want_data = rep->writable && found.known;
    h->want_payload = rep->writable;
    rep->desc_out = rep->writable && !rep->cramped && !rep->redundancy_out &&
                    !rset_evidence_described(rep->evidence);
    rep->bare = rep->redundancy_out || rep->desc_out;
    return st;
}
