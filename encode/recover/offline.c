/* offline.c: bringing one rank's files back in one process, without MPI (P10): the pieces that this process can reach
 * (offline_search.c), and the set's members as threads over the local transport. The serial side of the door
 * (recover.h); the set's part is rebuild.c, the same as in parallel. */
#include "comm/comm_local.h"
#include "member/beside.h"
#include "offline_internal.h"
#include "set/rebuild.h"

#include <stdio.h>
#include <string.h>

enum { LOCAL_TIMEOUT = 300 };

/* ---- the members as threads ---- */

static void
run_member(rset_comm *set, void *arg)
{
    search     *s = arg;
    piece      *p = &s->pieces[set->rank];
    bool        me = set->rank == s->desc.member;
    rset_repair rep = {.set = set,
                       .local = me ? s->local : &p->local,
                       .evidence = me ? s->evidence : &p->evidence,
                       .generation = s->desc.generation,
                       .writable = me,
                       .content = s->content,
                       .alone = true,
                       .sees_all = rset_search_sees_all(s),
                       .host = ""};
    bool        whole = false;

    p->err = RSET_ERR_NONE;
    p->st = rset_agree(set, rset_repair_look(&rep, &p->err), "", &p->err);
    if (p->st == RSET_OK)
        p->st = rset_agree(set, rset_repair_plan(&rep, &whole, &p->err), "", &p->err);
    if (p->st == RSET_OK)
        p->st = rset_agree(set, rset_repair_write(&rep, &p->err), "", &p->err);
    if (p->st == RSET_OK && me)
        p->st = rset_repair_publish(&rep, &p->replaced, &p->err);
    rset_repair_end(&rep);
}

/* Members of the set that were not found, for the message. */
static void
list_missing(const search *s, char *buf, size_t size)
{
    size_t used = 0;

    buf[0] = '\0';
    for (int m = 0; m < s->desc.members && used + 16 < size; m++)
        if (m != s->desc.member && !s->pieces[m].found)
            used += (size_t)snprintf(buf + used, size - used, "%s%d", used > 0 ? ", " : "", m);
}

static rset_status
run_members(search *s, rset_outcome *out)
{
    char        missing[256];
    piece      *own = &s->pieces[s->desc.member];
    rset_status st = rset_local_run(s->desc.members, LOCAL_TIMEOUT, run_member, s, s->err);

    if (st != RSET_OK)
        return st;
    out->replaced = own->replaced;
    if (own->st == RSET_OK)
        return RSET_OK;
    list_missing(s, missing, sizeof missing);
    if (own->st == RSET_LOST && missing[0] != '\0')
        return rset_fail(
            s->err, RSET_LOST,
            "%s/%s is lost or damaged, and pieces of members %s of its set are out of "
            "reach of this process; open it under mpiexec with one rank on each of the "
            "nodes, or name their directories with search= (%s)",
            rset_dir_path(s->local->dir), s->local->names[0], missing, own->err.text);
    return rset_fail(s->err, own->st, "%s", own->err.text);
}

/* The data files are there, and their protection is void: changed and closed by a job that died, or being
 * changed by one that runs. Not ours to take back (P3). */
static bool
left_as_it_is(const rset_local *local, const rset_evidence *evidence)
{
    const bool changed = evidence->has_header
                             ? evidence->is_void
                             : rset_evidence_changed(evidence, evidence->old.since);
    bool       there;

    if (!changed || (rset_evidence_cut(evidence) && !evidence->old.busy))
        return false;
    return rset_local_there(local, &there, NULL) == RSET_OK && there;
}

/* Is a newer redundancy file complete, that may be decided on? */
static bool
in_doubt(const rset_evidence *ev)
{
    return ev->next_name != NULL &&
           (!ev->has_header ||
            rset_generation_newer(ev->next, ev->header.infos[0].desc.generation));
}

/* Then it is not ours to take anything back, nor to remove what the commit needs (P11). What is there is opened when it
 * is what is protected, or was to be. */
