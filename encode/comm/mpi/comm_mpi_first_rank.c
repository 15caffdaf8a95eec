/* comm_mpi_first_rank.c: a rank tells rank 0 that it has come, and waits for its answer. See comm_mpi_first_internal.h. */
#include "comm_mpi_first_internal.h"

#include "comm_mpi_calls.h"

static rset_word
word_of(rset_first *f, rset_word_type type)
{
    return (rset_word){.type = (int32_t)type,
                       .seq = f->seq,
                       .taken = f->taken,
                       .need = (int32_t)f->purpose.need,
                       .what = f->purpose.what,
                       .opens = f->purpose.opens,
                       .team = f->purpose.team};
}

static void
count(rset_first *f)
{
    f->seq = f->seq == UINT32_MAX ? 1 : f->seq + 1;
}

/* Somebody is missing. True: rank 0 waits no longer for what this rank waits for, nor does this rank. */
static bool
take_no(rset_first *f, const rset_word *no)
{
    const rset_purpose *p = &f->purpose;
    const bool          alike = p->opens != 0 && no->opens == p->opens;

    f->told = true;
    f->apart = no->failed != 0 ? RSET_APART_FAILED : RSET_APART_MISSING;
    if (alike && no->needy > 0)
        f->others.needy = no->needy - 1;
    if (alike && p->need == RSET_NEED_UNKNOWN)
        f->others.came = no->came;
    return (p->what != 0 && no->what == p->what) || f->others.needy >= 0 || f->others.came > 0;
}

/* Rank 0 refuses when its own patience ends; ours may last longer, so report again then. */
rset_status
rset_first_report(rset_first *f, double timeout, rset_err *err)
{
    double      start = rset_clock(), until = start + timeout;
    bool        withdrawn = false, found = true, refused = true;
    rset_pause  pause = {0};
    rset_word   w, why = {.missing = 1}; /* rank 0, as far as we know */
    int         from = 0;
    rset_status st = RSET_OK;

    f->told = false;
    f->apart = RSET_APART_SILENT;
    while (st == RSET_OK) {
        const double now = rset_clock();

        if (refused && !withdrawn) {
            count(f);
            st = rset_first_say(f, 0, word_of(f, RSET_WORD_HERE), err);
            refused = false;
        } else if (!found && now > until && !withdrawn) {
            withdrawn = true;
            until = now + RSET_FIRST_GRACE;
            st = rset_first_say(f, 0, word_of(f, RSET_WORD_WITHDRAW), err);
        } else if (refused || (!found && now > until)) {
            return rset_first_missing(f, &why, now - start, err);
        }
        if (st == RSET_OK)
            st = rset_first_hear(f, &w, &from, &found, err);
        if (st != RSET_OK || !found || w.seq != f->seq) {
            rset_first_say_waiting(f, start, timeout, &why);
            rset_pause_once(&pause);
            continue;
        }
        if (w.type == RSET_WORD_GO) {
            f->teams = w.team != 0;
            return RSET_OK;
        }
        why = w;
        refused = true;
        if (take_no(f, &why))
            return rset_first_missing(f, &why, rset_clock() - start, err);
    }
    return st;
}

/* Rank 0 may still find out what it needs itself, and waits for the others after that. */
rset_status
rset_first_confer_rank(rset_first *f, double timeout, bool needs, rset_err *err)
{
    const double until = rset_clock() + 2 * timeout + RSET_FIRST_GRACE;
    rset_pause   pause = {0};
    rset_word    w;
    rset_status  st;

    count(f);
    f->purpose.need = needs ? RSET_NEED_OTHERS : RSET_NEED_NOTHING;
    st = rset_first_say(f, 0, word_of(f, RSET_WORD_KNOWS), err);
    while (st == RSET_OK && rset_clock() < until) {
        int  from = 0;
        bool found = false;

        st = rset_first_hear(f, &w, &from, &found, err);
        if (st == RSET_OK && found && w.type == RSET_WORD_KNOWN && w.seq == f->seq) {
            f->others.needy = w.needy - 1;
            return RSET_OK;
        }
        rset_pause_once(&pause);
    }
    if (needs)
        f->others.needy = f->rank;
    return st;
}
