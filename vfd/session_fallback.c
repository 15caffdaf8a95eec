/* session_fallback.c: where the newest generation of the files cannot be had, an older one is opened to be read (fallback=yes), the
 * same by all ranks; without that, the error says that there is one. See session_internal.h. */
#include "session_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool
has_others(const rset_session *session)
{
    return session->team != NULL && session->team->comm != NULL && !session->team->alone;
}

/* Which there are, on any rank; and whether all ranks want one. */
static rset_status
find_generations(rset_session *session, rset_err *err)
{
    rset_err    mine = *err;
    const bool  wanted = session->config.fallback && session->mode == RSET_OPEN_READ;
    rset_status st = wanted ? RSET_OK : err->status;

    rset_generations_of(&session->evidence, &session->generations);
    if (!has_others(session))
        return st;
    st = rset_agree(session->team->comm, st, session->team->host, &mine);
    if (st == RSET_OK)
        st = rset_generations_of_all(session->team->comm, session->team->host,
                                     &session->generations, &mine);
    return st;
}

/* A program can ask for it. */
static void
say_that_there_is_one(const rset_session *session, rset_err *err)
{
    const rset_err why = *err;

    if (session->generations.n < 2)
        return;
    snprintf(err->text, sizeof err->text,
             "%.700s; an older generation, with number %" PRIu64
             ", is kept: generation=-1 opens it for reading, fallback=yes where the newest cannot "
             "be had",
             why.text, rset_generation_commits(session->generations.at[1]));
}

/* What is kept of it is what leads back from what can, or cannot, be had. */
static rset_status
make_ready(const rset_session *session, const char *own, uint64_t generation, rset_err *err)
{
    const char *const names[] = {session->recorded};
    const rset_local  of = {.dir = session->dir,
                            .prefix = own,
                            .nfiles = 1,
                            .names = names,
                            .paths = session->local.paths};

    return rset_kept_make_ready(&of, generation, rset_session_readonly(session), err);
}

/* From now on the session is one of that generation. */
static rset_status
become(rset_session *session, uint64_t generation, rset_err *err)
{
    char *own = rset_join_names(session->recorded, "."), *base = NULL, *prefix = NULL, *at = NULL;
    rset_status st = own != NULL ? make_ready(session, own, generation, err) : RSET_OK;

    if (st != RSET_OK) {
        free(own);
        return st;
    }
    if (own != NULL)
        base = rset_kept_name(own, generation);
    if (base != NULL)
        prefix = rset_join_names(base, ".");
    free(own);
    if (prefix == NULL || asprintf(&at, "%s/%s", session->dir_path, base) < 0) {
        free(base);
        free(prefix);
        return rset_fail(err, RSET_NOMEM, "%s: no memory to open an older generation",
                         session->path);
    }
    free(session->base);
    free(session->prefix);
    free(session->older_path);
    session->base = base;
    session->prefix = prefix;
    session->older_path = at;
    session->names[0] = base;
    session->local.prefix = prefix;
    return session->dir != NULL ? rset_session_survey(session, err) : RSET_OK;
}

rset_status
rset_session_fall_back(rset_session *session, rset_err *err)
{
    const rset_err why = *err;
    rset_err       own = RSET_ERR_NONE;
    rset_status    st = RSET_OK;

    if (session->fallen == 0) {
        session->recorded = strdup(session->base);
        session->refused = why;
        st = session->recorded != NULL ? find_generations(session, err) : why.status;
    }
    if (st != RSET_OK || ++session->fallen >= session->generations.n) {
        *err = session->refused;
        say_that_there_is_one(session, err);
        return err->status;
    }
    st = become(session, session->generations.at[session->fallen], &own);
    if (has_others(session))
        st = rset_agree(session->team->comm, st, session->team->host, &own);
    *err = st == RSET_OK ? RSET_ERR_NONE : own;
    return st;
}

void
rset_session_say_fallen(rset_session *session)
{
    snprintf(session->note, sizeof session->note,
             "%s: opened is generation %" PRIu64 ", which is not the newest: generation %" PRIu64
             " cannot be had: %.700s",
             session->path, rset_generation_commits(session->generations.at[session->fallen]),
             rset_generation_commits(session->generations.at[0]), session->refused.text);
}
