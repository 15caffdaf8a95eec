/* session_fallback.c: where the newest generation of the files cannot be had, an older one is opened (fallback=yes), the same by
 * all ranks: to be read, as it is; to be changed, as the newest that it becomes. Without that, the error says that there is
 * one. See session_internal.h. */
#include "scrub.h"
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

static rset_status
no_memory(const rset_session *session, rset_err *err)
{
    return rset_fail(err, RSET_NOMEM, "%s: no memory to open an older generation",
                     session->at.path);
}

/* Which there are as far as this process alone can see. */
static rset_status
look_nearby(rset_session *session, rset_err *err)
{
    const rset_which any = {0};
    rset_search_list search;
    rset_serial_args args = rset_session_serial_args(session, &session->at.evidence, &search);

    return session->at.local.dir != NULL
               ? rset_generations_nearby(&args, &any, &session->older.generations, err)
               : RSET_OK;
}

/* Those that are here. What has the name is none that is kept, and may be outdated: of a file of one rank a replica, else what came
 * back with its node. A process alone finds others by it. */
static void
note_own(rset_session *session)
{
    rset_generations *all = &session->older.generations;
    const uint64_t    published = rset_evidence_generation(&session->at.evidence);

    if (session->at.local.dir != NULL)
        rset_kept_look(&session->at.local, &session->at.evidence);
    rset_generations_of(&session->at.evidence, all);
    if ((rset_session_is_root(session) || has_others(session)) && all->n > 0 &&
        all->at[0] == published) {
        all->n--;
        memmove(all->at, all->at + 1, (size_t)all->n * sizeof all->at[0]);
    }
}

/* Which there are, on any rank; and whether all ranks want one. */
static rset_status
find_generations(rset_session *session, rset_err *err)
{
    rset_err    mine = *err;
    rset_status st = session->config.fallback ? RSET_OK : err->status;

    if (session->older.name == NULL)
        st = no_memory(session, &mine);
    note_own(session);
    if (has_others(session)) {
        st = rset_agree(session->team->comm, st, session->team->host, &mine);
        if (st == RSET_OK)
            st = rset_generations_of_all(session->team->comm, session->team->host,
                                         &session->older.generations, &mine);
    } else if (st == RSET_OK) {
        st = look_nearby(session, &mine);
    }
    if (!rset_session_is_root(session) && session->older.generations.published != 0)
        rset_generations_add(&session->older.generations, session->older.generations.published);
    rset_generations_add_lost(
        &session->older.generations); /* the first is the one that cannot be had */
    return st;
}

/* A program can ask for it. */
static void
say_that_there_is_one(const rset_session *session, rset_err *err)
{
    const rset_err why = *err;
    char           name[RSET_GENERATION_NAME];

    if (session->older.generations.n < 2)
        return;
    rset_generations_name(&session->older.generations, session->older.generations.at[1], name);
    snprintf(err->text, sizeof err->text,
             "%.700s; an older generation, with number %s, is kept: generation=-1 opens it for "
             "reading, fallback=yes lets all ranks go on "
             "with it where the newest cannot be had",
             why.text, name);
}

/* From now on the session is that of the data file `base`, NULL: there was no memory for it. Takes it over. */
static rset_status
become(rset_session *session, char *base, rset_err *err)
{
    char *prefix = base != NULL ? rset_join_names(base, ".") : NULL;

    if (prefix == NULL) {
        free(base);
        return no_memory(session, err);
    }
    free(session->at.base);
    free(session->at.prefix);
    session->at.base = base;
    session->at.prefix = prefix;
    session->at.names[0] = base;
    session->at.local.prefix = prefix;
    return session->at.local.dir != NULL ? rset_session_survey(session, err) : RSET_OK;
}

/* What is kept of it is what leads back from what can, or cannot, be had. */
static rset_status
make_ready(const rset_session *session, const char *own, uint64_t generation, rset_err *err)
{
    const char *const names[] = {session->older.name};
    const rset_local  of = {.dir = session->at.local.dir,
                            .prefix = own,
                            .nfiles = 1,
                            .names = names,
                            .paths = session->at.local.paths};

    return rset_kept_make_ready(&of, generation, rset_session_readonly(session), err);
}

/* From now on the session is one of that generation. */
static rset_status
become_older(rset_session *session, uint64_t generation, rset_err *err)
{
    char       *own = rset_join_names(session->older.name, "."), *base = NULL, *at = NULL;
    rset_status st = own != NULL ? make_ready(session, own, generation, err) : RSET_OK;

    if (st != RSET_OK) {
        free(own);
        return st;
    }
    if (own != NULL)
        base = rset_name_of(RSET_NAME_DATA, own, generation);
    free(own);
    if (base == NULL || asprintf(&at, "%s/%s", session->at.dir_path, base) < 0) {
        free(base);
        return no_memory(session, err);
    }
    free(session->older.path);
    session->older.path = at;
    return become(session, base, err);
}

