/* recover.c: all ranks look at what they have (recover_card.c), decide which generation counts, finish
 * commits (recover_commit.c), find out which file is whose (recover_who.c), and bring back what is lost
 * (recover_repair.c). The parallel side of the door (recover.h). */
#include "member/beside.h"
#include "member/journal.h"
#include "recover_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct tally {
    int any, has, missing, damaged, stale, bare;
} tally;

static tally
count(const muster *m)
{
    tally t = {0};

    for (int r = 0; r < m->args->world->size; r++) {
        const card *c = &m->cards[r];
        bool        has = c->has && c->generation == m->generation;

        t.any += c->any != 0;
        t.has += has;
        t.missing += !c->there;
        t.damaged += has && c->damaged && !c->is_void && c->there;
        t.stale += has && c->is_void;
        t.bare += has && c->bare;
    }
    return t;
}

/* Nor has anybody lost anything: what is there is as a program left it when it died, and what it began beside that
 * is of no use to anybody; unless a rank that is not there now has published it. */
static rset_status
never_protected(muster *m, tally t)
{
    const rset_local    *local = m->args->local;
    const rset_evidence *ev = m->args->evidence;
    rset_err             ignored = RSET_ERR_NONE;

    if (!m->dry && m->args->tidy && t.missing == 0 && ev->litter &&
        (ev->next_name == NULL || ev->next_ranks == m->args->world->size) &&
        rset_forget(local->dir, local->prefix, NULL, NULL, &ignored) == RSET_OK)
        (void)rset_muster_survey(m);
    m->out->never = true;
    return rset_fail(m->err, RSET_ABSENT, "%s: not protected", rset_local_name(local));
}

/* Nobody has a redundancy file left, or never had. */
static rset_status
without_headers(muster *m, tally t)
{
    int first = -1, other = rset_muster_mixed(m, &first);

    if (t.any == 0)
        return never_protected(m, t);
    if (other >= 0)
        return rset_fail(m->err, RSET_LOST,
                         "%s: no rank has a redundancy file left, and the files of ranks %d and %d "
                         "were protected in different generations; bring files of one generation "
                         "back, or remove their attribute user.redset to open them as they are",
                         rset_local_name(m->args->local), first, other);
    if (t.missing > 0)
        return rset_fail(m->err, RSET_LOST,
                         "%s: %d of %d files protected together are missing, and no rank has a "
                         "redundancy file left",
                         rset_local_name(m->args->local), t.missing, m->args->world->size);
    for (int r = 0; r < m->args->world->size; r++)
        if (m->cards[r].cut)
            return rset_fail(m->err, RSET_LOST,
                             "%s: a program died while it wrote the file of rank %d, and no rank "
                             "has a redundancy file left to bring back what that was",
                             rset_local_name(m->args->local), r);
    m->out->reprotect = true;
    snprintf(m->out->note, sizeof m->out->note,
             "%s: the files are there, but no rank has a redundancy file left; they are not "
             "protected until they are next written and closed",
             rset_local_name(m->args->local));
    return RSET_OK;
}

/* More or fewer ranks than at the encode, all of their files there: opened, but not to be mended, nor protected as they
 * are: what the others have belongs to it. What a program died over can only be taken back by all (P2). */
static rset_status
with_other_ranks(muster *m)
{
    bool changed = false;

    for (int r = 0; r < m->args->world->size; r++)
        changed = changed || (rset_muster_has(m, r) && m->cards[r].is_void && m->cards[r].damaged &&
                              !m->cards[r].apart);
    for (int r = 0; r < m->args->world->size; r++)
        if (m->cards[r].cut || m->cards[r].beside || (m->cards[r].apart && changed))
            return rset_fail(
                m->err, RSET_LOST,
                "%s: a program died while rank %d's file was written, %d ranks opened it now: "
                "start %d, as many as wrote them, and all files are taken back",
                rset_local_name(m->args->local), r, m->args->world->size, m->ranks);
    snprintf(
        m->out->note, sizeof m->out->note,
        "%s: protected by %d ranks, opened by %d: redundancy that was lost or is void cannot be "
        "repaired now; the files are not protected until they are next written and closed",
        rset_local_name(m->args->local), m->ranks, m->args->world->size);
    return RSET_OK;
}

/* Have dead runs left anything behind, on any rank? */
static bool
any_litter(const muster *m)
{
    for (int r = 0; r < m->args->world->size; r++)
        if (m->cards[r].litter)
            return true;
    return false;
}

