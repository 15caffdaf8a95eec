/* kinds.c: kinds of files, and what is known of each: whether all ranks have such a file, how long it is worth to wait for
 * them, and which numbers in its name say the step. See rendezvous_internal.h. Pure. */
#include "rendezvous_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- names ---- */

const char *
rset_rendezvous_op_text(int op)
{
    static const char *const texts[RSET_RENDEZVOUS_OPS] = {[0] = "doing",
                                                           [RSET_RENDEZVOUS_OPEN] = "opening",
                                                           [RSET_RENDEZVOUS_CLOSE] = "closing",
                                                           [RSET_RENDEZVOUS_CALL] = "in"};

    return texts[op];
}

/* Where the suffix begins whose digit says what the file is, not which: ".h5", not ".0003" or ".rank3". */
static const char *
suffix(const char *base)
{
    static const char *const formats[] = {".h4",   ".h5",   ".he4", ".he5",
                                          ".hdf4", ".hdf5", ".nc3", ".nc4"};
    const char              *dot = strrchr(base, '.');

    for (size_t i = 0; dot != NULL && i < sizeof formats / sizeof *formats; i++)
        if (strcasecmp(dot, formats[i]) == 0)
            return dot;
    return base + strlen(base);
}

/* A number, wherever it has its zeros; what is too long for that as good as random. */
static uint64_t
run_value(const char *at, size_t len)
{
    uint64_t value = 0;

    for (size_t i = 0; i < len; i++)
        value = value * 10 + (uint64_t)(at[i] - '0');
    return value;
}

void
rset_kind_of(const char *path, rset_kind *kind_out)
{
    const char *slash = strrchr(path, '/'), *at = slash != NULL ? slash + 1 : path;
    const char *end = suffix(at);
    size_t      n = 0;

    *kind_out = (rset_kind){0};
    while (*at != '\0' && n + 1 < RSET_KIND_MAX) {
        size_t digits = at < end ? strspn(at, "0123456789") : 0;

        kind_out->text[n++] = digits > 0 ? '#' : *at;
        if (digits > 0 && kind_out->nruns < RSET_RUNS_MAX)
            kind_out->runs[kind_out->nruns++] = run_value(at, digits);
        at += digits > 0 ? digits : 1;
    }
}

bool
rset_kind_same_step(const rset_known_kind *k, const rset_kind *a, const rset_kind *b)
{
    if (a->nruns != b->nruns)
        return false;
    for (uint64_t i = 0; k != NULL && k->compared && i < a->nruns; i++)
        if ((k->common >> i & 1) != 0 && a->runs[i] != b->runs[i])
            return false;
    return true;
}

bool
rset_kind_names_step(const rset_known_kind *k, const rset_kind *name)
{
    if (k == NULL || !k->compared)
        return false;
    for (uint64_t i = 0; i < name->nruns; i++)
        if ((k->common >> i & 1) != 0 && k->last[i] != name->runs[i])
            return true;
    return k->named != 0;
}

void
rset_kind_note_names(rset_known_kind *k, const rset_kind *name, uint64_t equal)
{
    uint64_t changed = 0;

    for (uint64_t i = 0; i < name->nruns; i++)
        changed |= (uint64_t)(k->last[i] != name->runs[i]) << i;
    k->common = k->compared ? k->common & equal : equal;
    k->named = (k->compared ? k->named | changed : 0) & k->common;
    k->compared = true;
    memcpy(k->last, name->runs, sizeof k->last);
}

/* ---- who will not come ---- */

void
rset_kind_note_absence(rset_known_kind *k, int from, int world, const rset_note *n)
{
    rset_absence *absence = &k->absent[n->op];

    if (absence->type == n->type &&
        (absence->epoch > n->epoch /* of one that is behind */ ||
         (rset_kind_absence(k, n) != NULL && absence->epoch == n->epoch))) /* the first counts */
        return;
    *absence = (rset_absence){.type = n->type,
                              .rank = from,
                              .world = world,
                              .at = rset_clock(),
                              .speaker = n->told - 1,
                              .nth = n->nth,
                              .epoch = n->epoch,
                              .name = n->kind};
    snprintf(absence->host, sizeof absence->host, "%s", n->host);
}

