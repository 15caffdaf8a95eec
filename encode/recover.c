/* recover.c: all ranks look at what they have, find out which file is whose, and bring back what is
 * lost. The parallel side of the door (encode.h); one set's part is rebuild.c, who is who
 * recover_who.c. */
#include "recover.h"
#include "journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- step 1: everyone's card ---- */

/* Storage that loses or garbles content leaves the times alone; whoever writes a file changes them. */
static bool
times_changed(const rset_local *local, const rset_info *info)
{
    struct stat sb;

    for (int i = 0; i < local->nfiles && i < info->nfiles; i++) {
        const rset_attrs *a = &info->files[i].attrs;

        if (rset_dir_stat(local->dir, local->names[i], &sb, NULL) == RSET_OK &&
            ((uint64_t)sb.st_mtim.tv_sec != a->mtime_secs ||
             (uint64_t)sb.st_mtim.tv_nsec != a->mtime_nsecs))
            return true;
    }
    return false;
}

/* Data and redundancy against this rank's own header. */
static rset_status
verify_card(muster *m, card *c)
{
    const rset_recover_args *a = m->args;
    const rset_evidence     *ev = a->evidence;
    rset_ranges              data = {0}, payload = {0};
    bool                     damaged = false;
    rset_status              st;

    st = rset_verify_data(a->local, &ev->header.infos[0], a->content || ev->is_void, &data,
                          &damaged, m->err);
    if (st == RSET_OK)
        st = rset_verify_payload(a->local, ev, a->content, &payload, m->err);
    c->damaged = damaged;
    if (st == RSET_OK && damaged && ev->beside) {
        bool fits = false;

        st = rset_beside_fits(a->local, ev, &fits, m->err);
        c->beside = fits;
    }
    c->written = damaged && a->own_run && times_changed(a->local, &ev->header.infos[0]);
    c->bare = payload.n > 0 || !rset_evidence_described(ev);
    rset_ranges_free(&data);
    rset_ranges_free(&payload);
    return st;
}

static card
own_card(muster *m, rset_status *st)
{
    const rset_recover_args *a = m->args;
    const rset_evidence     *ev = a->evidence;
    card                     c = {.status = (int32_t)*st,
                                  .any = ev->any,
                                  .has = ev->has_header,
                                  .is_void = ev->is_void,
                                  .next = ev->next,
                                  .frozen = a->frozen};

    c.name = a->local->nfiles > 0 ? rset_muster_hash(a->local->names[0]) : 0;
    c.there = *st == RSET_OK;
    for (int i = 0; c.there && i < a->local->nfiles; i++)
        c.there = rset_dir_has_file(a->local->dir, a->local->names[i]);
    if (*st == RSET_OK && ev->old.busy)
        *st = rset_fail(m->err, RSET_IO,
                        "%s: is being changed by another process; wait until it has closed it",
                        rset_local_name(a->local));
    if (*st == RSET_OK && ev->has_header) {
        const rset_desc *d = &ev->header.infos[0].desc;

        c.rank = d->rank;
        c.ranks = d->ranks;
        c.set = d->set;
        c.member = d->member;
        c.members = d->members;
        c.generation = d->generation;
        *st = verify_card(m, &c);
        c.status = (int32_t)*st;
    }
    return c;
}

/* Everyone's `len` bytes to all, and then all know that all have them: a rank that could not take them
 * in does not fail alone. */
static rset_status
gather_agreed(muster *m, const void *mine, size_t len, void *all)
{
    rset_status st = rset_gather_fixed(m->args->world, mine, len, all, m->err);

    return rset_agree(m->args->world, st, m->args->host, m->err);
}

static rset_status
gather_cards(muster *m)
{
    rset_status st = m->args->before;
    card        mine = own_card(m, &st);

    m->cards = calloc((size_t)m->args->world->size, sizeof *m->cards);
    if (m->cards == NULL && st == RSET_OK)
        st = rset_fail(m->err, RSET_NOMEM, "no memory for %d ranks", m->args->world->size);
    st = rset_agree(m->args->world, st, m->args->host, m->err);
    if (st == RSET_OK)
        st = gather_agreed(m, &mine, sizeof mine, m->cards);
    return st;
}

/* ---- step 2: which generation ---- */

/* Votes for a generation: published headers, and complete unpublished ones when somebody published
 * it: then the commit had been decided by all, and goes forward (P11). */
static int
votes(const muster *m, uint64_t generation)
{
    int published = 0, waiting = 0;

    for (int r = 0; r < m->args->world->size; r++) {
        const card *c = &m->cards[r];

        if (c->has && c->generation == generation)
            published++;
        else if (c->next == generation && generation != 0)
            waiting++;
    }
    return published > 0 ? published + waiting : 0;
}

