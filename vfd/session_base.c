/* session_base.c: one session, whatever happens in it: made, asked, freed. See session_internal.h. */
#include "background.h"
#include "ours.h"
#include "session_internal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A child of a child has another parent. */
static bool
lives(pid_t process)
{
    return process == getppid() || kill(process, 0) == 0 || errno == EPERM;
}

bool
rset_session_is_inherited(const rset_session *session)
{
    return session != NULL && session->process != getpid() && lives(session->process);
}

void
rset_session_end_changes(rset_session *session)
{
    rset_journal_leave(session->change.journal);
    free(session->change.label);
    session->change = (rset_change){0};
    session->tell.at_once = NULL;
}

void
rset_session_forget_shadow(rset_session *session)
{
    (void)rset_file_close(session->shadow.guard, NULL);
    free(session->shadow.name);
    free(session->shadow.path);
    session->shadow = (rset_new_file){0};
    session->at.local.shadow = NULL;
}

void
rset_session_free(rset_session *session)
{
    if (session == NULL)
        return;
    if (session->part == NULL ||
        !(rset_session_is_inherited(session) ||
          rset_background_busy(session->at.path))) { /* else it is theirs */
        rset_journal_drop(session->part != NULL ? session->part->at.local.next : NULL);
        rset_session_free(session->part);
    }
    rset_session_end_changes(session);
    rset_session_forget_shadow(session);
    if (rset_session_is_inherited(session))
        rset_file_close(session->use, NULL);
    else
        rset_claim_end(session->use);
    rset_beside_free(&session->at);
    free(session->verified);
    free(session->known_as);
    free(session->comm);
    free(session->older.name);
    free(session->older.path);
    free(session);
}

/* Of an older generation the program knows the name of the file itself. */
static char *
name_known(const char *path)
{
    const char *base = rset_path_base(path);

    return strndup(path, (size_t)(base - path) + rset_name_recorded(base));
}

rset_status
rset_session_new(const rset_config *config, const char *path, rset_session **out, rset_err *err)
{
    rset_session *session = calloc(1, sizeof *session);
    rset_status   st;

    if (session == NULL)
        return rset_fail(err, RSET_NOMEM, "%s: no memory to open it", path);
    session->config = *config;
    session->process = getpid();
    session->known_as = name_known(path);
    rset_kind_of(path, &session->kind);
    st = rset_beside_name(path, &session->at, err);
    if (st == RSET_OK && session->known_as == NULL)
        st = rset_fail(err, RSET_NOMEM, "%s: no memory to open it", path);
    if (st != RSET_OK) {
        rset_session_free(session);
        return st;
    }
    *out = session;
    return RSET_OK;
}

void
rset_session_count(rset_session *session, rset_count what)
{
    struct stat sb;

    session->cost.files[what]++;
    if (stat(session->at.path, &sb) == 0 && sb.st_size > 0)
        session->cost.bytes[what] += (uint64_t)sb.st_size;
}

void
rset_session_count_outcome(rset_session *session, const rset_outcome *outcome)
{
    if (outcome->replaced && rset_outcome_action(outcome) == RSET_ACTION_REBUILD)
        rset_session_count(session, RSET_COUNT_REBUILT);
    else if (session->basis.content == RSET_CONTENT_IS_VERIFIED)
        rset_session_count(session, RSET_COUNT_VERIFIED);
}

rset_did
rset_session_did(const rset_outcome *outcome)
{
    if (outcome->replaced && rset_outcome_action(outcome) == RSET_ACTION_UNDO)
        return RSET_DID_BACK;
    if (outcome->forward)
        return RSET_DID_FORWARD;
    if (outcome->replaced && rset_outcome_action(outcome) == RSET_ACTION_REBUILD)
        return RSET_DID_REBUILD;
    if (outcome->moved_from[0] == '\0')
        return RSET_DID_NOTHING;
    return outcome->copied ? RSET_DID_COPY : RSET_DID_MOVE;
}

/* Which generation was opened. Where nothing here records it, another rank may know. */
static void
note_generation(rset_session *session)
{
    const rset_evidence *ev = &session->at.evidence;
    rset_opened         *opened = &session->outcome.opened;
    const char          *label = ev->has_header ? ev->header.infos[0].stamp.label : NULL;

    opened->generation = rset_evidence_generation(ev);
    opened->time = ev->has_header ? ev->header.infos[0].stamp.time : 0;
    snprintf(opened->label, sizeof opened->label, "%s", label != NULL ? label : "");
    if (session->older.back == 0)
        return;
    opened->did = RSET_DID_FALL_BACK;
    opened->generation = session->older.generations.at[session->older.back];
    opened->concerned = session->team != NULL ? (uint64_t)session->team->ranks : 1;
}

/* A file that is missing and was never protected is nobody's. */
void
rset_session_note_opened(rset_session *session)
{
    const rset_status st = session->outcome.verdict.status;

    if (st != RSET_OK)
        session->outcome.opened =
            (rset_opened){.did = st == RSET_ABSENT ? RSET_DID_NOT_ASK : RSET_DID_REFUSE};
    else
        note_generation(session);
    rset_history_opened(session->known_as, &session->outcome.opened,
                        st != RSET_OK && st != RSET_ABSENT ? &session->outcome.verdict : NULL);
}