static rset_status
nothing_to_do(muster *m)
{
    m->out->protected_ = true;
    m->out->acted = m->forward || any_litter(m);
    rset_muster_remove_leftovers(m, true);
    rset_muster_remove_sign(m);
    return RSET_OK;
}

static void
muster_free(muster *m)
{
    rset_repair_end(&m->rep);
    if (m->has_set)
        rset_comm_free(&m->set);
    free(m->cards);
    free(m->places);
}

static rset_status bring_back(muster *m);

/* A rank that had published went on to change its file, while another comes only now to what was published: all go
 * there, and who has changed and closed goes back (P2). That must be so as well if this job dies on the way. */
static rset_status
nobody_ahead(muster *m)
{
    const card *mine = &m->cards[m->args->world->rank];
    bool        any = false;
    rset_status st = RSET_OK;

    for (int r = 0; r < m->args->world->size; r++)
        any = any || (rset_muster_has(m, r) && m->cards[r].is_void);
    if (!any)
        return RSET_OK;
    if (rset_muster_has(m, m->args->world->rank) && mine->is_void)
        st = rset_journal_unclose(m->args->local, &m->args->evidence->old, m->err);
    return rset_agree(m->args->world, st, m->args->host, m->err);
}

/* Finishes a commit that was cut short, and looks again. Not when what it leads to is lost: who is refused
 * finds nothing changed. */
static rset_status
go_forward(muster *m)
{
    ahead             a;
    rset_outcome      ignored = {0};
    rset_recover_args args = *m->args;
    muster then = {.args = &args, .err = m->err, .out = &ignored, .forward = true, .dry = true};
    rset_status st;

    args.before = rset_muster_look_ahead(m, &a);
    args.local = &a.local;
    args.evidence = &a.evidence;
    st = bring_back(&then);
    muster_free(&then);
    rset_muster_ahead_free(&a);
    if (st == RSET_OK)
        st = nobody_ahead(m);
    if (st == RSET_OK)
        st = rset_agree(m->args->world, rset_muster_roll_forward(m), m->args->host, m->err);
    free(m->cards);
    m->cards = NULL;
    return st == RSET_OK ? rset_muster_gather_cards(m) : st;
}

/* Files are lost, and nothing else is out of order as far as sizes tell: what is there is verified while it is
 * read for the rebuild, instead of before. */
static bool
may_trust(const muster *m, tally t)
{
    return !m->dry && !m->frozen && !any_litter(m) && t.damaged + t.stale == 0 &&
           (t.missing > 0 || t.has < m->args->world->size);
}

/* First trusting what is there, if it may be; when that was wrong, nothing has been done yet. */
static rset_status
repair_all(muster *m, tally t)
{
    rset_err    why = *m->err;
    rset_status st;

    m->trusting = may_trust(m, t);
    if (m->trusting) {
        st = rset_muster_repair(m);
        if (st != RSET_DAMAGED && st != RSET_LOST)
            return st;
        *m->err = why;
        m->trusting = false;
    }
    return rset_muster_repair(m);
}

static rset_status
bring_back(muster *m)
{
    rset_status st = rset_muster_gather_cards(m);
    tally       t;

    if (st != RSET_OK)
        return st;
    rset_muster_choose(m);
    for (int r = 0; r < m->args->world->size; r++) {
        m->frozen = m->frozen || m->cards[r].frozen;
        m->content = m->content || m->cards[r].content;
    }
    m->out->frozen = m->frozen;
    if (!m->frozen && !m->dry)
        m->forward = rset_muster_commit_unfinished(m);
    m->out->forward = m->forward && !m->dry;
    if (m->out->forward)
        st = go_forward(m);
    if (st != RSET_OK)
        return st;
    t = count(m);
    if (t.has == 0)
        return without_headers(m, t);
    if (!may_trust(m, t)) {
        st = rset_muster_look_closer(m);
        t = count(m);
    }
    if (st != RSET_OK)
        return st;
    if (t.has == m->args->world->size && t.missing + t.damaged + t.stale + t.bare == 0)
        return nothing_to_do(m);
    if (m->ranks != m->args->world->size && t.has == m->args->world->size &&
        t.missing + t.damaged == 0)
        return with_other_ranks(m);
    st = rset_muster_places(m);
    return st == RSET_OK ? repair_all(m, t) : st;
}

rset_status
rset_recover(const rset_recover_args *args, rset_outcome *out, rset_err *err)
{
    muster      m = {.args = args, .err = err, .out = out};
    rset_status st;

    *out = (rset_outcome){.acted = true}; /* but where there is nothing to do */
    st = bring_back(&m);
    muster_free(&m);
    return st;
}
