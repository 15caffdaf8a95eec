/* comm_mpi_first.c: see comm_mpi_first.h. */
#include "comm_mpi_first.h"

#include "comm/comm.h"
#include "comm_mpi_dup.h"
#include "comm_mpi_fault.h"

#include <stdio.h>
#include <stdlib.h>

#include "comm_mpi_calls.h"

/* How long a rank that has withdrawn waits for what rank 0 has to say to that: it may have called
 * everybody in that very moment. */
#define GRACE 0.5

/* Looks in a row without a message after which none is under way, as far as one can tell. */
enum { QUIET = 3, NAMED = 8 };

typedef enum {
    WORD_HERE = 1, /* to rank 0: I have come */
    WORD_WITHDRAW, /* to rank 0: I do not wait any longer */
    WORD_FAILED,   /* to rank 0: I will not come for `what` */
    WORD_GO,       /* from rank 0: all are here */
    WORD_NO        /* from rank 0: not so; who is missing */
} word_type;

typedef struct word {
    int32_t  type;
    uint32_t seq;   /* of the coming that this is or answers */
    uint32_t taken; /* to rank 0: answers that this rank has received */
    int32_t  missing, missed[NAMED];
    int32_t  failed; /* NO: 1 + the rank that has failed; 0: none */
    uint64_t what;   /* that its sender comes for */
} word;

/* A message that may still be under way. */
typedef struct sent {
    struct sent *next;
    MPI_Request  request;
    word         word;
    bool         kept; /* one of rset_first's blanks */
    bool         busy; /* and under way */
} sent;

/* Rank 0's view of one rank. */
typedef struct guest {
    uint32_t here;     /* seq while it waits, else 0 */
    bool     left;     /* has come, and timed out */
    uint32_t answered; /* how often */
    uint64_t what;     /* that it comes for, or came for last */
    uint64_t failed;   /* that it has failed in last */
} guest;

struct rset_first {
    MPI_Comm    parent;
    int         rank, size, tag; /* to rank 0; answers have the next one */
    uint32_t    seq;
    uint32_t    taken; /* answers of rank 0 */
    word        in;    /* of the receive that is always posted, so that nobody else gets it */
    MPI_Request posted;
    sent       *sent;
    sent
        *blanks; /* for each rank that is spoken to, where there is no memory: else it would wait */
    bool told;   /* by rank 0 that somebody is missing */
    rset_apart apart;  /* why they have not come together the last time */
    guest     *guests; /* rank 0's */
};

static rset_status
failed(const rset_first *f, int rc, rset_err *err)
{
    return rset_mpi_failed(f->parent, rc, "bringing the ranks of the communicator together", err);
}

static rset_status
listen(rset_first *f, rset_err *err)
{
    bool root = f->rank == 0;
    int  rc = MPI_Irecv(&f->in, (int)sizeof f->in, MPI_BYTE, root ? MPI_ANY_SOURCE : 0,
                       root ? f->tag : f->tag + 1, f->parent, &f->posted);

    return rc == MPI_SUCCESS ? RSET_OK : failed(f, rc, err);
}

static rset_status
set_up(rset_first *f, rset_err *err)
{
    const int *most = NULL;
    int        found = 0, rc = MPI_Comm_rank(f->parent, &f->rank);

    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_size(f->parent, &f->size);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &found);
    if (rc != MPI_SUCCESS || !found)
        return failed(f, rc, err);
    f->tag = *most - 2; /* where applications have none */
    f->guests = calloc((size_t)f->size + 1, sizeof *f->guests);
    f->blanks = calloc(f->rank == 0 ? (size_t)f->size : 1, sizeof *f->blanks);
    if (f->guests == NULL || f->blanks == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for a communicator");
    return listen(f, err);
}

