/* session_whole.c: files of which nothing has to be recovered: what is verified of them, and who says so. See session_internal.h. */
#include "scrub.h"
#include "session_internal.h"

rset_status
rset_session_verify_when_read(rset_session *session, rset_err *err)
{
    if (session->config.verify != RSET_VERIFY_READ || session->at.evidence.is_void)
        return RSET_OK;
    return rset_session_verify_later(session, err);
}

rset_content
rset_session_content_wanted(const rset_session *session, bool reads)
{
    if (session->older.back > 0 && !reads)
        return RSET_CONTENT_ALL;
    switch (session->config.verify) {
    case RSET_VERIFY_OPEN: return session->team->alone ? RSET_CONTENT_ALL : RSET_CONTENT_DATA;
    case RSET_VERIFY_ALL: return RSET_CONTENT_ALL;
    default: return RSET_CONTENT_NONE;
    }
}

void
rset_session_verify_behind(rset_session *session, const rset_outcome *outcome)
{
    if (outcome->unread && session->config.verify == RSET_VERIFY_OPEN)
        rset_scrub_begin(session->at.dir_path, session->at.base, outcome->generation);
    else
        rset_scrub_forget(session->at.dir_path, session->at.base);
}

/* ---- by itself ---- */

bool
rset_session_seems_whole(const rset_session *session, rset_status own)
{
    const rset_evidence *ev = &session->at.evidence;

    return own == RSET_OK && session->how.found == RSET_FOUND && !rset_session_is_root(session) &&
           ev->has_header && !ev->is_void && !ev->undo.there && ev->next_name == NULL &&
           ev->nlost == 0 && !rset_session_is_older(session) &&
           !rset_session_is_distrusted(session);
}

/* Is all of this file as it was protected, by what this rank sees? `content`: so much of it was verified then. */
static bool
is_whole(rset_session *session, rset_content content)
{
    const rset_team *team = session->team;
    rset_err         ignored = RSET_ERR_NONE;

    return rset_stands_alone(&session->at.local, &session->at.evidence, content, team->comm->rank,
                             team->ranks) &&
           rset_session_verify_when_read(session, &ignored) == RSET_OK;
}

void
rset_session_take_whole(rset_session *session, rset_content content)
{
    const rset_outcome whole = {.protected_ = true,
                                .unread = content != RSET_CONTENT_ALL,
                                .generation = rset_evidence_generation(&session->at.evidence)};

    session->basis.generation = whole.generation;
    session->basis.content =
        content != RSET_CONTENT_NONE ? RSET_CONTENT_IS_VERIFIED : RSET_CONTENT_IS_PROTECTED;
    session->outcome.opened.did = rset_session_did(&whole);
    rset_session_count_outcome(session, &whole);
    rset_session_verify_behind(session, &whole);
}

bool
rset_session_opens_by_itself(rset_session *session)
{
    const rset_content content = rset_session_content_wanted(session, true);

    if (!is_whole(session, content))
        return false;
    session->basis.company =
        session->how.mode == RSET_OPEN_UPDATE ? RSET_COMPANY_ALL : RSET_COMPANY_NONE;
    rset_session_take_whole(session, content);
    return true;
}

/* ---- all whole ----
 *
 * Mostly nothing is wrong. So a rank looks at its file before it meets the others, at a small one with its content, and says what it has
 * found with the proposal. Where all say that theirs are whole, of one generation, and want as much verified, nobody asks what counts.
 * Where all of that has been verified there is nothing to recover at all: the table would say HEALTHY of them together. */

enum { WANTS = RSET_BIT_WANTS_NONE | RSET_BIT_WANTS_DATA | RSET_BIT_WANTS_ALL };

static uint64_t
wants(rset_content content)
{
    switch (content) {
    case RSET_CONTENT_NONE: return RSET_BIT_WANTS_NONE;
    case RSET_CONTENT_DATA: return RSET_BIT_WANTS_DATA;
    default: return RSET_BIT_WANTS_ALL;
    }
}

void
rset_session_say_whole(rset_session *session, const rset_err *mine, rset_proposal *p)
{
    const rset_evidence *ev = &session->at.evidence;
    const rset_content   content =
        rset_session_content_wanted(session, session->how.mode == RSET_OPEN_READ);
    bool small, reads;

    p->bits |= RSET_BIT_AMISS;
    if (session->team->comm == NULL || !rset_session_seems_whole(session, mine->status) ||
        ev->orphans)
        return;
    small = rset_info_length(&ev->header.infos[0]) <= RSET_VERIFY_NOW;
    reads = content != RSET_CONTENT_NONE;
    if (!is_whole(session, reads && small ? RSET_CONTENT_ALL : RSET_CONTENT_NONE))
        return;
    p->bits ^= RSET_BIT_AMISS;
    p->bits |= wants(content) | (reads && !small ? RSET_BIT_UNREAD : 0);
    p->least_base = p->most_base = rset_evidence_generation(ev);
}

rset_session_all
rset_session_what_all_say(const rset_proposal *p)
{
    const uint64_t content = p->bits & WANTS;

    if ((p->bits & RSET_BIT_AMISS) != 0 || p->among != NULL || p->least_base != p->most_base ||
        (content & (content - 1)) != 0)
        return RSET_ALL_DIFFER;
    return (p->bits & RSET_BIT_UNREAD) != 0 ? RSET_ALL_ALIKE : RSET_ALL_WHOLE;
}
