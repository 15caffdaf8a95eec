/* layout.c: see layout.h. */
#include "layout_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* With all ranks in one failure group no set would have two members. */
static bool
spread_single_group(uint64_t *groups, int n)
{
    for (int r = 1; r < n; r++)
        if (groups[r] != groups[0])
            return false;
    for (int r = 0; r < n; r++)
        groups[r] = (uint64_t)r;
    return n > 1;
}

static rset_status
divide(const rset_comm *comm, const rset_wish *wish, rset_divided *all, rset_layout *out,
       rset_err *err)
{
    const int   n = comm->size, me = comm->rank;
    int         sets = 0;
    rset_status st = RSET_OK;

    if (wish->scheme != &rset_scheme_single && spread_single_group(all->groups, n))
        snprintf(out->note, sizeof out->note,
                 "all %d ranks are on one host (%s): lost or damaged files can be rebuilt, the "
                 "loss of the node cannot",
                 n, wish->group);
    if (wish->scheme == &rset_scheme_single)
        rset_group_single(n, all->places, &sets);
    else
        st = rset_group_form(&(rset_ranks){n, all->groups, all->order},
                             &(rset_set_size){wish->set_size, wish->parity + 1}, all->places, &sets,
                             err);
    if (st == RSET_OK)
        rset_left_over_find(comm, wish, all);
    if (st == RSET_OK)
        out->desc = (rset_desc){.scheme = all->is_left_over ? &rset_scheme_single : wish->scheme,
                                .parity = all->is_left_over ? 0 : wish->parity,
                                .set = all->places[me].set,
                                .sets = sets,
                                .member = all->places[me].member,
                                .members = all->places[me].members,
                                .rank = me,
                                .ranks = n};
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
    const int   most = d->ranks / (d->parity + 1); /* in a failure group, where sets are possible */
    rset_err    why = RSET_ERR_NONE;
    rset_status st = d->scheme->check(d->members, d->parity, &why);
    char        advice[96] = "";

    if (st == RSET_OK)
        return st;
    if (most > 0)
        snprintf(advice, sizeof advice, "; no host (or group=) may have more than %d of the ranks",
                 most);
    return rset_fail(err, st, "set %d has %d member%s (%d ranks, set_size=%d): %s%s", d->set,
                     d->members, d->members == 1 ? "" : "s", d->ranks, set_size, why.text, advice);
}

/* Makes room, and finds out whether the ranks of `comm` are in the order of MPI_COMM_WORLD, as they mostly are: then nobody
 * has to tell. */
static rset_status
begin(rset_comm *comm, const rset_wish *wish, const char *host, rset_divided *all, rset_err *err)
{
    const size_t n = (size_t)comm->size;
    bool         other = wish->order != comm->rank;
    rset_status  st = RSET_OK;

    *all = (rset_divided){.groups = calloc(n, sizeof *all->groups),
                          .order = calloc(n, sizeof *all->order),
                          .places = calloc(n, sizeof *all->places)};
    if (all->groups == NULL || all->order == NULL || all->places == NULL)
        st = rset_fail(err, RSET_NOMEM, "no memory for %zu ranks", n);
    st = rset_any(comm, st, host, &other, err);
    if (st == RSET_OK && !other) {
        free(all->order);
        all->order = NULL;
    }
    return st;
}

static rset_status
ask_all(rset_comm *comm, const rset_wish *wish, const char *host, rset_divided *all, rset_err *err)
{
    const uint64_t   group = rset_group_number(wish->group);
    const int32_t    order = wish->order;
    const rset_share groups = {.bytes = &group, .len = sizeof group},
                     orders = {.bytes = &order, .len = sizeof order};
    rset_status st = rset_gather_fixed(comm, RSET_OK, host, &groups, all->groups, err);

    if (st == RSET_OK && all->order != NULL)
        st = rset_gather_fixed(comm, RSET_OK, host, &orders, all->order, err);
    return st;
}

rset_status
rset_layout_form(rset_comm *comm, const rset_wish *wish, const char *host, rset_layout *out,
                 rset_err *err)
{
    rset_divided all;
    rset_status  st;

    *out = (rset_layout){0};
    st = begin(comm, wish, host, &all, err);
    if (st == RSET_OK)
        st = ask_all(comm, wish, host, &all, err);
    if (st == RSET_OK) {
        st = divide(comm, wish, &all, out, err);
        if (st == RSET_OK)
            st = check_set(&out->desc, wish->set_size, err);
        st = rset_left_over_tell(comm, st, &(rset_teller){wish, host, &all}, out, err);
    }
    if (st == RSET_OK) {
        st = gather_members(comm, all.places, out, err);
        st = rset_comm_find_spare(comm, st, host, err);
    }
    free(all.groups);
    free(all.order);
    free(all.places);
    if (st != RSET_OK)
        rset_layout_free(out);
    return st;
}

const char *
rset_layout_tell(rset_layout *layout)
{
    const bool told = layout->told;

    layout->told = true;
    return told ? "" : layout->note;
}

rset_status
rset_layout_for_all(const rset_layout *layout, rset_err *err)
{
    return layout->left_over == 0 ? RSET_OK : rset_fail(err, RSET_USAGE, "%s", layout->note);
}

void
rset_layout_free(rset_layout *layout)
{
    rset_comm_free(&layout->set);
    free(layout->ranks);
    *layout = (rset_layout){0};
}
