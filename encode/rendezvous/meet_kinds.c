/* meet_kinds.c: kinds of files, and what is known of each: whether all ranks have such a file, and how long it is worth
 * to wait for them. See meet.h. */
#include "meet_internal.h"

#include <stdio.h>
#include <string.h>

#define PATIENCE_MIN 0.1

/* Where the suffix begins whose digits say what the file is, not which: ".h5", not ".0003". */
static const char *
suffix(const char *base)
{
    const char *dot = strrchr(base, '.');

    if (dot == NULL || dot[1 + strspn(dot + 1, "0123456789")] == '\0')
        return base + strlen(base);
    return dot;
}

void
rset_meet_kind(const char *path, char kind_out[RSET_KIND_MAX])
{
    const char *slash = strrchr(path, '/'), *at = slash != NULL ? slash + 1 : path;
    const char *end = suffix(at);
    size_t      n = 0;

    for (; *at != '\0' && n + 1 < RSET_KIND_MAX; at++) {
        bool digit = *at >= '0' && *at <= '9' && at < end;

        if (!digit)
            kind_out[n++] = *at;
        else if (n == 0 || kind_out[n - 1] != '#')
            kind_out[n++] = '#';
    }
    kind_out[n] = '\0';
}

rset_known_kind *
rset_meet_find_kind(rset_meeting *m, const char *kind, int op)
{
    for (size_t i = 0; i < m->nkinds; i++)
        if (m->kinds[i].op == op && strcmp(m->kinds[i].kind, kind) == 0)
            return &m->kinds[i];
    return NULL;
}

/* Opened in vain before, and protected: worth a short wait. */
bool
rset_meet_is_seldom(rset_meeting *m, const char *kind, int op, bool evidence)
{
    return rset_meet_find_kind(m, kind, RSET_SELDOM - op) != NULL ||
           (evidence && rset_meet_find_kind(m, kind, -op) != NULL);
}

double
rset_meet_patience(rset_meeting *m, const rset_note *what, int missed)
{
    double patience = m->comm->timeout;

    if (rset_meet_is_seldom(m, what->kind, what->op, what->evidence != 0))
        return patience < RSET_MEET_SHORT ? patience : RSET_MEET_SHORT;

    for (; missed > 0 && patience > PATIENCE_MIN; missed--)
        patience /= 4;
    return missed > 0 && m->comm->timeout > PATIENCE_MIN ? PATIENCE_MIN : patience;
}

static void
remember(rset_meeting *m, const char *kind, int op)
{
    rset_known_kind *k = rset_meet_find_kind(m, kind, op);

    if (k != NULL)
        return;
    k = &m->kinds[m->next_kind];
    m->next_kind = (m->next_kind + 1) % RSET_KINDS;
    m->nkinds += m->nkinds < RSET_KINDS;
    snprintf(k->kind, sizeof k->kind, "%s", kind);
    k->op = op;
    k->insisted = false;
}

static bool
forget(rset_meeting *m, const char *kind, int op)
{
    rset_known_kind *k = rset_meet_find_kind(m, kind, op);

    if (k != NULL)
        *k = (rset_known_kind){.op = 0};
    return k != NULL;
}

/* That a file was opened by some before it was protected says little about it now: a rank that has lost
 * it has nothing left that says it was. */
void
rset_meet_done(rset_meeting *m, const char *kind, int op)
{
    remember(m, kind, op);
    (void)forget(m, kind, RSET_SELDOM - op);
    if (op == RSET_MEET_CLOSE && forget(m, kind, -RSET_MEET_OPEN))
        remember(m, kind, RSET_SELDOM - RSET_MEET_OPEN);
}

/* A protected file was done together once, and will be again: that it was opened by some says little. */
bool
rset_meet_learn(rset_meeting *m, const char *kind, int op, bool evidence)
{
    bool met = rset_meet_was_met(m, kind, RSET_MEET_CLOSE) || rset_meet_was_met(m, kind, op);
    int  code = op == RSET_MEET_OPEN && (evidence || met) ? RSET_SELDOM - op : -op;

    if (rset_meet_find_kind(m, kind, code) != NULL ||
        (code == -op && rset_meet_was_met(m, kind, op)))
        return false;
    remember(m, kind, code);
    return true;
}

bool
rset_meet_was_met(rset_meeting *m, const char *kind, int op)
{
    return rset_meet_find_kind(m, kind, RSET_MEET_OPEN) != NULL ||
           (op == RSET_MEET_CLOSE && rset_meet_find_kind(m, kind, RSET_MEET_CLOSE) != NULL);
}

/* What was done together is never taken for what is not. */
bool
rset_meet_is_alone(rset_meeting *m, const char *kind, int op, bool evidence)
{
    return rset_meet_find_kind(m, kind, -op) != NULL && !rset_meet_was_met(m, kind, op) &&
           !rset_meet_is_seldom(m, kind, op, evidence);
}