static rset_status
leave_to_all(const rset_local *local, const rset_evidence *evidence, rset_outcome *out,
             rset_err *err)
{
    rset_evidence ahead = {0};
    bool          good = false;
    rset_status   st =
        rset_survey_ahead(local->dir, local->prefix, local->names[0], evidence->next, &ahead, err);

    if (st == RSET_OK && evidence->has_header && !evidence->is_void)
        st = rset_is_as_recorded(local, &evidence->header.infos[0], &good, err);
    if (st == RSET_OK && !good && ahead.has_header &&
        ahead.header.infos[0].desc.generation == evidence->next)
        st = rset_is_as_recorded(local, &ahead.header.infos[0], &good, err);
    rset_evidence_free(&ahead);
    if (st != RSET_OK)
        return st;
    if (!good)
        return rset_fail(err, RSET_LOST,
                         "%s/%s: a job died while it protected it, and only all ranks together can "
                         "tell what counts: open it with all of them",
                         rset_dir_path(local->dir), local->names[0]);
    snprintf(out->note, sizeof out->note,
             "%s/%s: a job died while it protected it; opened as it is, which is what was "
             "protected, or was to be",
             rset_dir_path(local->dir), local->names[0]);
    return RSET_OK;
}

/* What needs no pieces of others, or is not to be touched; *done_out. */
static rset_status
without_pieces(const rset_local *local, rset_evidence *evidence, rset_outcome *out, bool *done_out,
               rset_err *err)
{
    const char *at = NULL;
    rset_status st;

    *done_out = true;
    if (left_as_it_is(local, evidence)) {
        snprintf(out->note, sizeof out->note,
                 "%s/%s: opened for change after it was last protected, and never protected again; "
                 "opened as it is",
                 rset_dir_path(local->dir), local->names[0]);
        return RSET_OK;
    }
    if (evidence->old.busy)
        return rset_fail(err, RSET_IO,
                         "%s/%s: is being changed by another process; wait until it has closed it",
                         rset_dir_path(local->dir), local->names[0]);
    st = rset_beside_find(local, evidence, &at, err);
    if (st != RSET_OK || at != NULL) {
        out->replaced = st == RSET_OK;
        return st == RSET_OK ? rset_beside_publish(local, at, err) : st;
    }
    if (in_doubt(evidence))
        return leave_to_all(local, evidence, out, err);
    *done_out = false;
    return RSET_OK;
}

rset_status
rset_recover_alone(const rset_local *local, int rank, rset_evidence *evidence,
                   const char *const *search_dirs, bool content, rset_outcome *out, rset_err *err)
{
    search s = {.local = local, .rank = rank, .evidence = evidence, .content = content, .err = err};
    bool   done = false;
    rset_status st;

    *out = (rset_outcome){0};
    st = without_pieces(local, evidence, out, &done, err);
    if (done)
        return st;
    if (evidence->has_header) {
        s.desc = evidence->header.infos[0].desc;
        s.known = true;
    }
    st = rset_search_begin(&s, search_dirs);
    if (st == RSET_OK && !s.known)
        st = rset_search_owner(&s);
    if (st == RSET_OK)
        st = rset_search_pieces(&s);
    if (st == RSET_OK)
        st = run_members(&s, out);
    if (st == RSET_OK && out->replaced)
        snprintf(out->note, sizeof out->note, "%s/%s: brought back from the pieces within reach",
                 rset_dir_path(local->dir), local->names[0]);
    rset_search_free(&s);
    return st;
}

bool
rset_recorded_nearby(const rset_local *local, const char *const *search_dirs)
{
    rset_err ignored = RSET_ERR_NONE;
    search   s = {.local = local, .rank = -1, .err = &ignored};
    bool     known = rset_search_begin(&s, search_dirs) == RSET_OK && rset_search_known(&s);

    rset_search_free(&s);
    return known;
}
