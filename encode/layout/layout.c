/* layout.c: see layout.h. */
#include "layout.h"

#include "group.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What each rank says about itself. Sent as it is. */
typedef struct entry {
    char    group[RSET_HOST_NAME];
    int32_t order;
} entry;

/* With all ranks in one failure group no set would have two members. */
static bool
spread_single_group(entry *entries, int n)
{
    for (int r = 1; r < n; r++)
        if (strcmp(entries[r].group, entries[0].group) != 0)
            return false;
    for (int r = 0; r < n; r++)
        snprintf(entries[r].group, sizeof entries[r].group, "rank %d", r);
    return n > 1;
}

static rset_status
divide(const rset_comm *comm, const rset_wish *wish, entry *entries, rset_place *places,
       rset_layout *out, rset_err *err)
{
    int          n = comm->size, sets = 0, me = comm->rank;
    const char **names = calloc((size_t)n, sizeof *names);
    int         *order = calloc((size_t)n, sizeof *order);
    rset_status  st = RSET_OK;

    if (names == NULL || order == NULL)
        st = rset_fail(err, RSET_NOMEM, "no memory to divide %d ranks", n);
    if (st == RSET_OK && wish->scheme != &rset_scheme_single && spread_single_group(entries, n))
        snprintf(out->note, sizeof out->note,
                 "all %d ranks are on one host (%s): lost or damaged files can be rebuilt, the "
                 "loss of the node cannot",
                 n, wish->group);
    for (int r = 0; st == RSET_OK && r < n; r++) {
        entries[r].group[sizeof entries[r].group - 1] = '\0';
        names[r] = entries[r].group;
        order[r] = entries[r].order;
    }
    if (st == RSET_OK && wish->scheme == &rset_scheme_single)
        rset_group_single(n, places, &sets);
    else if (st == RSET_OK)
        st = rset_group_form(&(rset_ranks){n, names, order}, wish->set_size, places, &sets, err);
    if (st == RSET_OK)
        out->desc = (rset_desc){.scheme = wish->scheme,
                                .parity = wish->parity,
                                .set = places[me].set,
                                .sets = sets,
                                .member = places[me].member,
                                .members = places[me].members,
                                .rank = me,
                                .ranks = n};
    free(names);
    free(order);
    return st;
}

static rset_status
gather_members(rset_comm *comm, const rset_place *places, rset_layout *out, rset_err *err)
{
    out->ranks = calloc((size_t)out->desc.members, sizeof *out->ranks);
    if (out->ranks == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for %d members", out->desc.members);
    for (int r = 0; r < comm->size; r++)
        if (places[r].set == out->desc.set)
            out->ranks[places[r].member] = r;
    assert(out->ranks[out->desc.member] == comm->rank); /* L4 */
    return rset_comm_subset(comm, out->ranks, out->desc.members, &out->set, err);
}

static rset_status
check_set(const rset_desc *d, int set_size, rset_err *err)
{
    rset_err    why = RSET_ERR_NONE;
    rset_status st = d->scheme->check(d->members, d->parity, &why);

    if (st == RSET_OK)
        return st;
    return rset_fail(err, st, "set %d has %d member%s (%d ranks, set_size=%d): %s", d->set,
                     d->members, d->members == 1 ? "" : "s", d->ranks, set_size, why.text);
}

rset_status
rset_layout_form(rset_comm *comm, const rset_wish *wish, const char *host, rset_layout *out,
                 rset_err *err)
{
    size_t      n = (size_t)comm->size;
    entry       mine = {.order = wish->order}, *entries = calloc(n, sizeof *entries);
    rset_place *places = calloc(n, sizeof *places);
    rset_status st = RSET_OK;

    *out = (rset_layout){0};
    snprintf(mine.group, sizeof mine.group, "%s", wish->group);
    if (entries == NULL || places == NULL)
        st = rset_fail(err, RSET_NOMEM, "no memory for %zu ranks", n);
    st = rset_agree(comm, st, host, err);
    if (st == RSET_OK)
        st = rset_gather_fixed(comm, &mine, sizeof mine, entries, err);
    if (st == RSET_OK) {
        st = divide(comm, wish, entries, places, out, err);
        if (st == RSET_OK)
            st = check_set(&out->desc, wish->set_size, err);
        if (st == RSET_OK)
            st = gather_members(comm, places, out, err);
        st = rset_agree(comm, st, host, err);
    }
    free(entries);
    free(places);
    if (st != RSET_OK)
        rset_layout_free(out);
    return st;
}

void
rset_layout_free(rset_layout *layout)
{
    rset_comm_free(&layout->set);
    free(layout->ranks);
    *layout = (rset_layout){0};
}
