/* session_serial.c: the session of a file in a process without other ranks: MPI not there, not initialised or
 * already finalised, or nobody else came. Nothing is asked of anybody; pieces of the set are read
 * where this process can reach them. */
#include "rebuilding.h"
#include "session_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool
rset_session_recorded_nearby(const rset_session *session)
{
    rset_evidence    none = {0};
    rset_search_list search;
    rset_serial_args args = rset_session_serial_args(session, &none, &search);

    return session->at.local.dir != NULL && rset_recorded_nearby(&args);
}

/* `falls`: what nobody can verify is refused, for an older generation; *doubted_out: so it was. */
static rset_status
recover(rset_session *session, rset_content content, bool falls, bool *doubted_out, rset_err *err)
{
    rset_search_list  search;
    rset_serial_args  args = rset_session_serial_args(session, &session->at.evidence, &search);
    rset_long_rebuild rebuild;
    rset_outcome      outcome;
    rset_status       st;

    *doubted_out = false;
    if (session->at.local.dir == NULL)
        return rset_fail(err, RSET_ABSENT, "%s: the directory is missing", session->at.path);
    args.content = content;
    args.fallback = falls;
    rset_long_rebuild_begin(&rebuild, NULL);
    args.watch = &rebuild.watch;
    st = rset_recover_serial(&args, &outcome, err);
    rset_long_rebuild_end(&rebuild, st);
    *doubted_out = st == RSET_LOST && outcome.reason == RSET_REASON_UNVERIFIABLE;
    if (st != RSET_OK)
        return st;
    session->outcome.opened = (rset_opened){.did = rset_session_did(&outcome)};
    session->outcome.opened.concerned = session->outcome.opened.did > RSET_DID_NOTHING;
    session->basis.content =
        outcome.protected_ ? RSET_CONTENT_IS_PROTECTED : RSET_CONTENT_IS_UNKNOWN;
    session->outcome.opened.rebuilt = session->outcome.opened.did == RSET_DID_REBUILD;
    rset_session_count_outcome(session, &outcome);
    snprintf(session->tell.note, sizeof session->tell.note, "%s", outcome.note);
    return RSET_OK;
}

static const rset_file_info *
record(const rset_session *session)
{
    const rset_info *info = &session->at.evidence.header.infos[0];

    return session->at.evidence.has_header && info->nfiles == 1 ? &info->files[0] : NULL;
}

rset_status
rset_session_verify_later(rset_session *session, rset_err *err)
{
    const rset_file_info *f = record(session);

    if (session->config.verify == RSET_VERIFY_SIZE || f == NULL || !f->has_sums ||
        f->sums.nblocks == 0)
        return RSET_OK;
    free(session->verified);
    session->verified = calloc(f->sums.nblocks / 8 + 1, 1);
    return session->verified != NULL
               ? RSET_OK
               : rset_fail(err, RSET_NOMEM, "%s: no memory", session->at.path);
}

/* The newest, or where that cannot be had, or verified, an older one. Not of files of ranks that have not come: they may have the
 * newest, and only all put it aside. */
static rset_status
recover_any(rset_session *session, rset_content content, rset_err *err)
{
    const bool falls = session->config.fallback && session->how.mode == RSET_OPEN_READ &&
                       !rset_team_has_others(session->team);
    bool        doubted, ignored;
    rset_status st = recover(session, content, falls, &doubted, err);

    while (st == RSET_LOST && session->how.mode == RSET_OPEN_READ &&
           !rset_team_has_others(session->team) &&
           (st = rset_session_fall_back(session, err)) == RSET_OK)
        st = recover(session, content, falls, &ignored, err);
    if (st == RSET_LOST && doubted && !session->config.required &&
        (st = rset_session_rise_again(session, err)) == RSET_OK)
        st = recover(session, content, false, &ignored, err);
    return st;
}

rset_status
rset_session_resolve_serial(rset_session *session, rset_content content, rset_err *err)
{
    rset_status st = recover_any(session, content, err);

    if (st == RSET_OK && session->older.back > 0)
        rset_session_say_older(session);
    if (st == RSET_ABSENT && session->how.found == RSET_FOUND && !session->at.evidence.any) {
        *err = RSET_ERR_NONE; /* never protected, as far as this process can see */
        return RSET_OK;
    }
    if (st != RSET_OK || session->at.evidence.is_void || content != RSET_CONTENT_NONE)
        return st;
    return rset_session_verify_later(session, err);
}

