/* alone.c: what one rank does with its own file, as a world of one rank: settles it, and protects what has come. See
 * replicas_internal.h. */
#include "comm/comm_alone.h"
#include "common/crc64.h"
#include "recover/recover.h"
#include "replicas_internal.h"

bool
rset_replica_unsettled(const rset_evidence *ev)
{
    return ev->is_void || ev->over_name != NULL || ev->next_name != NULL || ev->undo.there ||
           ev->nshadows > 0;
}

bool
rset_replica_touched(const rset_replica_args *a)
{
    const rset_evidence *ev = a->evidence;
    uint64_t             when;

    return ev->has_header && !rset_replica_unsettled(ev) &&
           rset_times_differ(a->local, &ev->header.infos[0], &when);
}

/* It is not the world of one rank that may decide about those. */
static rset_status
is_of_one(const rset_replica_args *a, rset_err *err)
{
    const int ranks = rset_evidence_ranks(a->evidence);

    if (ranks <= 1)
        return RSET_OK;
    return rset_fail(err, RSET_USAGE,
                     "%s: was protected by %d ranks together, and root= says that it is a file of "
                     "one rank: take it out of root=, or remove it with its redundancy files",
                     rset_local_name(a->local), ranks);
}

/* Has a program died while it wrote the file where it saw none? Then nobody has ever had all of it. */
static bool
is_torn(const rset_evidence *ev)
{
    const rset_undo *undo = &ev->undo;

    return undo->there && undo->head.state == RSET_UNDO_OPEN &&
           (undo->head.flags & RSET_UNDO_FIRST) != 0;
}

/* What is kept gave its name to something newer, wherever that is. */
static uint64_t
newest_sign(const rset_replica_args *a, uint64_t generation)
{
    const uint64_t kept = rset_kept_before(a->local, a->evidence, UINT64_MAX);

    return rset_generation_newer(kept, generation) ? kept + 1 : generation;
}

/* What came of it. A file that was closed and could not be protected may be newer than any replica; nobody can tell, so it
 * is not overwritten. */
static void
judge(const rset_replica_args *a, rset_status st, const rset_outcome *out, bool there,
      rset_replica_own *own)
{
    own->generation = rset_evidence_newest(a->evidence);
    if (st == RSET_OK && out->protected_) {
        own->state = RSET_REPLICA_INTACT;
        own->generation = out->generation;
    } else if (st == RSET_ABSENT) {
        own->state = there ? RSET_REPLICA_PLAIN : RSET_REPLICA_NONE;
    } else if (st == RSET_OK && own->generation == 0 && is_torn(a->evidence)) {
        own->state = RSET_REPLICA_TORN;
    } else if (st == RSET_OK && (own->generation == 0 || a->evidence->undo.there)) {
        own->state = RSET_REPLICA_PLAIN;
    } else {
        own->state = RSET_REPLICA_BAD;
    }
    own->newest = newest_sign(a, own->generation);
}

/* ---- protecting ---- */

/* A world of this rank alone, and what it takes to protect its file there. */
typedef struct lone {
    rset_comm         comm;
    rset_layout       layout;
    rset_local        local;
    rset_protect_args args;
} lone;

/* *l is to be freed in any case. */
static rset_status
lone_begin(const rset_replica_args *a, uint64_t generation, const rset_stamp_text *stamp, lone *l,
           rset_err *err)
{
    const rset_wish wish = {.scheme = &rset_scheme_single, .set_size = 1, .group = a->host};
    rset_status     st;

    l->local = *a->local;
    rset_comm_alone(&l->comm, a->world->timeout);
    st = rset_layout_form(&l->comm, &wish, a->host, &l->layout, err);
    l->args = (rset_protect_args){.world = &l->comm,
                                  .set = &l->layout.set,
                                  .ranks = l->layout.ranks,
                                  .local = &l->local,
                                  .desc = l->layout.desc,
                                  .extra = true,
                                  .host = a->host,
                                  .stamp = stamp,
                                  .keep = a->keep};
    l->args.desc.generation = generation;
    return st;
}

static void
lone_end(lone *l)
{
    rset_layout_free(&l->layout);
    rset_comm_free(&l->comm);
}

rset_status
rset_replica_publish(const rset_replica_args *a, rset_replica_copy *copy, rset_err *err)
{
    lone        l = {0};
    rset_status st = lone_begin(a, copy->generation, &copy->stamp, &l, err);

    l.args.shadow = &copy->shadow;
    l.args.aside = copy->aside;
    l.args.aside_before = a->evidence->nlost > 0;
    l.args.changed_before = a->evidence->nchanged > 0 ? rset_evidence_generation(a->evidence) : 0;
    l.local.shadow = copy->shadow;
    if (st == RSET_OK)
        st = rset_protect(&l.args, err);
    lone_end(&l);
    return st;
}

