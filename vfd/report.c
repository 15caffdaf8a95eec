/* report.c: see report.h. */
#include "report_internal.h"

#include "comm/mpi/comm_mpi.h"
#include "given.h"
#include "h5err.h"
#include "path.h"
#include "said.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* More kinds than that are not told one by one. */
enum { KINDS_MAX = 64 };

/* Where the report on a place goes. */
typedef struct want {
    struct want *next;
    const void  *place;
    char        *to;      /* absolute path, or "stderr" */
    pid_t        process; /* not a child that was forked */
    int          rank;    /* in MPI_COMM_WORLD; 0 without MPI */
    atomic_bool  ended;
} want;

/* Grows only, and without a lock, which a child that was forked could find held for ever: by threads of the program, and by the one
 * that protects files behind its back (background.h). */
static _Atomic(want *) wants;

static want *
find(want *from, const void *place)
{
    while (from != NULL && from->place != place)
        from = from->next;
    return from;
}

static want *
make(const void *place, const char *to)
{
    want *w = calloc(1, sizeof *w);

    if (w == NULL)
        return NULL;
    w->to = strcmp(to, "stderr") == 0 ? strdup(to) : rset_path_from_here(to);
    if (w->to == NULL) {
        free(w);
        return NULL;
    }
    w->place = place;
    w->process = getpid();
    w->rank = place != NULL && rset_mpi_usable() ? rset_mpi_world_rank() : 0;
    return w;
}

void
rset_report_want(const void *place, const char *to)
{
    want *first = atomic_load(&wants), *w;

    if (to[0] == '\0' || find(first, place) != NULL)
        return;
    w = make(place, to);
    if (w == NULL)
        return;
    do {
        if (find(first, place) != NULL) { /* another thread was faster */
            free(w->to);
            free(w);
            return;
        }
        w->next = first;
    } while (!atomic_compare_exchange_weak(&wants, &first, w));
}

/* ---- bringing figures together ---- */

static rset_extreme
extreme(double seconds, int rank, const char *host)
{
    rset_extreme e = {.seconds = seconds, .rank = rank};

    snprintf(e.host, sizeof e.host, "%s", host);
    return e;
}

/* The account of this rank: of its kind after `after`, or of none. */
static rset_account
own_account(const void *place, const char *after, int rank, const char *host)
{
    rset_account a = {.ranks = 1};
    rset_stats   stats;
    double       seconds[RSET_LINES];

    if (!rset_stats_next(place, after, a.kind, &stats))
        return (rset_account){0};
    memcpy(a.files, stats.files, sizeof a.files);
    memcpy(a.bytes, stats.bytes, sizeof a.bytes);
    for (int p = 0; p < RSET_PHASES; p++)
        seconds[p] = 1e-9 * (double)stats.spent.ns[p];
    seconds[RSET_LINE_BACKGROUND] = 1e-9 * (double)stats.background;
    seconds[RSET_LINE_TOTAL] = 1e-9 * (double)rset_phases_total(&stats.spent);
    seconds[RSET_LINE_OWN] =
        seconds[RSET_LINE_TOTAL] - seconds[RSET_PHASE_MEET] - seconds[RSET_PHASE_WAIT];
    for (int l = 0; l < RSET_LINES; l++) {
        a.sum[l] = seconds[l];
        a.most[l] = extreme(seconds[l], rank, host);
    }
    a.latest = a.most[RSET_PHASE_MEET];
    return a;
}

/* Of equals the lower rank counts, so that the order of merging does not matter. */
static bool
beats(const rset_extreme *a, const rset_extreme *b, bool most)
{
    if (a->seconds != b->seconds)
        return most ? a->seconds > b->seconds : a->seconds < b->seconds;
    return a->rank < b->rank;
}

static void
add_account(rset_account *a, const rset_account *b)
{
    a->ranks += b->ranks;
    for (int c = 0; c < RSET_COUNTS; c++) {
        a->files[c] += b->files[c];
        a->bytes[c] += b->bytes[c];
    }
    for (int l = 0; l < RSET_LINES; l++) {
        a->sum[l] += b->sum[l];
        if (beats(&b->most[l], &a->most[l], true))
            a->most[l] = b->most[l];
    }
    if (beats(&b->latest, &a->latest, false))
        a->latest = b->latest;
}

/* Ranks need not have the same kinds of files: the first in the alphabet counts now, the others come later. */
static void
merge_accounts(void *into, const void *other)
{
    rset_account *a = into;
    rset_account  b;
    int           order;

    memcpy(&b, other, sizeof b);
    b.kind[sizeof b.kind - 1] = '\0';
    if (b.kind[0] == '\0')
        return;
    order = a->kind[0] != '\0' ? strcmp(b.kind, a->kind) : -1;
    if (order < 0)
        *a = b;
    else if (order == 0)
        add_account(a, &b);
}

/* What came over the wire is only shown, but it has to end. */
static void
end_texts(rset_account *a)
{
    a->kind[sizeof a->kind - 1] = '\0';
    a->latest.host[RSET_REPORT_HOST - 1] = '\0';
    for (int l = 0; l < RSET_LINES; l++)
        a->most[l].host[RSET_REPORT_HOST - 1] = '\0';
}