/* The generation that most ranks have; of two equally common ones the newer. */
static void
choose_generation(muster *m)
{
    int best = 0;

    for (int r = 0; r < m->args->world->size; r++) {
        const card *c = &m->cards[r];
        int         n = c->has ? votes(m, c->generation) : 0;

        if (n > best ||
            (n > 0 && n == best && rset_generation_newer(c->generation, m->generation))) {
            best = n;
            m->generation = c->generation;
            m->ranks = c->ranks;
        }
    }
}

/* ---- step 3: is there anything to do ---- */

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

/* ---- step 5: repair ---- */

/* A rank of whose set nothing is known: its file can stay when it is there. */
static int
found_without_set(const muster *m)
{
    const rset_evidence *ev = m->args->evidence;
    const card          *c = &m->cards[m->args->world->rank];

    if (c->there && !ev->has_header && (ev->mark == 0 || ev->mark == m->generation))
        return RSET_FOUND_BARE | RSET_FOUND_BLIND;
    return RSET_FOUND_DAMAGE | RSET_FOUND_HOPELESS;
}

/* Everyone looks; *found_out: what all ranks found, or-ed. */
static rset_status
look(muster *m, bool content, int *found_out)
{
    int32_t     mine, *all = calloc((size_t)m->args->world->size, sizeof *all);
    rset_status st = RSET_OK;

    rset_repair_end(&m->rep);
    m->rep = (rset_repair){.set = &m->set,
                           .local = m->args->local,
                           .evidence = m->args->evidence,
                           .generation = m->generation,
                           .writable = true,
                           .content = content,
                           .host = m->args->host};
    if (m->has_set)
        st = rset_repair_look(&m->rep, m->err);
    if (all == NULL && st == RSET_OK)
        st = rset_fail(m->err, RSET_NOMEM, "no memory for %d ranks", m->args->world->size);
    st = rset_agree(m->args->world, st, m->args->host, m->err);
    mine = m->has_set ? m->rep.found : found_without_set(m);
    if (st == RSET_OK)
        st = gather_agreed(m, &mine, sizeof mine, all);
    *found_out = 0;
    for (int r = 0; st == RSET_OK && r < m->args->world->size; r++)
        *found_out |= all[r];
    free(all);
    return st;
}

/* Each set plans to repair the whole, or where redundancy files are lost beyond repair, the data: that
 * matters more. *whole_out: all sets can do all. */
static rset_status
plan(muster *m, bool *whole_out)
{
    rset_err    why = RSET_ERR_NONE;
    rset_status st = RSET_LOST, whole;

    if (m->has_set)
        st = rset_repair_plan(&m->rep, false, NULL);
    whole = st;
    if (st == RSET_LOST && m->has_set)
        st = rset_repair_plan(&m->rep, true, m->err);
    else if (st == RSET_LOST && (found_without_set(m) & RSET_FOUND_HOPELESS) == 0)
        st = RSET_OK;
    if (st != RSET_OK)
        (void)rset_fail(m->err, st,
                        "%s: lost together with all that was recorded of it; nothing was changed",
                        rset_local_name(m->args->local));
    st = rset_agree(m->args->world, st, m->args->host, m->err);
    if (st != RSET_OK)
        return st;
    whole = rset_agree(m->args->world, whole, m->args->host, &why);
    *whole_out = whole == RSET_OK;
    return whole == RSET_OK || whole == RSET_LOST ? RSET_OK
                                                  : rset_fail(m->err, whole, "%s", why.text);
}

/* Files that were changed and closed are taken back first, then what made that necessary: files that are
 * lost, or that a program died over. While one of those is left, a recover that follows an interruption here
 * does the same again, and never leaves it half done. */
static rset_status
publish(muster *m, int found)
{
    const bool first = m->has_set && (m->rep.found & RSET_FOUND_STALE) != 0 &&
                       (m->rep.found & RSET_FOUND_CUT) == 0;
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
    const char *prefix = rset_local_name(m->args->local);

    if ((found & RSET_FOUND_DAMAGE) != 0)
        snprintf(
            m->out->note, sizeof m->out->note,
            "%s: lost or damaged files protected together with it were brought back%s%s", prefix,
            (found & RSET_FOUND_STALE) != 0
                ? "; files that a dead job had begun to change were taken back to the same state"
                : "",
            whole ? "" : "; they are not protected until they are next written and closed");
    else if (!whole)
        snprintf(m->out->note, sizeof m->out->note,
                 "%s: all files protected together with it are there, but too many redundancy "
                 "files are lost to repair them; the "
                 "files are not protected until they are next written and closed",
                 prefix);
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
    snprintf(m->out->note, sizeof m->out->note,
             "%s: it or files protected together with it were changed after they were last "
             "protected (a job died before it closed them); opened as they are",
             rset_local_name(m->args->local));
    return RSET_OK;
}