/* Is it still what was recorded of it? `before`: how it was when that was asked. */
static rset_status
verify(const rset_replica_args *a, struct stat *before, rset_err *err)
{
    const rset_evidence *ev = a->evidence;
    bool                 same = false;
    rset_status          st = rset_dir_stat(a->local->dir, a->local->names[0], before, err);

    if (st == RSET_OK && ev->has_header && !ev->is_void)
        st = rset_is_as_recorded(a->local, &ev->header.infos[0], &same, err);
    if (st == RSET_OK && !same)
        st = rset_fail(err, RSET_DAMAGED,
                       "%s: is not what was protected here, though it was written last",
                       rset_local_name(a->local));
    return st;
}

/* Protects the file that lies here as `generation`; it stays as it was at `before`. */
static rset_status
protect_again(const rset_replica_args *a, uint64_t generation, const struct stat *before,
              rset_err *err)
{
    rset_replica_args same = *a;
    lone              l = {0};
    rset_stamp_text   stamp;
    rset_status       st;

    rset_stamp_again(&a->evidence->header.infos[0].stamp, &stamp);
    same.keep = 0; /* it does not become older by that */
    st = lone_begin(&same, generation, &stamp, &l, err);
    l.args.left = before;
    if (st == RSET_OK)
        st = rset_protect(&l.args, err);
    lone_end(&l);
    return st == RSET_OK ? rset_survey_local(a->local, a->evidence, err) : st;
}

rset_status
rset_replica_renew(const rset_replica_args *a, uint64_t generation, rset_err *err)
{
    struct stat       before;
    const rset_status st = verify(a, &before, err);

    return st == RSET_OK ? protect_again(a, generation, &before, err) : st;
}

rset_status
rset_replica_take_back(const rset_replica_args *a, const rset_replica_older *older, rset_err *err)
{
    lone        l = {0};
    rset_status st = lone_begin(a, older->generation, older->stamp, &l, err);

    if (st == RSET_OK)
        st = rset_protect_restored(&l.args, older->kept, older->newest, err);
    lone_end(&l);
    return st;
}

/* ---- what it has ---- */

/* As it is, under a generation that is newer, and no other rank's that has changed its own. */
static rset_status
protect_changed(const rset_replica_args *a, rset_outcome *out, rset_err *err)
{
    const uint64_t was = rset_evidence_generation(a->evidence);
    const uint64_t nonce = rset_crc64(was, &a->world->rank, sizeof a->world->rank);
    struct stat    before;
    rset_status    st = rset_dir_stat(a->local->dir, a->local->names[0], &before, err);

    if (st == RSET_OK)
        st = protect_again(a, rset_generation_at(was, 0, nonce), &before, err);
    out->protected_ = st == RSET_OK;
    out->generation = rset_evidence_generation(a->evidence);
    return st;
}

rset_status
rset_replica_settle(const rset_replica_args *a, rset_replica_own *own, rset_err *err)
{
    rset_comm         alone;
    rset_outcome      out = {0};
    const bool        touched = rset_replica_touched(a);
    bool              there = false;
    rset_recover_args args = {.world = &alone,
                              .local = a->local,
                              .evidence = a->evidence,
                              .content = touched ? RSET_CONTENT_ALL : a->content,
                              .readonly = a->readonly,
                              .keep_changed = a->keep_changed,
                              .stays = true,
                              .tidy = a->tidy,
                              .host = a->host};
    rset_status       st = is_of_one(a, err), found;

    *own = (rset_replica_own){.why = RSET_ERR_NONE};
    if (st != RSET_OK)
        return st;
    if (touched)
        (void)rset_is_altered(a->local, a->evidence, &a->evidence->header.infos[0], &own->altered);
    rset_comm_alone(&alone, a->world->timeout);
    found = rset_recover(&args, &out, &own->why);
    rset_comm_free(&alone);
    if (found == RSET_OK || found == RSET_ABSENT)
        own->why = RSET_ERR_NONE;
    else if (found != RSET_LOST && found != RSET_DAMAGED) {
        *err = own->why;
        return found;
    }
    own->acted = out.acted || out.reprotect;
    own->replaced = out.replaced;
    own->kept = found == RSET_OK && out.reason == RSET_REASON_CHANGED_KEPT;
    if (own->kept)
        st = protect_changed(a, &out, err);
    else if (out.acted)
        st = rset_survey_local(a->local, a->evidence, err);
    if (st == RSET_OK)
        st = rset_local_there(a->local, &there, err);
    judge(a, found, &out, there, own);
    return st;
}
