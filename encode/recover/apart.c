/* apart.c: ranks that only read have opened files, and not all is in order, or they are not as many as wrote them: do they open
 * the files of one job, each its own, or each what it likes? And does any of them open what was protected anew since? See
 * recover_internal.h. */
#include "openings_internal.h"

/* The newest generation of the file that this rank asks for, not of others of its name, that anybody sees or knows of; with what is
 * only prepared where `prepared`; 0: none. */
static uint64_t
own_newest(const rset_openings *o, bool prepared)
{
    uint64_t newest = 0;

    for (size_t i = 0; i < o->nheard; i++) {
        const rset_holding *one = &o->heard[i];
        const uint64_t      has = prepared ? one->newest : one->generation;

        if (rset_generation_newer(has, newest) && rset_openings_mean(o, one))
            newest = has;
    }
    return newest;
}

/* What this rank has of its file; or where one generation counts for all, that, to which all are brought. */
static uint64_t
own_generation(const rset_recovery *r, bool prepared)
{
    const uint64_t own = prepared ? rset_evidence_newest(r->args->evidence)
                                  : rset_evidence_generation(r->args->evidence);
    const uint64_t counts = rset_generation_of_code(r->standing.counts);

    return !rset_recovery_is_of_others(r) && rset_generation_newer(counts, own) ? counts : own;
}

/* Where others have stood in, what is prepared only was decided on: it does not count. */
static bool
is_behind(const rset_openings *o)
{
    const rset_recovery *r = o->r;
    const bool           prepared = !r->policy.stood_in;
    const uint64_t       newest = own_newest(o, prepared);

    return rset_generation_newer(newest, own_generation(r, prepared));
}

/* Its file is there, and neither its directory nor any rank that is here knows anything of it. */
static bool
is_unprotected(const rset_openings *o)
{
    const rset_recovery *r = o->r;

    return r->policy.apart && r->mine.state == RSET_STATE_UNKNOWN &&
           (r->mine.facts & (RSET_FACT_SIGN | RSET_FACT_MISSING)) == 0 && own_newest(o, true) == 0;
}

/* ---- files of one step, of several generations ---- */

/* Not of a commit either that some have published, and others prepared. */
static bool
differ(const rset_holding *a, const rset_holding *b)
{
    return a->generation != 0 && b->generation != 0 && a->step == b->step &&
           a->generation != b->generation && a->generation != b->next && a->next != b->generation;
}

/* The same on all. */
static bool
are_mixed(const rset_holding *all, int n)
{
    for (int i = 1; i < n; i++)
        for (int k = 0; k < i; k++)
            if (differ(&all[i], &all[k]))
                return true;
    return false;
}

/* False for a file of a step that is asked for, which no rank opens. */
static bool
is_opened(const rset_openings *o, const rset_located *found, int k, const rset_holding *holding,
          void *arg)
{
    (void)found;
    (void)k;
    (void)arg;
    if (rset_openings_asker(o, holding->base) >= 0)
        return true;
    for (int i = 0; i < o->r->args->world->size; i++)
        if (o->openings[i].generation != 0 && o->openings[i].step == holding->step)
            return false;
    return true;
}

/* Each rank opens a file of its own, and there are no others of these steps: *is_out, the same on all. Collective. */
static rset_status
is_restart(const rset_openings *o, bool *is_out)
{
    const rset_recover_args *a = o->r->args;
    bool                     others = !rset_openings_each(o, false, is_opened, NULL);
    rset_status              st;

    for (int i = 0; i < a->world->size; i++)
        others = others || rset_openings_asker(o, o->openings[i].name) != i;
    st = rset_any(a->world, RSET_OK, a->host, &others, o->r->err);
    *is_out = !others;
    return st;
}

/* All say which generation of their file is the newest: r->policy.mixed and restart. Collective. */
static rset_status
find_out_mixed(rset_openings *o)
{
    rset_recovery *r = o->r;
    rset_status    st = rset_openings_say(o, RSET_OK);

    r->policy.mixed = st == RSET_OK && are_mixed(o->openings, r->args->world->size);
    return r->policy.mixed ? is_restart(o, &r->policy.restart) : st;
}

/* A rank tells this of its file, and the reduction makes of it what all ranks know. Sent as it is. */
typedef struct together {
    uint64_t least, most; /* the newest generations of their files; `most` 0: nobody knows of any */
    int32_t
            named; /* something says that files have different names; else each rank may have one of that name */
    int32_t several; /* some ranks open one file */
} together;

static void
merge_together(void *into, const void *other)
{
    together       *a = into;
    const together *b = other;

    a->least = b->least < a->least ? b->least : a->least;
    a->most = b->most > a->most ? b->most : a->most;
    a->named |= b->named;
    a->several |= b->several;
}

/* Do several ranks open one file, or files that were last protected in different generations? Collective. */
static rset_status
find_out_apart(rset_openings *o)
{
    rset_recovery           *r = o->r;
    const rset_recover_args *a = r->args;
    const rset_holding      *own = &o->own;
    together                 all = {.least = own->generation != 0 ? own->generation : UINT64_MAX,
                                    .most = own->generation,
                                    .named = r->all.least_name != r->all.most_name ||
                                             (r->all.facts & RSET_FACT_NAMED) != 0,
                                    .several = o->several};
    rset_status              st;

    for (size_t i = 0; i < o->nheard; i++)
        all.named |= (o->heard[i].facts & RSET_HOLDING_NAMED) != 0;
    st = rset_reduce(a->world, o->failed, a->host,
                     &(rset_reduction){&all, sizeof all, merge_together}, r->err);
    if (st != RSET_OK || !all.named)
        return st;
    r->policy.apart = a->reads && (all.several || (all.most != 0 && all.least != all.most));
    r->policy.mixed = r->policy.restart = false;
    if (a->reads && all.most != 0 && all.least != all.most)
        st = find_out_mixed(o);
    r->behind = st == RSET_OK && is_behind(o);
    r->unprotected = r->unprotected || (st == RSET_OK && is_unprotected(o));
    return st;
}

/* All say which names they open, and hear what is seen of these. */
static rset_status
ask_all(rset_recovery *r)
{
    rset_openings o = {.r = r};
    rset_status   st = rset_openings_begin(&o);

    if (st == RSET_OK)
        st = rset_openings_ask(&o);
    rset_openings_take_newest(&o, true);
    if (st == RSET_OK)
        st = find_out_apart(&o);
    if (st == RSET_OK)
        rset_recovery_choose(r);
    rset_openings_free(&o);
    return st;
}

/* Mostly each rank opens a file of its own, in the one generation that counts, and as many have come as wrote them: then nobody is
 * behind or apart, and all that was reported holds. */
rset_status
rset_recovery_ask(rset_recovery *r)
{
    bool        matters = r->differ || rset_recovery_is_of_others(r);
    rset_status st = RSET_OK;

    if (!matters)
        st = rset_openings_differ(r, &matters);
    r->reported = st == RSET_OK && !matters; /* as all have reported */
    if (matters)
        st = ask_all(r);
    r->policy.asked = st == RSET_OK;
    return st;
}