rset_status
rset_first_new(MPI_Comm parent, rset_first **out, rset_err *err)
{
    rset_first *f = calloc(1, sizeof *f);
    rset_hush   hush;
    rset_status st;

    if (f == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for a communicator");
    f->parent = parent;
    f->posted = MPI_REQUEST_NULL;
    hush = rset_mpi_hush(parent);
    st = set_up(f, err);
    rset_mpi_unhush(&hush);
    if (st != RSET_OK) {
        free(f->guests);
        free(f->blanks);
        free(f);
        return st;
    }
    *out = f;
    return RSET_OK;
}

static void
reap(rset_first *f)
{
    for (sent **at = &f->sent; *at != NULL;) {
        sent *s = *at;
        int   done = 0;

        if (MPI_Test(&s->request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        s->busy = false;
        if (!s->kept)
            free(s);
    }
}

/* The next message, if there is one. */
static rset_status
hear(rset_first *f, word *out, int *from_out, bool *found_out, rset_err *err)
{
    MPI_Status status = {0};
    int        done = 0, rc = MPI_Test(&f->posted, &done, &status);

    *found_out = done != 0;
    if (rc != MPI_SUCCESS)
        return failed(f, rc, err);
    if (!done)
        return rset_mpi_whole(f->parent, err);
    f->taken++;
    *out = f->in;
    *from_out = status.MPI_SOURCE;
    return listen(f, err);
}

/* Words that nobody has listened to, such as of a rank that was more patient than rank 0. MPICH ends a job in MPI_Finalize
 * where messages were not received. */
static void
take_the_rest(rset_first *f)
{
    for (int quiet = 0; quiet < QUIET && f->posted != MPI_REQUEST_NULL;) {
        word ignored;
        int  from;
        bool found;

        if (hear(f, &ignored, &from, &found, NULL) != RSET_OK)
            return;
        quiet = found ? 0 : quiet + 1;
    }
}

void
rset_first_free(rset_first *first)
{
    const double until = rset_clock() + 0.01;
    rset_hush    hush;
    int          done = 0;

    if (first == NULL)
        return;
    hush = rset_mpi_hush(first->parent);
    take_the_rest(first);
    reap(first); /* what is still under way keeps its memory */
    if (first->posted != MPI_REQUEST_NULL && MPI_Cancel(&first->posted) == MPI_SUCCESS)
        while (!done && rset_clock() < until)
            if (MPI_Test(&first->posted, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
                break;
    rset_mpi_unhush(&hush);
    free(first->guests);
    if (first->sent == NULL)
        free(first->blanks);
    if (done || first->posted == MPI_REQUEST_NULL)
        free(first);
}

static sent *
new_sent(rset_first *f, int to)
{
    sent *s = calloc(1, sizeof *s), *blank = &f->blanks[to];

    if (s != NULL)
        return s;
    reap(f);
    if (blank->busy)
        return NULL;
    *blank = (sent){.kept = true, .busy = true};
    return blank;
}

static rset_status
say(rset_first *f, int to, word w, rset_err *err)
{
    sent *s = new_sent(f, to);
    int   rc;

    if (s == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for a message");
    s->word = w;
    rc = MPI_Isend(&s->word, (int)sizeof s->word, MPI_BYTE, to, to == 0 ? f->tag : f->tag + 1,
                   f->parent, &s->request);
    if (rc != MPI_SUCCESS) {
        s->busy = false;
        if (!s->kept)
            free(s);
        return failed(f, rc, err);
    }
    s->next = f->sent;
    f->sent = s;
    return RSET_OK;
}

/* ---- rank 0 ---- */

/* Those that have timed out are not to blame, unless nobody else is. */
static word
who_is_missing(const rset_first *f)
{
    word no = {.type = WORD_NO};

    for (int left = 0; left < 2 && no.missing == 0; left++)
        for (int r = 1; r < f->size; r++)
            if (f->guests[r].here == 0 && f->guests[r].left == left && no.missing++ < NAMED)
                no.missed[no.missing - 1] = r;
    return no;
}

static rset_status
answer(rset_first *f, int rank, word w, rset_err *err)
{
    guest *g = &f->guests[rank];

    w.seq = g->here;
    g->here = 0;
    g->left = w.type == WORD_NO;
    g->answered++;
    return say(f, rank, w, err);
}

/* One that has withdrawn may receive nothing any more but what its posted receive takes: a second
 * answer would wait where the application's own receives find it. */
static rset_status
let_go(rset_first *f, int rank, uint32_t taken, rset_err *err)
{
    guest *g = &f->guests[rank];

    if (g->answered == taken)
        return answer(f, rank, who_is_missing(f), err);
    g->here = 0;
    g->left = true;
    return RSET_OK;
}

static void
come(guest *g, const word *w)
{
    g->here = w->seq;
    g->left = false;
    g->what = w->what;
}

static rset_status
hear_all(rset_first *f, rset_err *err)
{
    rset_status st = RSET_OK;

    for (int quiet = 0; st == RSET_OK && quiet < QUIET;) {
        word w;
        int  from = 0;
        bool found = false;

        st = hear(f, &w, &from, &found, err);
        quiet = found ? 0 : quiet + 1;
        if (st != RSET_OK || !found || from <= 0 || from >= f->size)
            continue;
        if (w.type == WORD_HERE)
            come(&f->guests[from], &w);
        else if (w.type == WORD_FAILED)
            f->guests[from].failed = w.what;
        else if (w.type == WORD_WITHDRAW && f->guests[from].here == w.seq)
            st = let_go(f, from, w.taken, err);
    }
    return st;
}

static rset_status
answer_all(rset_first *f, word w, rset_err *err)
{
    rset_status st = RSET_OK;

    for (int r = 1; r < f->size && st == RSET_OK; r++)
        if (f->guests[r].here != 0)
            st = answer(f, r, w, err);
    return st;
}

/* ---- all ---- */

enum { WHO = NAMED * 12 + 16 };

static const char *
name_missing(const word *no, char who_out[WHO])
{
    size_t used = 0;
    int    n = no->missing < NAMED ? no->missing : NAMED;

    who_out[0] = '\0';
    for (int i = 0; i < n; i++)
        used +=
            (size_t)snprintf(who_out + used, WHO - used, "%s%d", i > 0 ? ", " : "", no->missed[i]);
    if (no->missing > NAMED)
        snprintf(who_out + used, WHO - used, " and others");
    return who_out;
}

static rset_status
tell_missing(const rset_first *f, const word *no, double timeout, rset_err *err)
{
    char who[WHO];

    if (no->failed > 0)
        return rset_fail(err, RSET_PEER, "rank %d could not create its file", no->failed - 1);
    if (f->apart == RSET_APART_SILENT)
        return rset_fail(err, RSET_PEER, "rank 0 has not answered for %.3g s", timeout);
    return rset_fail(err, RSET_PEER, "timed out after %.3g s waiting for rank %s", timeout,
                     name_missing(no, who));
}

/* The others begin later: where rank 0 waits as well, that says it. */
static void
say_waiting(const rset_first *f, double start, double timeout, const word *no)
{
    char who[WHO];

    if (rset_comm_long_wait(start, f->rank == 0 ? RSET_LONG_WAIT : 3 * RSET_LONG_WAIT))
        rset_comm_say_waiting("for rank %s, at most %g s (timeout=): not all ranks have opened or "
                              "closed such a file yet",
                              name_missing(no, who), timeout);
}

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

/* Rank 0 waits no longer. `late`: the rank that was here before it, and has gone on; 0: none. */
static rset_status
give_up(rset_first *f, word no, double waited, int late, rset_err *err)
{
    rset_status st;

    f->apart = no.failed != 0 ? RSET_APART_FAILED
               : late != 0    ? RSET_APART_LATE
                              : RSET_APART_MISSING;
    st = answer_all(f, no, err);
    if (st == RSET_OK && f->apart == RSET_APART_LATE)
        return rset_fail(err, RSET_PEER,
                         "this rank is late: rank %d was here, has waited, and gone on without it",
                         late);
    return st == RSET_OK ? tell_missing(f, &no, waited, err) : st;
}

static rset_status
gather(rset_first *f, double timeout, uint64_t what, rset_err *err)
{
    const double start = rset_clock();
    double       until = start + timeout;
    int          late = -1; /* not known yet */
    rset_pause   pause = {0};

    for (int r = 1; r < f->size; r++)
        f->guests[r].left = false;
    for (;;) {
        const double now = rset_clock();
        rset_status  st = hear_all(f, err);
        word         no = who_is_missing(f);
        int          left, failed;

        if (st == RSET_OK && no.missing == 0)
            return answer_all(f, (word){.type = WORD_GO}, err);
        left = who_has_left(f, what);
        failed = who_has_failed(f, what);
        late = late < 0 ? left : late;
        if (left != 0 && until > now + GRACE)
            until = now + GRACE;
        no.what = what;
        no.failed = failed != 0 ? failed + 1 : 0;
        if (st == RSET_OK && (now > until || no.failed != 0))
            return give_up(f, no, now - start, late, err);
        if (st != RSET_OK)
            return st;
        say_waiting(f, start, timeout, &no);
        rset_pause_once(&pause);
    }
}

/* Rank 0 refuses when its own patience ends; ours may last longer, so report again then. */
static rset_status
report(rset_first *f, double timeout, uint64_t what, rset_err *err)
{
    double      start = rset_clock(), until = start + timeout;
    bool        withdrawn = false, found = true, refused = true;
    rset_pause  pause = {0};
    word        w, why = {.missing = 1}; /* rank 0, as far as we know */
    int         from = 0;
    rset_status st = RSET_OK;

    f->told = false;
    f->apart = RSET_APART_SILENT;
    while (st == RSET_OK) {
        const double now = rset_clock();

        if (refused && !withdrawn) {
            f->seq = f->seq == UINT32_MAX ? 1 : f->seq + 1;
            st =
                say(f, 0, (word){.type = WORD_HERE, .seq = f->seq, .taken = f->taken, .what = what},
                    err);
            refused = false;
        } else if (!found && now > until && !withdrawn) {
            withdrawn = true;
            until = now + GRACE;
            st = say(f, 0, (word){.type = WORD_WITHDRAW, .seq = f->seq, .taken = f->taken}, err);
        } else if (refused || (!found && now > until)) {
            return tell_missing(f, &why, now - start, err);
        }
        if (st == RSET_OK)
            st = hear(f, &w, &from, &found, err);
        if (st != RSET_OK || !found || w.seq != f->seq) {
            say_waiting(f, start, timeout, &why);
            rset_pause_once(&pause);
            continue;
        }
        if (w.type == WORD_GO)
            return RSET_OK;
        why = w;
        refused = f->told = true;
        f->apart = w.failed != 0 ? RSET_APART_FAILED : RSET_APART_MISSING;
        if (what != 0 && w.what == what) /* rank 0 has gone on from what this rank waits for */
            return tell_missing(f, &why, rset_clock() - start, err);
    }
    return st;
}

bool
rset_first_told(const rset_first *first)
{
    return first->told;
}

rset_apart
rset_first_apart(const rset_first *first)
{
    return first->apart;
}

void
rset_first_fail(rset_first *first, uint64_t what)
{
    rset_hush hush = rset_mpi_hush(first->parent);

    reap(first);
    if (first->rank != 0)
        (void)say(first, 0, (word){.type = WORD_FAILED, .what = what}, NULL);
    rset_mpi_unhush(&hush);
}

rset_status
rset_first_come(rset_first *first, double timeout, uint64_t what, rset_err *err)
{
    rset_hush   hush = rset_mpi_hush(first->parent);
    rset_status st;

    reap(first);
    st = first->rank == 0 ? gather(first, timeout, what, err) : report(first, timeout, what, err);
    rset_mpi_unhush(&hush);
    return st;
}
