/* group.c: see group.h.
 *
 * Three sorts and one walk, in the order of FORMAT.md 4: by group gives each rank its position in its
 * failure group, by position the across lists, which are cut into sets, by `order` the members. */
#include "group.h"

#include "common/crc64.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct candidate {
    uint64_t group;
    int      rank;
    int      first;    /* the first rank of its failure group */
    int      order;    /* rank in MPI_COMM_WORLD */
    int      position; /* in its failure group, which is also the number of its across list */
    int      cut;      /* number of its set, counted over all across lists; ids come later */
} candidate;

static int
compare_int(int a, int b)
{
    return (a > b) - (a < b);
}

static int
by_group(const void *left, const void *right)
{
    const candidate *a = left, *b = right;

    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return compare_int(a->rank, b->rank);
}

static int
by_position(const void *left, const void *right)
{
    const candidate *a = left, *b = right;
    int              positions = compare_int(a->position, b->position);

    return positions != 0 ? positions : compare_int(a->rank, b->rank);
}

static int
by_cut(const void *left, const void *right)
{
    const candidate *a = left, *b = right;
    int              cuts = compare_int(a->cut, b->cut);
    int              orders = compare_int(a->order, b->order);

    if (cuts != 0)
        return cuts;
    return orders != 0 ? orders : compare_int(a->rank, b->rank);
}

static int
by_first(const void *left, const void *right)
{
    const candidate *a = left, *b = right;
    int              firsts = compare_int(a->first, b->first);

    return firsts != 0 ? firsts : compare_int(a->rank, b->rank);
}

/* Sets the position of each; `all` is sorted by group. */
static void
number_positions(candidate *all, int nranks)
{
    for (int i = 0; i < nranks; i++) {
        bool first = i == 0 || all[i - 1].group != all[i].group;

        all[i].position = first ? 0 : all[i - 1].position + 1;
        all[i].first = first ? all[i].rank : all[i - 1].first;
    }
}

/* Cuts one across list into consecutive sets, the first of them numbered `cut`; returns the number
 * after the last one. */
static int
cut_list(candidate *list, int length, int min_size, int cut)
{
    int count = length / min_size;
    int size = count > 0 ? min_size + (length - count * min_size) / count : length;
    int longer = length % size; /* so many sets have one more */

    for (int done = 0; done < length; cut++) {
        int take = longer-- > 0 ? size + 1 : size;

        for (int i = 0; i < take; i++)
            list[done + i].cut = cut;
        done += take;
    }
    return cut;
}

/* Cuts all across lists; `all` is sorted by position. Returns the number of sets. */
static int
cut_lists(candidate *all, int nranks, int min_size)
{
    int cut = 0, end;

    for (int begin = 0; begin < nranks; begin = end) {
        for (end = begin + 1; end < nranks && all[end].position == all[begin].position; end++)
            ;
        cut = cut_list(all + begin, end - begin, min_size, cut);
    }
    return cut;
}

/* Members of the smallest set; `all` is sorted by cut. */
static int
smallest(const candidate *all, int nranks)
{
    int least = nranks, end;

    for (int begin = 0; begin < nranks; begin = end) {
        for (end = begin + 1; end < nranks && all[end].cut == all[begin].cut; end++)
            ;
        least = end - begin < least ? end - begin : least;
    }
    return least;
}

/* With S sets, which have no two ranks of a group, a group has at most S ranks in them: those at the positions below S. So S
 * sets of `least` members are possible exactly where there are S x least such ranks; where S are possible, fewer are, and
 * more sets have more ranks. Returns the largest S, 0 if there is none. Leaves `all` sorted by position. */
static int
most_sets(candidate *all, int nranks, int least)
{
    int most = 0;

    qsort(all, (size_t)nranks, sizeof *all, by_position);
    for (int i = 0; i < nranks; i++) {
        const int sets = all[i].position + 1;

        if ((i + 1 == nranks || all[i + 1].position > all[i].position) && (i + 1) / sets >= least)
            most = sets;
    }
    return most;
}

