/* sweep_loss.c: lost nodes and lost files: every subset of 8 ranks lost altogether, and
 * of 4 ranks data and redundancy lost separately, under every scheme: what enough is left of comes back
 * to the byte, anything else is refused with nothing touched. */
#include "points.h"
#include "sample.h"

#include <stdio.h>

/* Sizes that leave odd chunks; and some so short that much of their stripes is padding. */
static const size_t equal[] = {5000}, unequal[] = {5000, 777, 0, 4999, 1, 2500, 5000, 4096};

static int
members_lost(unsigned mask)
{
    int n = 0;

    for (; mask != 0; mask &= mask - 1)
        n++;
    return n;
}

/* ---- whole nodes ---- */

/* How many subsets of 8 ranks came back, and were refused, with not more than 4 lost. */
typedef struct count {
    int recovered, refused_of_four;
} count;

static survival
lose_nodes(sample *s, unsigned mask)
{
    survival_set m = s->set;
    bool         lost[JOB_RANKS];

    job_mask(&s->job, mask, lost);
    job_lose(&s->job, lost);
    for (int r = 0; r < s->job.n; r++)
        if (lost[r]) {
            survival_spoil(&m.ranks[r].data, 0, UINT64_MAX);
            m.ranks[r].head_lost = true;
        }
    return survival_of(&m);
}

static void
node_subset(sample *s, unsigned mask, bool equal_sizes, count *c)
{
    bool     lost[JOB_RANKS];
    survival due = lose_nodes(s, mask);

    job_mask(&s->job, mask, lost);
    snprintf(s->what, sizeof s->what, "%s %d of 8, %s sizes, nodes %#x lost",
             sample_plan_names[s->set.plan], s->set.k, equal_sizes ? "equal" : "unequal", mask);
    if (mask == 0xff)
        sample_expect_untouched(s);
    else
        sample_expect(s, due);
    if (equal_sizes && (due == SURVIVES_WHOLE) != job_survives(&s->job, lost))
        points_wrong("%s: the two predictions differ", s->what);
    c->recovered += mask != 0 && due == SURVIVES_WHOLE;
    c->refused_of_four += members_lost(mask) == 4 && due == SURVIVES_NOT;
    sample_restore(s);
}

static count
nodes_of_eight(survival_plan plan, int k, bool equal_sizes)
{
    count  c = {0};
    sample s;

    sample_open(&s, plan, 8, k, equal_sizes ? equal : unequal, equal_sizes ? 1 : 8);
    for (unsigned mask = 0; mask < 256; mask++)
        node_subset(&s, mask, equal_sizes, &c);
    sample_close(&s);
    return c;
}

/* All losses by number: C(8,1) + C(8,2) + C(8,3), and C(8,4). */
static void
rs_three_of_eight(void)
{
    count c = nodes_of_eight(PLAN_RS, 3, true);

    if (c.recovered != 92 || c.refused_of_four != 70)
        points_wrong("RS 3 of 8: %d losses recovered, %d of four refused, not 92 and 70",
                     c.recovered, c.refused_of_four);
}

/* ---- data and redundancy separately ---- */

/* Two bits of `state` for each rank: 1 data lost, 2 redundancy lost. */
static void
state_of_four(sample *s, unsigned state)
{
    survival_set m = s->set;

    snprintf(s->what, sizeof s->what, "%s %d of 4, lost of ranks 0-3: %u %u %u %u",
             sample_plan_names[s->set.plan], s->set.k, state & 3, state >> 2 & 3, state >> 4 & 3,
             state >> 6);
    for (int r = 0; r < 4; r++) {
        if ((state >> 2 * r & 1) != 0)
            sample_lose_data(s, &m, r);
        if ((state >> 2 * r & 2) != 0)
            sample_lose_redundancy(s, &m, r);
    }
    if ((state & 0xaa) == 0xaa) {
        sample_expect_untouched(s);
    } else {
        s->job.undelete = (state & 0x55) == 0x55; /* a lost node would have taken redundancy, too */
        if (s->job.undelete)
            sample_expect_deleted(s);
        sample_expect(s, survival_of(&m));
        s->job.undelete = false;
    }
    sample_restore(s);
}

static void
states_of_four(survival_plan plan, int k, const size_t *sizes, int nsizes)
{
    sample s;

    sample_open(&s, plan, 4, k, sizes, nsizes);
    for (unsigned state = 0; state < 256; state++)
        state_of_four(&s, state);
    sample_close(&s);
}

static void
each_scheme_of_four(const size_t *sizes, int nsizes)
{
    states_of_four(PLAN_SINGLE, 0, sizes, nsizes);
    states_of_four(PLAN_XOR, 1, sizes, nsizes);
    for (int k = 1; k <= 3; k++) {
        states_of_four(PLAN_PARTNER, k, sizes, nsizes);
        states_of_four(PLAN_RS, k, sizes, nsizes);
    }
}

int
main(int argc, char **argv)
{
    bool all = points_begin("sweep_loss", argc, argv);

    each_scheme_of_four(unequal, 4);
    rs_three_of_eight();
    if (!all)
        return points_end();
    each_scheme_of_four(equal, 1);
    for (int even = 0; even < 2; even++) {
        nodes_of_eight(PLAN_SINGLE, 0, even);
        nodes_of_eight(PLAN_XOR, 1, even);
        for (int k = 1; k <= 7; k++) {
            nodes_of_eight(PLAN_PARTNER, k, even);
            nodes_of_eight(PLAN_RS, k, even);
        }
    }
    return points_end();
}
