/* session_root.c: files of one rank (root=): protected by their writer alone, opened by all. See session_internal.h. */
#include "moment.h"
#include "ours.h"
#include "pending.h"
#include "replicas/replicas.h"
#include "session_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

/* Seconds since 1970 as text. */
static void
show_time(uint64_t when, char buf[32])
{
    const time_t t = (time_t)when;
    struct tm    tm;

    buf[0] = '\0';
    if (when != 0 && gmtime_r(&t, &tm) != NULL)
        (void)strftime(buf, 32, "%Y-%m-%d %H:%M:%S", &tm);
}

static void
tell_aside(rset_session *session, const rset_replica_outcome *out)
{
    char then[32], now[32];

    show_time(out->aside_time, then);
    show_time(out->time, now);
    snprintf(session->tell.note, sizeof session->tell.note,
             "%.500s: two were written apart, and only clocks say which is newer: that of %s UTC, "
             "on %.64s, was taken; that of %s UTC, on %.64s, was put aside there: if that is "
             "wanted, h5redset restore --generation=%016" PRIx64
             " makes it the newest again, h5redset drop removes it",
             session->at.path, now, out->from, then, session->team->host, out->aside);
}

static void
tell_changed(rset_session *session, const rset_replica_outcome *out)
{
    rset_altered altered = out->altered;
    char         how[576];

    altered.own = rset_session_is_ours(session);
    rset_put_aside_say(&altered, session->at.base, out->changed, how, sizeof how);
    snprintf(session->tell.note, sizeof session->tell.note, "%s: %s (copied from %.64s to %.64s)",
             session->at.path, how, out->from, session->team->host);
}

static void
tell_outcome(rset_session *session, const rset_replica_outcome *out)
{
    if (out->from[0] != '\0' && out->changed != 0)
        tell_changed(session, out);
    else if (out->from[0] != '\0' && out->aside != 0)
        tell_aside(session, out);
    else if (out->from[0] != '\0')
        snprintf(session->tell.note, sizeof session->tell.note,
                 "%s: was missing, outdated or damaged here, and was copied from %s",
                 session->at.path, out->from);
    rset_session_count(session, out->from[0] != '\0' ? RSET_COUNT_REBUILT : RSET_COUNT_VERIFIED);
}

/* What this process has written is of another generation than it knew. */
static void
follow(const rset_session *session, uint64_t generation)
{
    rset_ours_note(generation);
    if (session->others != NULL)
        rset_pending_note(session->others, &session->config, session->at.path, generation);
}

static rset_replica_args
as_args(rset_session *session, rset_status before)
{
    const rset_team *team = session->team;

    return (rset_replica_args){.world = team->comm,
                               .local = &session->at.local,
                               .evidence = &session->at.evidence,
                               .host = team->host,
                               .before = before,
                               .readonly = rset_session_readonly(session),
                               .tidy = session->how.mode != RSET_OPEN_READ,
                               .written = rset_session_is_ours(session)
                                              ? rset_evidence_generation(&session->at.evidence)
                                              : 0,
                               .keep = rset_session_is_older(session) ? 0 : session->config.keep,
                               .keep_changed = session->config.keep_changed};
}

/* Of an older one that is taken instead there was a sign. */
static rset_status
none_there(const rset_session *session, rset_did_root *did, rset_err *err)
{
    did->gone = true;
    return rset_fail(err, RSET_LOST, "%s: is lost on all ranks", session->at.path);
}

rset_status
rset_session_recover_root(rset_session *session, rset_status before, rset_did_root *did,
                          rset_err *err)
{
    const bool by_content = session->older.back > 0 || session->config.verify == RSET_VERIFY_OPEN ||
                            session->config.verify == RSET_VERIFY_ALL;
    rset_replica_args    args = as_args(session, before);
    rset_replica_outcome out;
    rset_status          st;

    args.content = by_content ? RSET_CONTENT_ALL : RSET_CONTENT_NONE;
    st = rset_replica_open(&args, &out, err);
    *did = (rset_did_root){
        .acted = out.acted, .replaced = out.replaced, .gone = out.gone, .verified = out.verified};
    if (st == RSET_ABSENT && out.never && session->older.back > 0)
        return none_there(session, did, err);
    if (st == RSET_ABSENT && out.never && session->how.found == RSET_FOUND) {
        *err = RSET_ERR_NONE;
        did->acted = false;
        return RSET_OK;
    }
    if (st != RSET_OK)
        return st;
    session->basis.content = by_content ? RSET_CONTENT_IS_VERIFIED : RSET_CONTENT_IS_PROTECTED;
    rset_moment_heard_generation(out.generation);
    if (out.renewed)
        follow(session, out.generation);
    tell_outcome(session, &out);
    return RSET_OK;
}

rset_status
rset_session_restore_root(rset_session *session, const rset_agreed *a, const rset_local *kept,
                          rset_status before, rset_err *err)
{
    const rset_replica_args args = as_args(session, before);
    rset_stamp_text         stamp;
    rset_replica_older      older = {.kept = kept,
                                     .newest = session->older.generations.at[0],
                                     .stamp = &stamp,
                                     .generation = rset_session_next_generation(session, a)};
    rset_status             st;

    rset_stamp_now(session->config.job, session->change.label, &stamp);
    st = rset_replica_restore(&args, &older, err);
    if (st == RSET_OK) {
        session->basis.generation = older.generation;
        session->basis.content = RSET_CONTENT_IS_VERIFIED;
    }
    return st;
}

rset_status
rset_session_end_root(rset_session *session, rset_status st, rset_err *err)
{
    const bool     absent = session->basis.company == RSET_COMPANY_ABSENT;
    const bool     alone = absent || session->team == NULL; /* others were not asked */
    const rset_err why = *err;

    if (!absent || rset_session_is_ours(session))
        session->basis.company = RSET_COMPANY_NONE; /* nobody comes to close it */
    if (session->team != NULL)
        rset_session_be_alone(session);
    if (st == RSET_OK || !alone)
        return st;
    *err = RSET_ERR_NONE;
    return rset_fail(err, st == RSET_ABSENT ? RSET_LOST : st,
                     "%.900s; replicas may lie on other nodes: open it with all ranks", why.text);
}
