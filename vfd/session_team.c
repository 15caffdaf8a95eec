/* session_team.c: what is known of a file when it is opened, and with whom it is protected by that: with the ranks of its
 * communicator, by this process alone, or not at all. See session_internal.h. */
#include "comm/mpi/comm_mpi.h"
#include "report.h"
#include "session_internal.h"

#include <limits.h>

/* ---- what the disk says ---- */

/* The directory may be missing with the file: then there is nothing to survey yet. */
static rset_status
first_survey(rset_session *session, rset_err *err)
{
    const rset_status st = rset_beside_open(&session->at, err);

    if (st != RSET_OK || session->at.local.dir == NULL)
        return st;
    rset_dir_share(session->at.local.dir);
    return rset_session_survey(session, err);
}

bool
rset_session_has_foreign(const rset_session *session, rset_err *err)
{
    const rset_foreign *f = &session->at.evidence.foreign;

    if (f->n == 0)
        return false;
    (void)rset_fail(err, RSET_IO,
                    "%s/%s: made by user %u, %s: it is not used for %s and left where it is; "
                    "use a directory in which only you can make files",
                    session->at.dir_path, f->name, (unsigned)f->uid, f->why, session->at.base);
    return true;
}

/* ---- with whom ---- */

static bool
wants_single(const rset_session *session)
{
    return session->config.scheme == &rset_scheme_single;
}

/* Nobody else has anything of it: it was protected by one rank, or is to be and never was. What was protected in a way that
 * is not known any more may have others, and so may what is missing. */
static bool
is_ours_alone(const rset_session *session)
{
    const int  ranks = rset_evidence_ranks(&session->at.evidence);
    const bool there = session->how.found == RSET_FOUND || session->how.mode == RSET_OPEN_CREATE;

    return ranks == 1 ||
           (ranks == 0 && !session->at.evidence.any && there && wants_single(session));
}

void
rset_session_be_alone(rset_session *session)
{
    rset_err ignored = RSET_ERR_NONE;

    if (rset_team_alone(&session->team, &ignored) == RSET_OK)
        session->config.scheme = &rset_scheme_single; /* as it was protected, whatever is wanted */
}

/* Who creates a file of one rank asks nobody; nor does who changes what this process has written itself, since there is
 * nothing newer. */
static void
find_root_team(rset_session *session)
{
    const bool changes =
        session->how.mode == RSET_OPEN_UPDATE &&
        (rset_session_is_ours(session) ||
         (session->team == NULL && session->how.found == RSET_FOUND && rset_mpi_never()));

    session->others = session->team;
    if (session->how.mode == RSET_OPEN_CREATE || changes)
        rset_session_be_alone(session);
}

/* Has somebody written the file since, and is that what is wanted: by changed=keep, or since it was this process? Not where anybody is in the
 * middle of something. */
static bool
is_wanted_so(const rset_session *session)
{
    const rset_evidence *ev = &session->at.evidence;
    uint64_t             when;

    return (session->config.keep_changed || rset_session_is_ours(session)) && ev->has_header &&
           !ev->is_void && !ev->undo.there && ev->next == 0 && !rset_session_readonly(session) &&
           rset_times_differ(&session->at.local, &ev->header.infos[0], &when);
}

/* A failure to find that out is one to protect it, which is said at the close. A reader without MPI is mostly a tool: it
 * only looks, and does not finish what another process may be in the middle of; but what is wanted as it is it protects so. */
static void
find_team(rset_session *session)
{
    bool one = false;

    (void)rset_team_find(&session->config, &session->team, &session->no_team);
    if (rset_session_is_root(session)) {
        find_root_team(session);
        return;
    }
    if (session->team != NULL)
        one = session->team->ranks == 1 && wants_single(session);
    if (!one && (session->team != NULL || !rset_mpi_never() ||
                 (session->how.mode == RSET_OPEN_READ && !is_wanted_so(session))))
        return;
    if (is_ours_alone(session))
        rset_session_be_alone(session);
    else if (one &&
             rset_evidence_ranks(&session->at.evidence) > 1) /* theirs, and they are not here */
        session->team = NULL;
}

