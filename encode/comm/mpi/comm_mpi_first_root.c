/* comm_mpi_first_root.c: rank 0 hears who has come, and tells all to go, or who is missing. See comm_mpi_first_internal.h. */
#include "comm_mpi_first_internal.h"

#include "comm_mpi_calls.h"

/* ---- hearing and answering ---- */

/* Lists who is missing: ranks that have timed out are not to blame, unless nobody else is. */
static rset_word
who_is_missing(const rset_first *f)
{
    rset_word no = {.type = RSET_WORD_NO};

    for (int left = 0; left < 2 && no.missing == 0; left++)
        for (int r = 1; r < f->size; r++)
            if (f->guests[r].here == 0 && f->guests[r].left == left &&
                no.missing++ < RSET_FIRST_NAMED)
                no.missed[no.missing - 1] = r;
    return no;
}

static rset_status
answer(rset_first *f, int rank, rset_word w, rset_err *err)
{
    rset_first_guest *g = &f->guests[rank];

    w.seq = g->here;
    g->here = 0;
    g->left = w.type == RSET_WORD_NO;
    g->answered++;
    return rset_first_say(f, rank, w, err);
}

/* Does it open a file of the kind that rank 0 opens? */
static bool
opens_alike(const rset_first *f, const rset_first_guest *g)
{
    return f->purpose.opens != 0 && g->opens == f->purpose.opens;
}

/* One that has withdrawn may receive nothing any more but what its posted receive takes: a second
 * answer would wait where the application's own receives find it. Those that open files of one kind are all answered when the first of them has
 * waited long enough. */
static rset_status
let_go(rset_first *f, int rank, uint32_t taken, rset_err *err)
{
    rset_first_guest *g = &f->guests[rank];

    if (g->answered == taken && opens_alike(f, g)) {
        f->enough = true;
        return RSET_OK;
    }
    if (g->answered == taken)
        return answer(f, rank, who_is_missing(f), err);
    g->here = 0;
    g->left = true;
    return RSET_OK;
}

static void
come(rset_first_guest *g, const rset_word *w)
{
    g->here = w->seq;
    g->left = false;
    g->what = w->what;
    g->opens = w->opens;
    g->need = (rset_need)w->need;
    g->team = w->team;
}

static void
know(rset_first_guest *g, const rset_word *w)
{
    g->knows = w->seq;
    g->taken = w->taken;
    g->need = (rset_need)w->need;
}

static rset_status
hear_all(rset_first *f, rset_err *err)
{
    rset_status st = RSET_OK;

    for (int quiet = 0; st == RSET_OK && quiet < RSET_FIRST_QUIET;) {
        rset_word w;
        int       from = 0;
        bool      found = false;

        st = rset_first_hear(f, &w, &from, &found, err);
        quiet = found ? 0 : quiet + 1;
        if (st != RSET_OK || !found || from <= 0 || from >= f->size)
            continue;
        if (w.type == RSET_WORD_HERE)
            come(&f->guests[from], &w);
        else if (w.type == RSET_WORD_FAILED)
            f->guests[from].failed = w.what;
        else if (w.type == RSET_WORD_WITHDRAW && f->guests[from].here == w.seq)
            st = let_go(f, from, w.taken, err);
        else if (w.type == RSET_WORD_KNOWS)
            know(&f->guests[from], &w);
    }
    return st;
}

static rset_status
answer_all(rset_first *f, rset_word w, rset_err *err)
{
    rset_status st = RSET_OK;

    for (int r = 1; r < f->size && st == RSET_OK; r++)
        if (f->guests[r].here != 0)
            st = answer(f, r, w, err);
    return st;
}

/* ---- all come ---- */

/* The first rank that has failed in `what`, where all that have not come have; 0: some have not. Those that are only slow are waited
 * for, so that they hear it too. */
static int
who_has_failed(const rset_first *f, uint64_t what)
{
    int first = 0;

    for (int r = 1; r < f->size; r++) {
        if (f->guests[r].here != 0)
            continue;
        if (what == 0 || f->guests[r].failed != what)
            return 0;
        first = first == 0 ? r : first;
    }
    return first;
}

/* The first rank that has waited for `what`, and gone on; 0: none. */
static int
who_has_left(const rset_first *f, uint64_t what)
{
    int r = what != 0 ? 1 : f->size;

    while (r < f->size && !(f->guests[r].left && f->guests[r].what == what))
        r++;
    return r < f->size ? r : 0;
}

