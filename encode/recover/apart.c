/* apart.c: ranks that only read have opened files, and not all is in order, or they are not as many as wrote them: do they open
 * the files of one job, each its own, or each what it likes? And does any of them open what was protected anew since? See
 * recover_internal.h. */
#include "sights_internal.h"

#include <stdlib.h>

/* The newest generation of the file that this rank asks for, not of others of its name, that anybody sees or knows of; with what is
 * only prepared where `prepared`; 0: none. */
static uint64_t
own_newest(const rset_sights *s, bool prepared)
{
    uint64_t newest = 0;

    for (size_t i = 0; i < s->nheard; i++) {
        const rset_sight *one = &s->heard[i];
        const uint64_t    has = prepared ? one->newest : one->generation;

        if (rset_generation_newer(has, newest) && rset_sight_is_meant(s, one))
            newest = has;
    }
    return newest;
}

/* Do several ranks open one file, or files that were last protected in different generations? `all`: that of each rank. The same
 * on all. */
static bool
are_apart(const rset_sights *s, const uint64_t *all)
{
    const int size = s->r->args->world->size;
    uint64_t  common = 0;

    for (int i = 0; i < size; i++) {
        const uint64_t newest = all[i];

        if (rset_sights_asker(s, s->asked[i]) != i)
            return true;
        if (common != 0 && newest != 0 && newest != common)
            return true;
        common = newest != 0 ? newest : common;
    }
    return false;
}

/* What this rank has of its file; or where one generation counts for all, that, to which all are brought. */
static uint64_t
own_generation(const rset_recovery *r, bool prepared)
{
    const uint64_t own = prepared ? rset_evidence_newest(r->args->evidence)
                                  : rset_evidence_generation(r->args->evidence);
    const uint64_t counts = rset_generation_of_code(r->standing.counts);
    const bool     each = r->policy.apart || r->policy.stood_in ||
                      r->policy.published_ranks != (uint64_t)r->args->world->size;

    return !each && rset_generation_newer(counts, own) ? counts : own;
}

/* Where others have stood in, what is prepared only was decided on: it does not count. */
static bool
is_behind(const rset_sights *s)
{
    const rset_recovery *r = s->r;
    const bool           prepared = !r->policy.stood_in;
    const uint64_t       newest = own_newest(s, prepared);

    return rset_generation_newer(newest, own_generation(r, prepared));
}

/* Its file is there, and neither its directory nor any rank that is here knows anything of it. */
static bool
is_unprotected(const rset_sights *s)
{
    const rset_recovery *r = s->r;

    return r->policy.apart && r->mine.state == RSET_STATE_UNKNOWN &&
           (r->mine.facts & (RSET_FACT_SIGN | RSET_FACT_MISSING)) == 0 && own_newest(s, true) == 0;
}

/* All say which generation of their file is the newest: r->policy.apart. Collective. */
static rset_status
find_out_apart(const rset_sights *s)
{
    rset_recovery           *r = s->r;
    const rset_recover_args *a = r->args;
    const uint64_t           own = own_newest(s, false);
    uint64_t                *all = calloc((size_t)a->world->size, sizeof *all);
    rset_status              st = RSET_OK;

    if (all == NULL)
        st = rset_fail(r->err, RSET_NOMEM, "no memory for the generations of all ranks' files");
    st = rset_agree(a->world, st, a->host, r->err);
    if (st == RSET_OK)
        st = rset_gather_fixed(a->world, &own, sizeof own, all, r->err);
    if (st == RSET_OK)
        r->policy.apart = a->reads && are_apart(s, all);
    free(all);
    return st;
}

rset_status
rset_recovery_ask(rset_recovery *r)
{
    rset_sights s = {.r = r};
    rset_status st = rset_sights_begin(&s);

    if (st == RSET_OK)
        st = rset_sights_hear(&s, NULL);
    if (st == RSET_OK)
        st = find_out_apart(&s);
    if (st == RSET_OK) {
        r->policy.asked = true;
        r->behind = is_behind(&s);
        r->unprotected = r->unprotected || is_unprotected(&s);
        rset_recovery_choose(r);
    }
    rset_sights_free(&s);
    return st;
}