/* Deals the ranks, one group after the other, over as many sets as the largest group has ranks, or more: so no set gets two
 * of a group, and all have the same number of members, or one more. Where that makes sets that are too small, the last ranks
 * of large groups are left over, so few that the others have sets: each is a set of its own. No change where no set is
 * possible. Returns the number of sets. */
static int
deal(candidate *all, int nranks, const rset_set_size *size, int sets)
{
    const int wanted = size->wanted > size->least ? size->wanted : size->least;
    int       largest = 1, many = nranks / wanted, dealt = 0, single;

    for (int i = 0; i < nranks; i++)
        largest = all[i].position >= largest ? all[i].position + 1 : largest;
    many = many > largest ? many : largest;
    if (nranks / many < size->least)
        many = most_sets(all, nranks, size->least);
    if (many > 0) {
        single = many;
        qsort(all, (size_t)nranks, sizeof *all, by_first);
        for (int i = 0; i < nranks; i++)
            all[i].cut = all[i].position < many ? dealt++ % many : single++;
        sets = single;
    }
    qsort(all, (size_t)nranks, sizeof *all, by_cut);
    return sets;
}

/* Fills place_out from `all`, sorted by cut. leader is scratch of nranks entries. */
static void
assign(const candidate *all, int nranks, int *leader, rset_place *place_out)
{
    int sets = 0, end;

    for (int begin = 0; begin < nranks; begin = end) {
        for (end = begin; end < nranks && all[end].cut == all[begin].cut; end++)
            leader[all[end].rank] = all[begin].rank;
        for (int i = begin; i < end; i++)
            place_out[all[i].rank] = (rset_place){.member = i - begin, .members = end - begin};
    }
    for (int r = 0; r < nranks; r++) { /* leaders take ids in the order of ranks */
        if (leader[r] == r)
            place_out[r].set = sets++;
    }
    for (int r = 0; r < nranks; r++)
        place_out[r].set = place_out[leader[r]].set;
}

rset_status
rset_group_form(const rset_ranks *ranks, const rset_set_size *size, rset_place *place_out,
                int *sets_out, rset_err *err)
{
    const int   nranks = ranks->n;
    candidate  *all = NULL;
    int        *leader = NULL;
    rset_status st = RSET_OK;

    if (nranks < 1)
        return rset_fail(err, RSET_USAGE, "%d ranks cannot form redundancy sets", nranks);
    if (size->wanted < 1)
        return rset_fail(err, RSET_USAGE,
                         "redundancy sets of at least %d ranks are not possible; "
                         "the set size must be 1 or more",
                         size->wanted);
    all = calloc((size_t)nranks, sizeof *all);
    leader = calloc((size_t)nranks, sizeof *leader);
    if (all == NULL || leader == NULL) {
        st =
            rset_fail(err, RSET_NOMEM, "no memory to divide %d ranks into redundancy sets", nranks);
        goto done;
    }
    for (int r = 0; r < nranks; r++)
        all[r] = (candidate){.group = ranks->groups[r],
                             .rank = r,
                             .order = ranks->order != NULL ? ranks->order[r] : r};
    qsort(all, (size_t)nranks, sizeof *all, by_group);
    number_positions(all, nranks);
    qsort(all, (size_t)nranks, sizeof *all, by_position);
    *sets_out = cut_lists(all, nranks, size->wanted);
    qsort(all, (size_t)nranks, sizeof *all, by_cut);
    if (smallest(all, nranks) < size->least)
        *sets_out = deal(all, nranks, size, *sets_out);
    assign(all, nranks, leader, place_out);
done:
    free(leader);
    free(all);
    return st;
}

uint64_t
rset_group_number(const char *name)
{
    return rset_crc64(0, name, strlen(name));
}

void
rset_group_single(int nranks, rset_place *place_out, int *sets_out)
{
    for (int r = 0; r < nranks; r++)
        place_out[r] = (rset_place){.set = r, .member = 0, .members = 1};
    *sets_out = nranks;
}