rset_status
rset_session_fall_back(rset_session *session, rset_err *err)
{
    const rset_err why = *err;
    rset_err       own = RSET_ERR_NONE;
    rset_status    st = RSET_OK;

    if (session->older.back == 0) {
        session->older.name = strdup(session->at.base);
        session->older.why = why;
        st = find_generations(session, err);
    }
    if (st != RSET_OK || ++session->older.back >= session->older.generations.n) {
        *err = session->older.why;
        say_that_there_is_one(session, err);
        return err->status;
    }
    st = become_older(session, session->older.generations.at[session->older.back], &own);
    if (has_others(session))
        st = rset_agree(session->team->comm, st, session->team->host, &own);
    *err = st == RSET_OK ? RSET_ERR_NONE : own;
    return st;
}

rset_status
rset_session_rise_again(rset_session *session, rset_err *err)
{
    char *recorded = session->older.name;

    free(session->older.path);
    session->older.path = session->older.name = NULL;
    session->older.back = 0;
    session->older.generations = (rset_generations){0};
    rset_scrub_forget(session->at.dir_path, session->at.base);
    *err = RSET_ERR_NONE;
    return become(session, recorded, err);
}

/* ---- for good ---- */

/* Of all ranks: the content has been called so by its program. */
static rset_status
take_label(rset_session *session, rset_err *err)
{
    const rset_evidence *ev = &session->at.evidence;
    const char          *label = ev->has_header ? ev->header.infos[0].stamp.label : NULL;

    free(session->change.label);
    session->change.label = label != NULL ? strdup(label) : NULL;
    return label == NULL || session->change.label != NULL ? RSET_OK : no_memory(session, err);
}

/* The session is that of the file itself again. *kept_out: the name of what was recovered instead, owned. */
static rset_status
become_newest(rset_session *session, char **kept_out, rset_err *err)
{
    rset_status st = take_label(session, err);

    *kept_out = strdup(session->at.base);
    if (st == RSET_OK && *kept_out == NULL)
        st = no_memory(session, err);
    rset_scrub_forget(session->at.dir_path, session->at.base);
    if (st == RSET_OK)
        st = become(session, strdup(session->older.name), err);
    if (st == RSET_OK && rset_session_readonly(session))
        st = rset_fail(err, RSET_USAGE,
                       "%s: an older generation cannot become the newest where nothing may be "
                       "written (readonly_rebuild=no)",
                       session->at.path);
    free(session->older.path);
    session->older.path = NULL;
    return st;
}

static rset_status
restore_all(rset_session *session, const rset_agreed *a, const rset_local *kept, rset_status before,
            rset_err *err)
{
    rset_err          own = RSET_ERR_NONE;
    rset_stamp_text   stamp;
    rset_protect_args args;
    rset_status       st = rset_session_protection(session, a, &stamp, &args, &own);

    if (st == RSET_OK && before != RSET_OK) {
        own = *err;
        args.before = before;
    }
    if (st == RSET_OK)
        st = rset_protect_restored(&args, kept, session->older.generations.at[0], &own);
    if (st == RSET_OK) {
        rset_session_note_protected(session, &args.desc);
        session->basis.content = RSET_CONTENT_IS_VERIFIED;
    }
    *err = own;
    return st;
}

static rset_status
restore(rset_session *session, const rset_agreed *a, const char *kept, rset_status before,
        rset_err *err)
{
    char       *prefix = kept != NULL ? rset_join_names(kept, ".") : NULL;
    rset_local  local = session->at.local;
    rset_status st;

    local.names = &kept;
    local.prefix = prefix;
    if (before == RSET_OK && prefix == NULL)
        before = no_memory(session, err);
    st = rset_session_is_shared_root(session)
             ? rset_session_restore_root(session, a, &local, before, err)
             : restore_all(session, a, &local, before, err);
    free(prefix);
    return st;
}

rset_status
rset_session_restore(rset_session *session, const rset_agreed *a, rset_err *err)
{
    char       *kept = NULL;
    rset_err    why = RSET_ERR_NONE;
    rset_status st = become_newest(session, &kept, &why);

    st = restore(session, a, kept, st, &why);
    free(kept);
    free(session->change.label); /* of one commit */
    session->change.label = NULL;
    if (st == RSET_OK)
        return RSET_OK;
    return rset_fail(err, st,
                     "%.500s; generation %" PRIu64 " can be had, but could not be made the newest: "
                     "%.500s",
                     session->older.why.text,
                     rset_generation_commits(session->older.generations.at[session->older.back]),
                     why.text);
}

void
rset_session_say_older(rset_session *session)
{
    const uint64_t *at = session->older.generations.at;
    char            then[96] = "", taken[RSET_GENERATION_NAME], lost[RSET_GENERATION_NAME];

    rset_generations_name(&session->older.generations, at[session->older.back], taken);
    rset_generations_name(&session->older.generations, at[0], lost);
    if (session->older.path == NULL)
        snprintf(then, sizeof then,
                 "; what is there of that was put aside, as *.redset.%016" PRIx64 ".newer", at[0]);
    snprintf(session->tell.note, sizeof session->tell.note,
             "%s: opened is generation %s, which is not the newest: generation %s cannot be had%s: "
             "%.700s",
             session->at.path, taken, lost, then, session->older.why.text);
}