/* A process that has nobody to ask knows a file of its own under whatever name that has. What cannot be had is told where it is
 * missed. */
static void
adopt_alone(rset_session *session)
{
    rset_err ignored = RSET_ERR_NONE;

    if (session->at.local.dir != NULL && !rset_session_readonly(session) &&
        !rset_session_is_root(session) && rset_mpi_never())
        (void)rset_adopt_alone(&session->at.local, &session->at.evidence, &ignored);
}

rset_status
rset_session_look(rset_session *session, rset_err *err)
{
    const rset_status st = first_survey(session, err);

    if (st == RSET_OK)
        adopt_alone(session);
    find_team(session);
    rset_report_want(rset_team_place(session->team), session->config.report);
    return st;
}

/* ---- and whether ---- */

/* For the names of what is added to protect it. */
static bool
has_room(const rset_team *team, const rset_config *config, const char *path)
{
    return rset_name_has_room(rset_path_base(path), team->ranks, config->set_size,
                              config->keep > 1);
}

bool
rset_session_has_room(const rset_session *session)
{
    return has_room(session->team, &session->config, session->at.base);
}

/* True when the name is too long. */
static bool
say_no_room(const rset_team *team, const rset_config *config, const char *path, rset_err *why)
{
    if (has_room(team, config, path))
        return false;
    rset_fail(why, RSET_USAGE,
              "not protected: %s: the name is too long: the names of its redundancy file and undo "
              "journal%s add to it, and a name has at most %d bytes",
              path, config->keep > 1 ? ", and of older generations (keep=)," : "", NAME_MAX);
    return true;
}

/* With SINGLE a process can ask nobody, or need not. Not so where it has an MPI that it may not call now. */
static bool
could_be_alone(const rset_session *session)
{
    return session->team == NULL && wants_single(session) &&
           (rset_mpi_never() || rset_mpi_usable());
}

bool
rset_session_is_of_others(const rset_session *session, rset_err *why)
{
    const int ranks = rset_evidence_ranks(&session->at.evidence);

    if (!could_be_alone(session) || !session->at.evidence.any || ranks == 1)
        return false;
    if (ranks > 1)
        rset_fail(why, RSET_PEER,
                  "%s: belongs to the files of %d ranks, and only all of them together can protect "
                  "it; open the files with all of them",
                  session->at.path, ranks);
    else
        rset_fail(why, RSET_PEER,
                  "%s: it was protected before, and its redundancy file is missing, which said by "
                  "how many ranks; if it was this process's alone, remove it and create it anew",
                  session->at.path);
    return true;
}

/* In a process whose ranks, if it has any, cannot be asked. */
static bool
cannot_without_mpi(const rset_session *session, rset_err *why, bool *quiet_out)
{
    rset_err theirs = RSET_ERR_NONE;
    bool     other = false;

    if (session->team != NULL)
        return say_no_room(session->team, &session->config, session->at.path, why);
    if (rset_session_is_of_others(session, &theirs)) {
        rset_fail(why, RSET_USAGE, "not protected: %s", theirs.text);
        return true;
    }
    rset_fail(why, RSET_USAGE, "not protected: %s: this process %s", session->at.path,
              rset_mpi_why_not(&other));
    *quiet_out = !other;
    return true;
}

bool
rset_session_cannot_protect(const rset_config *config, const char *path, rset_err *why,
                            bool *quiet_out)
{
    rset_team    *team = NULL;
    rset_session *session = NULL;
    rset_err      ignored = RSET_ERR_NONE;
    bool          cannot = false;

    *quiet_out = false;
    if (rset_mpi_running() && rset_team_find(config, &team, &ignored) != RSET_OK) {
        rset_fail(why, ignored.status, "not protected: %s: %.900s", path, ignored.text);
        return true;
    }
    if (rset_mpi_running())
        return team != NULL && say_no_room(team, config, path, why);
    if (rset_session_new(config, path, &session, &ignored) != RSET_OK)
        return false; /* so will the session of the file, which says why */
    session->how.mode = RSET_OPEN_CREATE;
    (void)rset_session_look(session, &ignored);
    cannot = cannot_without_mpi(session, why, quiet_out);
    rset_session_free(session);
    return cannot;
}