/* Nothing may be written. Files that are as recorded are opened; redundancy that is lost can wait. */
static rset_status
leave_frozen(muster *m, int found)
{
    if ((found & (RSET_FOUND_DAMAGE | RSET_FOUND_CUT)) != 0)
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

static rset_status
repair(muster *m)
{
    rset_err    why;
    int         found = 0;
    bool        whole = false;
    rset_status st = look(m, m->args->content, &found);

    if (st == RSET_OK && !m->args->content && (found & (RSET_FOUND_DAMAGE | RSET_FOUND_BARE)) != 0)
        st = look(m, true, &found); /* whatever is computed from is verified (P2) */
    if (st != RSET_OK)
        return st;
    if ((found & (RSET_FOUND_STALE | RSET_FOUND_DAMAGE | RSET_FOUND_CUT)) == RSET_FOUND_STALE)
        return leave_stale(m);
    if (m->frozen)
        return leave_frozen(m, found);
    why = *m->err;
    st = plan(m, &whole);
    if (st == RSET_LOST && (found & RSET_FOUND_DAMAGE) == 0) {
        *m->err = why; /* nothing is missing, only the way back */
        return leave_stale(m);
    }
    if (st == RSET_LOST && all_as_written(m)) {
        *m->err = why;
        snprintf(
            m->out->note, sizeof m->out->note,
            "%s: it and files protected together with it were changed without this driver after "
            "they were last protected; opened as they are, not protected until they are next "
            "written and closed",
            rset_local_name(m->args->local));
        return RSET_OK;
    }
    if (st == RSET_OK)
        st = write_and_publish(m, found);
    if (st != RSET_OK)
        return st;
    m->out->protected_ = whole;
    m->out->reprotect = !whole;
    note_repair(m, found, whole);
    return RSET_OK;
}

/* Nobody has a redundancy file left, or never had. */
static rset_status
without_headers(muster *m, tally t)
{
    if (t.any == 0)
        return rset_fail(m->err, RSET_ABSENT, "%s: not protected", rset_local_name(m->args->local));
    if (t.missing > 0)
        return rset_fail(m->err, RSET_LOST,
                         "%s: %d of %d files protected together are missing, and no rank has a "
                         "redundancy file left",
                         rset_local_name(m->args->local), t.missing, m->args->world->size);
    m->out->reprotect = true;
    snprintf(m->out->note, sizeof m->out->note,
             "%s: the files are there, but no rank has a redundancy file left; they are not "
             "protected until they are next written and closed",
             rset_local_name(m->args->local));
    return RSET_OK;
}

/* More or fewer ranks than at the encode, all of their files there: opened, but not to be mended. */
static rset_status
with_other_ranks(muster *m)
{
    m->out->reprotect = true;
    snprintf(
        m->out->note, sizeof m->out->note,
        "%s: protected by %d ranks, opened by %d: redundancy that was lost or is void cannot be "
        "repaired now; the files are not protected until they are next written and closed",
        rset_local_name(m->args->local), m->ranks, m->args->world->size);
    return RSET_OK;
}

/* All is well. What dead runs left behind takes space. */
static rset_status
tidy_up(muster *m)
{
    const rset_local    *local = m->args->local;
    const rset_evidence *ev = m->args->evidence;
    rset_err             ignored = RSET_ERR_NONE;
    char                *desc;

    m->out->protected_ = true;
    if (!m->args->tidy || !ev->litter || rset_beside_forget(local, &ignored) != RSET_OK)
        return RSET_OK;
    desc = rset_format_desc_name(local->prefix, ev->header.infos[0].desc.rank);
    if (desc != NULL)
        (void)rset_forget(local->dir, local->prefix, ev->name, desc, &ignored);
    free(desc);
    return RSET_OK;
}

static rset_status
bring_back(muster *m)
{
    rset_status st = gather_cards(m);
    tally       t;

    if (st != RSET_OK)
        return st;
    choose_generation(m);
    for (int r = 0; r < m->args->world->size; r++)
        m->frozen = m->frozen || m->cards[r].frozen;
    m->out->frozen = m->frozen;
    if (!m->frozen && rset_muster_commit_unfinished(m)) {
        st = rset_agree(m->args->world, rset_muster_roll_forward(m), m->args->host, m->err);
        free(m->cards);
        m->cards = NULL;
        if (st == RSET_OK)
            st = gather_cards(m);
        if (st != RSET_OK)
            return st;
    }
    t = count(m);
    if (t.has == 0)
        return without_headers(m, t);
    if (t.has == m->args->world->size && t.missing + t.damaged + t.stale + t.bare == 0)
        return tidy_up(m);
    if (m->ranks != m->args->world->size && t.has == m->args->world->size &&
        t.missing + t.damaged == 0)
        return with_other_ranks(m);
    st = rset_muster_places(m);
    return st == RSET_OK ? repair(m) : st;
}

rset_status
rset_recover(const rset_recover_args *args, rset_outcome *out, rset_err *err)
{
    muster      m = {.args = args, .err = err, .out = out};
    rset_status st;

    *out = (rset_outcome){0};
    st = bring_back(&m);
    rset_repair_end(&m.rep);
    if (m.has_set)
        rset_comm_free(&m.set);
    free(m.cards);
    free(m.places);
    return st;
}