/* ---- writing ---- */

/* Lines of JSON go to a file with such a name. */
static bool
is_json(const char *to)
{
    const size_t n = strlen(to);

    return (n > 5 && strcmp(to + n - 5, ".json") == 0) ||
           (n > 6 && strcmp(to + n - 6, ".jsonl") == 0);
}

/* What is told of one place. */
typedef struct telling {
    const void      *place;
    const want      *want; /* NULL: another rank writes */
    const char      *host;
    int              rank; /* in MPI_COMM_WORLD */
    rset_report_head head;
    FILE            *text; /* NULL: no memory, or another rank writes */
    char            *bytes;
    size_t           len;
} telling;

static void
show(const telling *t, const rset_account *account)
{
    if (t->text == NULL)
        return;
    if (is_json(t->want->to))
        rset_report_json(t->text, &t->head, account);
    else
        rset_report_table(t->text, &t->head, account);
}

/* The one place that writes a report. */
static void
emit(const want *w, const char *text, size_t len)
{
    rset_err err = RSET_ERR_NONE;
    char     why[RSET_ERR_TEXT];

    if (len == 0)
        return;
    if (strcmp(w->to, "stderr") == 0) {
        rset_say(text);
        return;
    }
    if (rset_given_append(w->to, text, len, &err) == RSET_OK)
        return;
    snprintf(why, sizeof why, "the report on what protection cost is not written: %.900s",
             err.text);
    rset_h5err_warn(why);
}

/* ---- the whole ---- */

static void
open_text(telling *t)
{
    t->text = t->want != NULL ? open_memstream(&t->bytes, &t->len) : NULL;
}

/* Writes what was told, or forgets it. */
static void
close_text(telling *t, bool written)
{
    if (t->text == NULL)
        return;
    if (fclose(t->text) == 0 && written)
        emit(t->want, t->bytes, t->len);
    free(t->bytes);
    t->text = NULL;
    t->bytes = NULL;
}

/* The figures of this rank. */
static void
tell_own(telling *t)
{
    rset_account account = own_account(t->place, "", t->rank, t->host);

    open_text(t);
    for (int n = 0; n < KINDS_MAX && account.kind[0] != '\0'; n++) {
        show(t, &account);
        account = own_account(t->place, account.kind, t->rank, t->host);
    }
    close_text(t, true);
}

/* Those of all ranks; rank 0 writes. */
static rset_status
tell_all(telling *t, rset_comm *comm, double until, rset_err *err)
{
    char        after[RSET_KIND_MAX] = "";
    rset_status st = RSET_OK;

    open_text(t);
    for (int n = 0; st == RSET_OK && n < KINDS_MAX; n++) {
        rset_account         account = own_account(t->place, after, t->rank, t->host);
        const rset_reduction what = {&account, sizeof account, merge_accounts};

        comm->timeout = until - rset_clock() > 1 ? until - rset_clock() : 1;
        st = rset_reduce(comm, RSET_OK, t->host, &what, err);
        if (st != RSET_OK || account.kind[0] == '\0')
            break;
        end_texts(&account);
        snprintf(after, sizeof after, "%s", account.kind);
        show(t, &account);
    }
    close_text(t, st == RSET_OK);
    return st;
}

static telling
telling_of(const void *place, const char *host, int size)
{
    want   *w = find(atomic_load(&wants), place);
    telling t = {.place = place, .host = host, .head.size = size, .head.time = time(NULL)};

    if (w != NULL)
        t.rank = w->rank;
    if (w != NULL && !atomic_exchange(&w->ended, true) && w->process == getpid())
        t.want = w;
    return t;
}

void
rset_report_end(const void *place, rset_comm *comm, const char *host, int rank, double began)
{
    telling  t = telling_of(place, host, comm != NULL ? comm->size : 1);
    rset_err err = RSET_ERR_NONE;
    double   until = began + (comm != NULL ? comm->timeout : 0);

    t.rank = rank;
    if (comm != NULL && comm->rank != 0)
        t.want = NULL;
    if (comm == NULL && t.rank != 0)
        return;
    if (comm != NULL && rset_clock() >= until)
        (void)rset_fail(&err, RSET_PEER, "not all ranks came to MPI_Finalize in time");
    else if (comm != NULL)
        (void)tell_all(&t, comm, until, &err);
    if (comm != NULL && err.status == RSET_OK)
        return;
    t.head.why = comm != NULL ? err.text : "the ranks did not come together";
    tell_own(&t);
}

/* The process ends: what no MPI_Finalize has told. Nobody is asked, and MPI is not called (P10). */
__attribute__((destructor)) static void
tell_the_rest(void)
{
    char host[RSET_HOST_NAME] = "";

    (void)gethostname(host, sizeof host - 1);
    for (want *w = atomic_load(&wants); w != NULL; w = w->next) {
        telling t;

        if (atomic_load(&w->ended) || w->process != getpid() || w->rank != 0)
            continue;
        t = telling_of(w->place, host, 1);
        t.head.why = w->place != NULL ? "MPI_Finalize was not called" : NULL;
        tell_own(&t);
    }
}
