/* recover_repair.c: all ranks know who has which files: what is bad, whether it can be brought back, and then it is (one
 * set's part is rebuild.c). See recover_internal.h. */
#include "member/beside.h"
#include "member/journal.h"
#include "recover_internal.h"

#include <stdio.h>
#include <stdlib.h>

/* A rank of whose set nothing is known: its file can stay when it is there. */
static int
found_without_set(const muster *m)
{
    const rset_evidence *ev = m->args->evidence;
    const card          *c = &m->cards[m->args->world->rank];
    const int            beside = ev->beside ? RSET_FOUND_BESIDE : 0;
    const int            changed = rset_evidence_changed(ev, m->generation) ? RSET_FOUND_STALE : 0;

    if (rset_may_stay_unverified(ev, c->there, m->generation))
        return RSET_FOUND_BARE | RSET_FOUND_BLIND | RSET_FOUND_UNKNOWN | changed | beside;
    return RSET_FOUND_DAMAGE | RSET_FOUND_HOPELESS | beside;
}

/* Everyone looks; *found_out: what all ranks found, or-ed. */
static rset_status
look(muster *m, bool content, int *found_out)
{
    bool        apart = false, changed = false; /* others than those that have the sign */
    int32_t     mine, *all = calloc((size_t)m->args->world->size, sizeof *all);
    rset_status st = RSET_OK;

    rset_repair_end(&m->rep);
    m->rep = (rset_repair){.set = &m->set,
                           .local = m->args->local,
                           .evidence = m->args->evidence,
                           .generation = m->generation,
                           .writable = true,
                           .content = content,
                           .trusting = m->trusting,
                           .host = m->args->host};
    if (m->has_set)
        st = rset_repair_look(&m->rep, m->err);
    if (all == NULL && st == RSET_OK)
        st = rset_fail(m->err, RSET_NOMEM, "no memory for %d ranks", m->args->world->size);
    mine = m->has_set ? m->rep.found : found_without_set(m);
    st = rset_muster_gather(m, st, &mine, sizeof mine, all);
    *found_out = 0;
    for (int r = 0; st == RSET_OK && r < m->args->world->size; r++) {
        if ((all[r] & RSET_FOUND_UNKNOWN) != 0)
            m->unknown = r;
        apart = apart || (all[r] & RSET_FOUND_APART) != 0;
        changed = changed || (all[r] & (RSET_FOUND_STALE | RSET_FOUND_APART)) == RSET_FOUND_STALE;
        *found_out |= all[r];
    }
    if (apart && changed)
        *found_out |= RSET_FOUND_CUT;
    free(all);
    return st;
}

/* Each set plans to repair the whole, or where redundancy files are lost beyond repair, the data: that
 * matters more. *whole_out: all sets can do all. */
static rset_status
plan(muster *m, bool *whole_out)
{
    rset_err    why = RSET_ERR_NONE;
    rset_status st = RSET_OK;
    bool        whole = false;

    if (m->has_set)
        st = rset_repair_plan(&m->rep, &whole, m->err);
    else if ((found_without_set(m) & RSET_FOUND_HOPELESS) != 0)
        st = rset_fail(m->err, RSET_LOST,
                       "%s: lost together with all that was recorded of it; nothing was changed",
                       rset_local_name(m->args->local));
    st = rset_agree(m->args->world, st, m->args->host, m->err);
    if (st != RSET_OK)
        return st;
    st = rset_agree(m->args->world, whole ? RSET_OK : RSET_LOST, m->args->host, &why);
    *whole_out = st == RSET_OK;
    return st == RSET_OK || st == RSET_LOST ? RSET_OK : rset_fail(m->err, st, "%s", why.text);
}

/* Files that were changed and closed are taken back first, then what made that necessary: files that are
 * lost, or that a program died over. While one of those is left, a recover that follows an interruption here
 * does the same again, and never leaves it half done. */