/* Who has left a later step than that of *n does not come back to it. */
static bool
is_of_that_step(const rset_absence *absence, const rset_note *n)
{
    if (n->op == RSET_RENDEZVOUS_OPEN)
        return absence->epoch == n->epoch && absence->nth == n->nth;
    return absence->epoch == n->epoch ||
           (absence->type == RSET_NOTE_LEFT && absence->epoch > n->epoch);
}

const rset_absence *
rset_kind_absence(const rset_known_kind *k, const rset_note *n)
{
    const rset_absence *absence = k != NULL ? &k->absent[n->op] : NULL;
    const bool about = absence != NULL && absence->type != 0 && is_of_that_step(absence, n) &&
                       rset_kind_same_step(k, &n->kind, &absence->name);

    return about ? absence : NULL;
}

const rset_absence *
rset_kind_sure_absence(const rset_known_kind *k, const rset_note *n, double since)
{
    const rset_absence *absence = rset_kind_absence(k, n);
    const bool          sure = absence != NULL && (absence->type == RSET_NOTE_FAILED ||
                                          (n->op != RSET_RENDEZVOUS_OPEN && absence->at <= since));

    return sure ? absence : NULL;
}

void
rset_kind_absence_text(const rset_absence *absence, const rset_note *mine, char *buf, size_t size)
{
    if (absence->type == RSET_NOTE_FAILED)
        snprintf(buf, size, "rank %d (%s) could not create its file", absence->world,
                 absence->host);
    else
        snprintf(
            buf, size,
            "%s %s: this rank is late: rank %d (%s) was here, has waited, and gone on without it",
            rset_rendezvous_op_text(mine->op), mine->kind.text, absence->world, absence->host);
}

void
rset_kind_say_absent(rset_known_kind *k, const rset_absence *absence, int rank,
                     const rset_note *mine, rset_note *no_out)
{
    *no_out = (rset_note){.type = RSET_NOTE_NO, .told = rank != (absence->rank == 0)};
    rset_kind_absence_text(absence, mine, no_out->text, sizeof no_out->text);
    if (absence->type != RSET_NOTE_LEFT)
        return;
    no_out->waited = RSET_LEFT_WAIT;
    no_out->nth = absence->speaker + 1;
    no_out->told = rset_kind_tell_late(k, rank, mine);
}

bool
rset_kind_tell_late(rset_known_kind *k, int rank, const rset_note *mine)
{
    const rset_absence *absence = rset_kind_absence(k, mine);
    const bool          another =
        absence != NULL && absence->type == RSET_NOTE_LEFT && absence->speaker != rank;
    const bool told = another || k->late_told;

    k->late_told = k->late_told || !another;
    return told;
}

void
rset_kind_count_late(rset_known_kind *k, const rset_absence *absence, const rset_note *mine)
{
    if (absence->type == RSET_NOTE_LEFT && absence->epoch == mine->epoch &&
        mine->op != RSET_RENDEZVOUS_OPEN && !rset_kind_was_met(k, mine->op) &&
        ++k->timeouts >= RSET_TRIES)
        (void)rset_kind_not_met(k, mine->op, mine->evidence != 0);
}

/* ---- who has opened its file by itself ---- */

bool
rset_kind_of_one_step(uint64_t a, uint64_t b)
{
    return a == b || a == 0 || b == 0;
}

void
rset_kind_note_itself(rset_known_kind *k, const rset_note *n)
{
    if (n->whole == 0 || n->nth > k->itself)
        k->itself = n->whole != 0 ? n->nth : 0;
    k->itself_step = n->epoch;
    k->itself_generation = n->most;
    k->itself_name = n->kind;
}

bool
rset_kind_may_itself(const rset_known_kind *k, const rset_note *mine)
{
    return mine->op == RSET_RENDEZVOUS_OPEN && mine->whole != 0 && mine->nth <= k->itself &&
           mine->most == k->itself_generation &&
           rset_kind_of_one_step(mine->epoch, k->itself_step) &&
           rset_kind_same_step(k, &mine->kind, &k->itself_name);
}

/* ---- the list ---- */

rset_known_kind *
rset_kinds_find(rset_known_kind *list, const char *text)
{
    while (list != NULL && strcmp(list->text, text) != 0)
        list = list->next;
    return list;
}

