/* left_over.c: ranks that no set has room for: which, and what the user is told of them. See layout_internal.h. */
#include "layout_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_RANKS = 8 }; /* of each failure group */

/* ---- which ---- */

static bool
is_left_over(const rset_wish *wish, const rset_place *place)
{
    return place->members <= wish->parity;
}

static void
add_crowd(rset_divided *all, int rank)
{
    for (int i = 0; i < all->ncrowds; i++)
        if (all->crowds[i].group == all->groups[rank])
            return;
    if (all->ncrowds < RSET_CROWDS)
        all->crowds[all->ncrowds++] = (rset_crowd){all->groups[rank], rank};
}

void
rset_left_over_find(const rset_comm *comm, const rset_wish *wish, rset_divided *all)
{
    const int n = comm->size;

    all->left_over = all->ncrowds = 0;
    for (int r = 0; r < n; r++)
        if (is_left_over(wish, &all->places[r])) {
            all->left_over++;
            add_crowd(all, r);
        }
    if (all->left_over == n) /* no set at all: that is an error */
        all->left_over = all->ncrowds = 0;
    all->is_left_over = all->left_over > 0 && is_left_over(wish, &all->places[comm->rank]);
}

/* ---- names ---- */

typedef struct names {
    char of[RSET_CROWDS][RSET_HOST_NAME]; /* "" until its rank says it */
} names;
_Static_assert(sizeof(names) <= sizeof(rset_err), "fits into one message of a reduction");

static void
merge_names(void *into, const void *other)
{
    names       *a = into;
    const names *b = other;

    for (int i = 0; i < RSET_CROWDS; i++)
        if (a->of[i][0] == '\0')
            memcpy(a->of[i], b->of[i], sizeof a->of[i]);
}

/* ---- the note ---- */

typedef struct text {
    char  *at;
    size_t room, used;
} text;

static void add(text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* What has no room is left out. */
static void
add(text *t, const char *fmt, ...)
{
    va_list args;
    int     n;

    va_start(args, fmt);
    n = vsnprintf(t->at + t->used, t->room - t->used, fmt, args);
    va_end(args);
    if (n > 0)
        t->used = t->used + (size_t)n < t->room ? t->used + (size_t)n : t->room - 1;
}

static int
ranks_in(const rset_divided *all, int n, uint64_t group)
{
    int count = 0;

    for (int r = 0; r < n; r++)
        count += all->groups[r] == group;
    return count;
}

/* "node1 has 5 of 8 ranks, not protected are 3, 4". */
static void
add_group(text *t, const rset_teller *who, int n, int i, const char *name)
{
    const rset_crowd *crowd = &who->all->crowds[i];
    int               shown = 0, more = 0;

    add(t, "%s%s has %d of %d ranks, not protected are", i > 0 ? "; " : "", name,
        ranks_in(who->all, n, crowd->group), n);
    for (int r = crowd->first; r < n; r++) {
        if (who->all->groups[r] != crowd->group || !is_left_over(who->wish, &who->all->places[r]))
            continue;
        if (shown < SHOWN_RANKS)
            add(t, "%s %d", shown > 0 ? "," : "", r);
        more += shown++ >= SHOWN_RANKS;
    }
    if (more > 0)
        add(t, " and %d more", more);
}

static void
write_note(const rset_teller *who, int n, const names *hosts, rset_layout *out)
{
    const rset_divided *all = who->all;
    text                t = {out->note, sizeof out->note, 0};

    add(&t,
        "%d of %d ranks %s not protected, and if a file of %s is lost or damaged no file can be "
        "opened: a set has one rank of each host (or group=), at least %d, and ",
        all->left_over, n, all->left_over == 1 ? "is" : "are", all->left_over == 1 ? "it" : "them",
        who->wish->parity + 1);
    for (int i = 0; i < all->ncrowds; i++)
        add_group(&t, who, n, i, hosts->of[i]);
    add(&t, "; with at most %d ranks on each host all are protected", n / (who->wish->parity + 1));
}

rset_status
rset_left_over_tell(rset_comm *comm, rset_status own, const rset_teller *who, rset_layout *out,
                    rset_err *err)
{
    const rset_divided  *all = who->all;
    names                hosts = {{""}};
    const rset_reduction what = {&hosts, sizeof hosts, merge_names};
    rset_status          st;

    for (int i = 0; own == RSET_OK && i < all->ncrowds; i++)
        if (all->crowds[i].first == comm->rank)
            snprintf(hosts.of[i], sizeof hosts.of[i], "%s", who->wish->group);
    st = rset_reduce(comm, own, who->host, &what, err);
    if (st != RSET_OK)
        return st;
    out->left_over = all->left_over;
    if (all->left_over > 0)
        write_note(who, comm->size, &hosts, out);
    return RSET_OK;
}