static rset_status
publish(muster *m, int found)
{
    const bool first =
        m->has_set && (m->rep.found & RSET_FOUND_STALE) != 0 &&
        (m->rep.found & (RSET_FOUND_CUT | RSET_FOUND_BESIDE | RSET_FOUND_APART)) == 0;
    rset_status st = RSET_OK;

    if (first)
        st = rset_repair_publish(&m->rep, &m->out->replaced, m->err);
    if ((found & RSET_FOUND_STALE) != 0)
        st = rset_agree(m->args->world, st, m->args->host, m->err);
    if (st == RSET_OK && m->has_set && !first)
        st = rset_repair_publish(&m->rep, &m->out->replaced, m->err);
    return st;
}

static rset_status
write_and_publish(muster *m, int found)
{
    const rset_recover_args *a = m->args;
    rset_status              st = RSET_OK;

    if (m->has_set)
        st = rset_repair_write(&m->rep, m->err);
    st = rset_agree(a->world, st, a->host, m->err);
    if (st != RSET_OK)
        return st;
    st = publish(m, found);
    if (st == RSET_OK)
        st = rset_muster_survey(m);
    return rset_agree(a->world, st, a->host, m->err);
}

static void
note_repair(muster *m, int found, bool whole)
{
    const char *name = rset_local_name(m->args->local);
    const char *later =
        whole ? "" : "; they are not protected until they are next written and closed";

    if ((found & RSET_FOUND_DAMAGE) != 0)
        snprintf(m->out->note, sizeof m->out->note,
                 "%s: lost or damaged files protected together with it were brought back%s%s", name,
                 (found & RSET_FOUND_STALE) != 0
                     ? "; files that had been changed since were taken back to the same state"
                     : "",
                 later);
    else if ((found & RSET_FOUND_STALE) != 0)
        snprintf(m->out->note, sizeof m->out->note,
                 "%s: a job died while it changed this file or files protected together with it; "
                 "all were taken back to what was protected last%s",
                 name, later);
    else if (!whole)
        snprintf(m->out->note, sizeof m->out->note,
                 "%s: all files protected together with it are there, but too many redundancy "
                 "files are lost to repair them; the "
                 "files are not protected until they are next written and closed",
                 name);
}

/* A program may write its files without HDF5 too. That is taken for its own doing only when the same run
 * protected them, all are there, and every rank's has changed, content and time; what another run left
 * behind, or what differs on some ranks, is damage (P2). */
static bool
all_as_written(const muster *m)
{
    for (int r = 0; r < m->args->world->size; r++) {
        const card *c = &m->cards[r];

        if (!c->has || c->generation != m->generation || !c->there || !c->written)
            return false;
    }
    return true;
}

/* Changed and closed, but never protected: what the program wrote last, as long as nothing is missing. */
static rset_status
leave_stale(muster *m)
{
    rset_muster_remove_sign(m);
    snprintf(m->out->note, sizeof m->out->note,
             "%s: it or files protected together with it were changed after they were last "
             "protected (a job died before it closed them); opened as they are",
             rset_local_name(m->args->local));
    return RSET_OK;
}

/* A program died in the middle of a change, and there is no way back, nor pieces enough to do without: what is there is
 * neither what was protected last nor what the program was about to write (P2). */
static rset_status
refuse_half_changed(muster *m)
{
    const rset_err why = *m->err;

    *m->err = RSET_ERR_NONE;
    return rset_fail(m->err, RSET_LOST,
                     "%s: a job died while it changed it or files protected together with it, and "
                     "not all can be taken back to what was protected last: %s",
                     rset_local_name(m->args->local), why.text);
}

/* Nothing may be written. Files that are as recorded are opened; redundancy that is lost can wait. */
static rset_status
leave_frozen(muster *m, int found)
{
    if ((found & (RSET_FOUND_DAMAGE | RSET_FOUND_CUT | RSET_FOUND_BESIDE)) != 0)
        return rset_fail(m->err, RSET_LOST,
                         "%s: it or files protected together with it are lost, damaged or half "
                         "changed, and opened read-only with readonly_rebuild=no: open them "
                         "read-write, or without it, to bring them back",
                         rset_local_name(m->args->local));
    snprintf(m->out->note, sizeof m->out->note,
             "%s: redundancy of it or of files protected together with it is lost; open them "
             "read-write to have it made again",
             rset_local_name(m->args->local));
    return RSET_OK;
}