rset_known_kind *
rset_kinds_get(rset_known_kind **list, const char *text)
{
    rset_known_kind *k = rset_kinds_find(*list, text);

    if (k != NULL || (k = calloc(1, sizeof *k)) == NULL)
        return k;
    snprintf(k->text, sizeof k->text, "%s", text);
    k->next = *list;
    *list = k;
    return k;
}

void
rset_kinds_free(rset_known_kind *list)
{
    for (rset_known_kind *next; list != NULL; list = next) {
        next = list->next;
        free(list);
    }
}

/* ---- by all, or by some ---- */

bool
rset_kind_was_met(const rset_known_kind *k, int op)
{
    return k != NULL && (k->met[RSET_RENDEZVOUS_OPEN] || k->met[op]);
}

bool
rset_kind_is_seldom(const rset_known_kind *k, int op, bool evidence)
{
    return k != NULL && (k->seldom[op] || (evidence && k->some[op]));
}

bool
rset_kind_is_for_some(const rset_known_kind *k, int op, bool evidence)
{
    return k != NULL && k->some[op] && !rset_kind_was_met(k, op) &&
           !rset_kind_is_seldom(k, op, evidence);
}

bool
rset_kind_reads_apart(const rset_known_kind *k, const rset_note *n)
{
    return k != NULL && k->apart && n->op == RSET_RENDEZVOUS_OPEN && n->epoch == 0 &&
           n->needs_all == 0;
}

double
rset_kind_apart_wait(const rset_known_kind *k, double timeout)
{
    double wait = timeout < RSET_RENDEZVOUS_SHORT ? timeout : RSET_RENDEZVOUS_SHORT;

    for (int i = 0; i < k->alone; i++)
        wait /= 2;
    return wait;
}

double
rset_kind_wait(const rset_known_kind *k, double timeout, bool timed_out)
{
    double wait = timeout < RSET_RENDEZVOUS_SHORT ? timeout : RSET_RENDEZVOUS_SHORT;

    if (k == NULL || k->timeouts == 0)
        return timed_out ? wait : timeout;
    for (int i = 1; i < k->timeouts; i++)
        wait /= 2;
    return k->timeouts >= RSET_TRIES ? 0 : wait;
}

/* That a file was opened by some before it was protected says little about it now: a rank that has lost
 * it has nothing left that says it was. */
void
rset_kind_met(rset_known_kind *k, int op)
{
    k->met[op] = true;
    k->timeouts = 0;
    k->told = k->late_told = false;
    k->seldom[op] = false;
    if (op == RSET_RENDEZVOUS_OPEN) /* opens to read have no epoch that tells the next one */
        k->absent[op] = (rset_absence){0};
    if (op == RSET_RENDEZVOUS_CLOSE && k->some[RSET_RENDEZVOUS_OPEN]) {
        k->some[RSET_RENDEZVOUS_OPEN] = false;
        k->seldom[RSET_RENDEZVOUS_OPEN] = true;
    }
}

bool
rset_kind_tell(rset_known_kind *k, int op, bool evidence)
{
    const bool told = k->told;

    k->told = told || op != RSET_RENDEZVOUS_OPEN || evidence;
    return told;
}

void
rset_kind_for_all(rset_known_kind *k, int op)
{
    k->some[op] = false;
    k->timeouts = 0;
}

void
rset_kind_shown(rset_known_kind *k, int ranks)
{
    k->announced = true;
    k->have = ranks;
    rset_kind_for_all(k, RSET_RENDEZVOUS_CLOSE);
}

/* What was done together once will be again: a rank was late, or has opened a protected file for itself. So will be what
 * all have to call. */
bool
rset_kind_not_met(rset_known_kind *k, int op, bool evidence)
{
    const bool met = rset_kind_was_met(k, RSET_RENDEZVOUS_CLOSE) || rset_kind_was_met(k, op);
    const bool seldom = op == RSET_RENDEZVOUS_OPEN && (evidence || met);
    bool      *what = seldom ? &k->seldom[op] : &k->some[op];

    if (*what || op == RSET_RENDEZVOUS_CALL || (!seldom && rset_kind_was_met(k, op)))
        return false;
    *what = true;
    return true;
}