/* ---- reading ---- */

static uint64_t
block_length(const rset_session *session, size_t b)
{
    const rset_sums *want = &record(session)->sums;
    const uint64_t   rest = want->size - b * want->block;

    return rest < want->block ? rest : want->block;
}

/* Is this block, as HDF5 reads it, what was recorded? What cannot be read is not. */
static bool
is_good(const rset_session *session, const rset_lower *lower, size_t b, uint8_t *buf)
{
    const rset_sums *want = &record(session)->sums;
    const uint64_t   off = b * want->block, len = block_length(session, b);
    rset_err         ignored = RSET_ERR_NONE;
    rset_phase       before = rset_phase_enter(RSET_PHASE_READ);
    bool             good = lower->read(lower->handle, off, buf, (size_t)len, &ignored) == RSET_OK;

    rset_phase_leave(before);
    before = rset_phase_enter(RSET_PHASE_SUM);
    good = good && rset_crc64(0, buf, (size_t)len) == want->crc[b];
    rset_phase_leave(before);
    return good;
}

/* Verifies the blocks first..last that were not yet; stops at the first bad one. */
static rset_status
check_blocks(rset_session *session, const rset_lower *lower, size_t first, size_t last,
             bool *good_out, rset_err *err)
{
    uint8_t *buf = NULL;

    *good_out = true;
    for (size_t b = first; *good_out && b <= last; b++) {
        const unsigned bit = 1u << (b % 8);

        if (session->verified[b / 8] & bit)
            continue;
        if (buf == NULL && (buf = malloc((size_t)record(session)->sums.block)) == NULL)
            return rset_fail(err, RSET_NOMEM, "%s: no memory to verify it", session->at.path);
        *good_out = is_good(session, lower, b, buf);
        if (!*good_out)
            break;
        session->verified[b / 8] |= (unsigned char)bit;
        session->cost.bytes[RSET_COUNT_VERIFIED] += block_length(session, b);
    }
    free(buf);
    return RSET_OK;
}

/* Repairs the file, verified as a whole before it gets the name, and has HDF5 read the repaired one. What HDF5 has read before is
 * of the generation that was opened, and so is what it reads from now on. */
static rset_status
repair(rset_session *session, const rset_lower *lower, rset_err *err)
{
    const uint64_t opened = rset_evidence_generation(&session->at.evidence);
    rset_status    st = rset_session_survey(session, err);
    bool           ignored;

    free(session->verified);
    session->verified = NULL;
    if (st == RSET_OK)
        st = recover(session, RSET_CONTENT_ALL, false, &ignored, err);
    if (st == RSET_OK && rset_evidence_generation(&session->at.evidence) != opened)
        st = rset_fail(err, RSET_BUSY,
                       "%s: is damaged, and another process has committed it anew since it was "
                       "opened: close it, and open it again",
                       session->at.path);
    if (st != RSET_OK)
        return st;
    session->is = session->at.evidence.data;
    st = lower->open(lower->handle, &session->is, err);
    if (st == RSET_OK)
        rset_session_note_opened(session);
    return st;
}

rset_status
rset_session_read(rset_session *session, unsigned long long off, unsigned long long len,
                  const rset_lower *lower, rset_err *err)
{
    const rset_sums *sums;
    rset_phase_scope scope;
    rset_status      st;
    size_t           last;
    bool             good = true;

    if (session->verified == NULL || rset_session_is_changed(session) || len == 0)
        return RSET_OK;
    sums = &record(session)->sums;
    if (off >= sums->size)
        return RSET_OK;
    last = (size_t)((len > sums->size - off ? sums->size - 1 : off + len - 1) / sums->block);
    rset_phases_begin(&scope);
    st = check_blocks(session, lower, (size_t)(off / sums->block), last, &good, err);
    if (st == RSET_OK && !good)
        st = repair(session, lower, err);
    rset_session_spent(session, &scope);
    return st;
}