/* Which of those that are here to open files as rank 0 does are to confer with it, if any; not where one needs the others for sure. */
static void
choose_others(rset_first *f, rset_word *no)
{
    const bool confers = f->purpose.need == RSET_NEED_UNKNOWN;

    no->opens = f->purpose.opens;
    no->needy = f->purpose.opens != 0 && f->purpose.need == RSET_NEED_OTHERS;
    no->came = confers;
    for (int r = 1; r < f->size; r++) {
        rset_first_guest *g = &f->guests[r];
        const bool        alike = g->here != 0 && opens_alike(f, g);

        if (alike && g->need == RSET_NEED_OTHERS && no->needy == 0)
            no->needy = 1 + r;
        g->confers = alike && confers && g->need == RSET_NEED_UNKNOWN;
        g->knows = 0;
        no->came += g->confers;
    }
    if (no->needy != 0 || no->came == 1)
        no->came = 0;
    f->others = (rset_mpi_others){.came = no->came, .needy = no->needy - 1};
}

/* Rank 0 waits no longer. `late`: the rank that was here before it, and has gone on; 0: none. */
static rset_status
give_up(rset_first *f, rset_word no, double waited, int late, rset_err *err)
{
    rset_status st;

    f->apart = no.failed != 0 ? RSET_APART_FAILED
               : late != 0    ? RSET_APART_LATE
                              : RSET_APART_MISSING;
    choose_others(f, &no);
    st = answer_all(f, no, err);
    if (st == RSET_OK && f->apart == RSET_APART_LATE)
        return rset_fail(err, RSET_PEER,
                         "this rank is late: rank %d was here, has waited, and gone on without it",
                         late);
    return st == RSET_OK ? rset_first_missing(f, &no, waited, err) : st;
}

/* All are here. */
static rset_status
let_all_go(rset_first *f, rset_err *err)
{
    for (int r = 1; r < f->size; r++)
        f->teams = f->teams || f->guests[r].team != f->purpose.team;
    return answer_all(f, (rset_word){.type = RSET_WORD_GO, .team = f->teams}, err);
}

rset_status
rset_first_gather(rset_first *f, double timeout, rset_err *err)
{
    const uint64_t what = f->purpose.what;
    const double   start = rset_clock();
    double         until = start + timeout;
    int            late = -1; /* not known yet */
    rset_pause     pause = {0};

    f->enough = false;
    for (int r = 1; r < f->size; r++)
        f->guests[r].left = false;
    for (;;) {
        const double now = rset_clock();
        rset_status  st = hear_all(f, err);
        rset_word    no = who_is_missing(f);
        int          left, failed;

        if (st == RSET_OK && no.missing == 0)
            return let_all_go(f, err);
        left = who_has_left(f, what);
        failed = who_has_failed(f, what);
        late = late < 0 ? left : late;
        if (left != 0 && until > now + RSET_FIRST_GRACE)
            until = now + RSET_FIRST_GRACE;
        no.what = what;
        no.failed = failed != 0 ? failed + 1 : 0;
        if (st == RSET_OK && (now > until || no.failed != 0 || f->enough))
            return give_up(f, no, now - start, late, err);
        if (st != RSET_OK)
            return st;
        rset_first_say_waiting(f, start, timeout, &no);
        rset_pause_once(&pause);
    }
}

/* ---- those that came confer ---- */

static bool
all_know(const rset_first *f)
{
    int r = 1;

    while (r < f->size && (!f->guests[r].confers || f->guests[r].knows != 0))
        r++;
    return r == f->size;
}

/* To those that have said what they need; but one that has not taken the last answer may have gone on (let_go). */
static rset_status
tell_known(rset_first *f, rset_err *err)
{
    rset_word   known = {.type = RSET_WORD_KNOWN, .needy = f->others.needy + 1};
    rset_status st = RSET_OK;

    for (int r = 1; r < f->size && st == RSET_OK; r++) {
        rset_first_guest *g = &f->guests[r];

        known.seq = g->knows;
        if (g->confers && g->knows != 0 && g->answered == g->taken) {
            g->answered++;
            st = rset_first_say(f, r, known, err);
        }
        g->confers = false;
        g->knows = 0;
    }
    return st;
}

rset_status
rset_first_confer_root(rset_first *f, double timeout, bool needs, rset_err *err)
{
    const double until = rset_clock() + timeout;
    rset_pause   pause = {0};
    rset_status  st = hear_all(f, err);

    while (st == RSET_OK && !all_know(f) && rset_clock() < until) {
        rset_pause_once(&pause);
        st = hear_all(f, err);
    }
    f->others.needy = needs ? 0 : -1;
    for (int r = 1; r < f->size && f->others.needy < 0; r++)
        if (f->guests[r].confers && f->guests[r].knows != 0 &&
            f->guests[r].need == RSET_NEED_OTHERS)
            f->others.needy = r;
    return st == RSET_OK ? tell_known(f, err) : st;
}