void
rset_session_spent(rset_session *session, rset_phase_scope *scope)
{
    rset_phases_end(scope);
    rset_phases_add(&session->cost.spent, &scope->spent);
    if (rset_background_is_here()) /* the program does not wait */
        session->cost.background += rset_phases_total(&scope->spent);
    rset_stats_add(rset_team_place(session->team), session->kind.text, &session->cost);
    session->cost = (rset_stats){0};
}

bool
rset_session_was_protected(const rset_session *session)
{
    return session->at.evidence.any;
}

bool
rset_session_is_update(const rset_session *session)
{
    return session->how.mode != RSET_OPEN_READ && !rset_session_is(session, RSET_IS_NEW);
}

/* Only files opened for writing that were really used have anything to end together. An unprotected one that did not change
 * concerns nobody. */
bool
rset_session_needs_others(const rset_session *session)
{
    return rset_session_is_in_use(session) && session->how.mode != RSET_OPEN_READ &&
           (rset_session_is_changed(session) || session->basis.company == RSET_COMPANY_ALL);
}

bool
rset_session_is_root(const rset_session *session)
{
    return rset_config_is_root(&session->config, session->at.path);
}

bool
rset_session_is_older(const rset_session *session)
{
    return rset_name_kept(session->at.base) != 0;
}

const char *
rset_session_at(const rset_session *session)
{
    return session->shadow.path != NULL ? session->shadow.path : session->at.path;
}

const char *
rset_session_older(const rset_session *session)
{
    return session->older.path;
}

bool
rset_session_readonly(const rset_session *session)
{
    return session->how.mode == RSET_OPEN_READ && !session->config.readonly_rebuild;
}

bool
rset_session_insists(const rset_session *session)
{
    return session->config.required || session->config.files[0] != '\0' ||
           session->config.comm != NULL || rset_session_is_root(session);
}

rset_status
rset_session_survey(rset_session *session, rset_err *err)
{
    return rset_survey_again(session->at.local.dir, session->at.prefix, session->at.base,
                             &session->at.evidence, err);
}

rset_serial_args
rset_session_serial_args(const rset_session *session, rset_evidence *evidence,
                         rset_search_list *search)
{
    rset_beside_search(&session->config, search);
    return (rset_serial_args){.local = &session->at.local,
                              .evidence = evidence,
                              .search = search->dirs,
                              .rank = -1,
                              .readonly = rset_session_readonly(session),
                              .required = session->config.required,
                              .keep_changed = session->config.keep_changed,
                              .own_run = rset_session_is_ours(session)};
}

bool
rset_session_is_shared_root(const rset_session *session)
{
    return rset_session_is_root(session) && session->team != NULL && !session->team->alone;
}

rset_status
rset_session_label(rset_session *session, const char *text, rset_err *err)
{
    char *label;

    if (text == NULL || !rset_stamp_may_be(text))
        return rset_fail(err, RSET_USAGE,
                         "%s: a label is 1 to %d bytes of printable UTF-8, without line ends",
                         session->at.path, (int)RSET_STAMP_TEXT);
    if (session->how.mode == RSET_OPEN_READ)
        return rset_fail(err, RSET_USAGE,
                         "%s: is open for reading only, so no commit comes that could get a label",
                         session->at.path);
    label = strdup(text);
    if (label == NULL)
        return rset_fail(err, RSET_NOMEM, "%s: no memory for a label", session->at.path);
    free(session->change.label);
    session->change.label = label;
    return RSET_OK;
}

rset_status
rset_session_say_used(rset_session *session, rset_err *err)
{
    if (session->use != NULL || !rset_session_is_update(session) || session->at.local.dir == NULL ||
        !session->at.evidence.any)
        return RSET_OK;
    return rset_claim(session->at.local.dir, session->at.prefix, session->at.path, RSET_CLAIM_USE,
                      &session->use, err);
}

void
rset_session_left(rset_session *session, const struct stat *left)
{
    session->change.left = *left;
}

void
rset_session_has_external(rset_session *session)
{
    session->external = true;
}

rset_status
rset_session_is_as_left(const rset_session *session, bool *is_out, rset_err *err)
{
    const struct stat *then = &session->change.left;
    const char        *at = rset_session_at(session);
    struct stat        now;

    *is_out =
        then->st_ino == 0 || !rset_session_is_changed(session) || session->at.local.next != NULL;
    if (*is_out)
        return RSET_OK;
    if (stat(at, &now) != 0)
        return errno == ENOENT || errno == ENOTDIR
                   ? RSET_OK
                   : rset_fail_errno(err, RSET_IO, errno, "%s: cannot be looked at", at);
    *is_out = now.st_dev == then->st_dev && now.st_ino == then->st_ino &&
              now.st_size == then->st_size && now.st_mtim.tv_sec == then->st_mtim.tv_sec &&
              now.st_mtim.tv_nsec == then->st_mtim.tv_nsec;
    return RSET_OK;
}

bool
rset_session_is_ours(const rset_session *session)
{
    return rset_ours_is(rset_evidence_generation(&session->at.evidence));
}