void
rset_muster_remove_sign(muster *m)
{
    const rset_local *local = m->args->local;
    rset_err          ignored = RSET_ERR_NONE;

    if (!m->dry && !m->frozen && m->ranks == m->args->world->size &&
        rset_evidence_apart(m->args->evidence))
        (void)rset_journal_end_sign(local, m->args->evidence, &ignored);
}

void
rset_muster_remove_leftovers(muster *m, bool whole)
{
    const rset_local    *local = m->args->local;
    const rset_evidence *ev = m->args->evidence;
    rset_err             ignored = RSET_ERR_NONE;
    bool                 gone = true;
    char                *desc;

    if (m->dry || !m->args->tidy || !ev->litter || m->ranks != m->args->world->size)
        return; /* a rank that is not there may have published what lies around here */
    if ((ev->beside || ev->waiting) &&
        (rset_beside_forget(local, &gone, &ignored) != RSET_OK || !gone))
        return;
    if (!whole || !ev->has_header || ev->over_name != NULL ||
        ev->header.infos[0].desc.generation != m->generation)
        return; /* an update that is not in its file yet is not one; nor is what could not be seen */
    desc = rset_format_desc_name(local->prefix, ev->header.infos[0].desc.rank);
    if (desc != NULL)
        (void)rset_forget(local->dir, local->prefix, ev->name, desc, &ignored);
    free(desc);
}

/* Some files have to be taken back, and of another nobody can tell whether it was changed with them: left as it
 * is, it might be new among old ones. */
static rset_status
refuse_mixture(muster *m)
{
    return rset_fail(m->err, RSET_LOST,
                     "%s: a job died while it changed files that are protected together, and they "
                     "would have to be taken back; but all that was recorded of the file of rank "
                     "%d is lost or cannot be read, so nobody can tell whether it was changed as "
                     "well. Nothing was changed; check the storage of that rank, or bring its "
                     "redundancy file back, and open again",
                     rset_local_name(m->args->local), m->unknown);
}

rset_status
rset_muster_repair(muster *m)
{
    rset_err    why;
    int         found = 0;
    bool        whole = false;
    rset_status st = look(m, m->content, &found);

    if (st == RSET_OK && !m->content && !m->trusting &&
        (found & (RSET_FOUND_DAMAGE | RSET_FOUND_BARE)) != 0)
        st = look(m, true, &found); /* whatever is computed from is verified (P2) */
    if (st != RSET_OK)
        return st;
    if ((found & (RSET_FOUND_STALE | RSET_FOUND_DAMAGE | RSET_FOUND_CUT | RSET_FOUND_BESIDE)) ==
            RSET_FOUND_STALE &&
        !m->forward)
        return leave_stale(m);
    if (m->frozen)
        return leave_frozen(m, found);
    why = *m->err;
    st = plan(m, &whole);
    if (st == RSET_LOST && (found & RSET_FOUND_DAMAGE) == 0)
        return refuse_half_changed(m);
    if (st == RSET_LOST && (found & RSET_FOUND_CUT) == 0 && all_as_written(m)) {
        *m->err = why;
        snprintf(
            m->out->note, sizeof m->out->note,
            "%s: it and files protected together with it were changed without this driver after "
            "they were last protected; opened as they are, not protected until they are next "
            "written and closed",
            rset_local_name(m->args->local));
        return RSET_OK;
    }
    if (st == RSET_OK && (found & RSET_FOUND_UNKNOWN) != 0 &&
        (found & (RSET_FOUND_STALE | RSET_FOUND_CUT)) != 0)
        return refuse_mixture(m);
    if (st == RSET_OK && !m->dry)
        st = write_and_publish(m, found);
    if (st != RSET_OK)
        return st;
    rset_muster_remove_leftovers(m, whole);
    if (whole)
        rset_muster_remove_sign(m);
    m->out->protected_ = whole;
    m->out->reprotect = !whole;
    note_repair(m, found, whole);
    return RSET_OK;
}
