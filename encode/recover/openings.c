/* openings.c: which files the ranks that have come open, and what they see of these. See openings_internal.h. */
#include "openings_internal.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- what this process sees ---- */

static rset_holding
own_opening(const rset_recovery *r)
{
    const rset_local *local = r->args->local;
    rset_holding      own = {0};

    if (local->nfiles > 0 && !r->unprotected) {
        own.name = rset_name_hash(local->names[0]);
        if (local->dir != NULL && rset_dir_has_file(local->dir, local->names[0]))
            own.facts = RSET_HOLDING_DATA;
    }
    return own;
}

/* A process notes which file its rank opens, and looks for files around it. */
static rset_status
look_around(rset_openings *o)
{
    const rset_recover_args *a = o->r->args;
    const rset_look_at       at = {.dir = a->local->dir,
                                   .like = a->local->nfiles > 0 ? a->local->names[0] : NULL,
                                   .search = a->search,
                                   .host = a->host,
                                   .recorded = true};

    o->own = own_opening(o->r);
    o->telling = (rset_look_telling){a->world, at.like != NULL ? at.like : "", o->r->one_dir};
    return at.like != NULL ? rset_look_around(&at, &o->look, o->r->err) : RSET_OK;
}

bool
rset_openings_mean(const rset_openings *o, const rset_holding *holding)
{
    const rset_local *local = o->r->args->local;

    return local->nfiles > 0 && holding->base == o->own.name && rset_holding_fits(holding, local);
}

bool
rset_openings_is_of(const rset_holding *holding, const rset_openings_of *of)
{
    return holding->generation == of->generation || holding->next == of->generation ||
           (of->next != 0 && (holding->generation == of->next || holding->next == of->next));
}

bool
rset_openings_each(const rset_openings *o, bool told, rset_holding_fn take, void *arg)
{
    for (size_t i = 0; i < o->look.found.n; i++) {
        const rset_located *l = &o->look.found.at[i];

        for (int k = 0; k < l->evidence.header.ninfos; k++) {
            const rset_holding holding = rset_look_holding(l, k, o->r->args->world->rank);

            if ((holding.facts & RSET_HOLDING_SEVERAL) == 0 &&
                (!told || rset_look_tells(&o->look, &o->telling, l, k)) &&
                !take(o, l, k, &holding, arg))
                return false;
        }
    }
    return true;
}

/* ---- which names are opened ---- */

/* Hashes of names are odd. */
static uint32_t
bit_of(uint64_t name)
{
    return (uint32_t)(name >> 1) % RSET_OPENING_BITS;
}

static void
merge_names(void *into, const void *other)
{
    rset_opening_names       *a = into;
    const rset_opening_names *b = other;

    for (size_t i = 0; i < sizeof a->bits; i++)
        a->bits[i] |= b->bits[i];
}

_Static_assert(sizeof(rset_opening_names) <= sizeof(rset_err),
               "fits into one message of a reduction");

/* False: no rank opens this name. */
static bool
may_be_opened(const rset_openings *o, uint64_t name)
{
    return (o->opened.bits[bit_of(name) / 8] >> bit_of(name) % 8 & 1) != 0;
}

rset_status
rset_openings_begin(rset_openings *o)
{
    const rset_recover_args *a = o->r->args;
    const rset_reduction     what = {&o->opened, sizeof o->opened, merge_names};
    const rset_status        own = look_around(o);

    o->opened.bits[bit_of(o->own.name) / 8] |= (uint8_t)(1 << bit_of(o->own.name) % 8);
    return rset_reduce(a->world, own, a->host, &what, o->r->err);
}

rset_status
rset_openings_say(rset_openings *o, rset_status own)
{
    const rset_recover_args *a = o->r->args;
    rset_status              st = own;

    o->openings = calloc((size_t)a->world->size, sizeof *o->openings);
    if (o->openings == NULL)
        st = rset_fail(o->r->err, RSET_NOMEM, "no memory for the names of all ranks' files");
    return rset_gather_fixed(a->world, st, a->host,
                             &(rset_share){.bytes = &o->own, .len = sizeof o->own}, o->openings,
                             o->r->err);
}

int
rset_openings_asker(const rset_openings *o, uint64_t name)
{
    for (int i = 0; i < o->r->args->world->size; i++)
        if (o->openings[i].name == name)
            return i;
    return -1;
}

int
rset_openings_finder(const rset_openings *o, uint64_t name)
{
    for (int i = 0; i < o->r->args->world->size; i++)
        if (o->openings[i].name == name && (o->openings[i].facts & RSET_HOLDING_DATA) != 0)
            return i;
    return rset_openings_asker(o, name);
}

/* ---- what all see of the own name ---- */

/* The holdings that this rank tells keepers of; owned. */
typedef struct telling {
    bool          aside; /* those that differ; else those of names that some rank opens */
    rset_holding *at;
    size_t        n, room;
} telling;

static uint64_t
counts(const rset_openings *o)
{
    return rset_generation_of_code(o->r->standing.counts);
}

/* Is anything else known of a file than that it was protected in this generation? */
static bool
is_other(const rset_holding *one, uint64_t generation)
{
    return one->generation != generation || one->newest != generation || one->next != 0;
}

static bool
note(const rset_openings *o, const rset_located *found, int k, const rset_holding *holding,
     void *arg)
{
    telling     *t = arg;
    rset_holding one = *holding;

    (void)found;
    (void)k;
    one.dir = 0; /* of what several see, one says enough */
    if (!o->exact)
        one.facts &= ~(uint32_t)(RSET_HOLDING_HERE | RSET_HOLDING_DATA);
    if (one.generation == 0 || !(t->aside ? is_other(&one, counts(o)) : may_be_opened(o, one.base)))
        return true;
    if (t->n == t->room) {
        rset_holding *grown = realloc(t->at, (2 * t->room + 16) * sizeof *grown);

        if (grown == NULL)
            return false;
        t->at = grown;
        t->room = 2 * t->room + 16;
    }
    t->at[t->n++] = one;
    return true;
}

static int
compare(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(rset_holding));
}

/* This rank opens its file, and tells what it sees. The same is told once: a file, and each header that records it, mostly say the
 * same. */
static rset_status
tell_keepers(const rset_openings *o, bool aside, rset_records *said)
{
    const rset_comm *world = o->r->args->world;
    telling          t = {.aside = aside};
    const bool       all = rset_openings_each(o, true, note, &t);
    rset_saying      it = {.key = o->own.name, .aside = aside, .asks = 1};

    it.holding.newest = counts(o);
    rset_keepers_say(said, world, &it);
    it.asks = 0;
    if (t.n > 1)
        qsort(t.at, t.n, sizeof *t.at, compare);
    for (size_t i = 0; all && i < t.n; i++) {
        it.key = t.at[i].base;
        it.holding = t.at[i];
        if (i == 0 || compare(&t.at[i - 1], &t.at[i]) != 0)
            rset_keepers_say(said, world, &it);
    }
    free(t.at);
    return all ? RSET_OK
               : rset_fail(o->r->err, RSET_NOMEM,
                           "no memory for what there is of other ranks' files");
}

static bool
is_same(const rset_holding *a, const rset_holding *b)
{
    return memcmp(a, b, offsetof(rset_holding, by)) == 0;
}

/* Is anything said of a name that a rank opens, but that it does, and knows of the generation in which the file was protected? */
static bool
differ(const rset_saying *of_key, size_t n)
{
    const size_t askers = rset_keepers_askers(of_key, n);
    bool         any = askers > 1;

    for (size_t k = askers; askers > 0 && k < n; k++)
        any = any || is_other(&of_key[k].holding, of_key[0].holding.newest);
    return any;
}

/* Each that asks hears whether others do, and what there is. */
static rset_status
answer(rset_answers *to, const rset_saying *of_key, size_t n)
{
    const size_t      askers = rset_keepers_askers(of_key, n);
    const rset_saying first = {.asks = askers > 1 ? 2 : 1};

    for (size_t i = 0; i < askers; i++) {
        const int who = of_key[i].holding.by;

        rset_records_add(&to->out, who, &first);
        for (size_t k = askers; k < n; k++)
            if (k == askers || !is_same(&of_key[k - 1].holding, &of_key[k].holding))
                rset_records_add(&to->out, who, &(rset_saying){.holding = of_key[k].holding});
    }
    return RSET_OK;
}

rset_status
rset_openings_ask_aside(rset_recovery *r, rset_keepers_aside *aside)
{
    rset_openings o = {.r = r};
    rset_status   st = look_around(&o);

    *aside = (rset_keepers_aside){.said.size = sizeof(rset_saying), .differ = differ};
    if (st == RSET_OK)
        st = tell_keepers(&o, true, &aside->said);
    rset_openings_free(&o);
    return st;
}

rset_status
rset_openings_differ(rset_recovery *r, bool *differ_out)
{
    const rset_recover_args    *a = r->args;
    bool                        none = false;
    rset_keepers_aside          aside;
    const rset_keepers_question q = {
        .world = a->world, .host = a->host, .answer = answer, .news = &none, .aside = &aside};
    rset_status st = rset_openings_ask_aside(r, &aside);

    st = rset_keepers_ask(&q, st, &aside.said, r->err);
    rset_records_free(&aside.said);
    *differ_out = aside.is;
    return st;
}

static rset_status
take_answers(rset_openings *o, const rset_records *answers)
{
    rset_holding *heard = calloc(answers->n + 1, sizeof *heard);

    if (heard == NULL)
        return rset_fail(o->r->err, RSET_NOMEM,
                         "no memory for what there is of other ranks' files");
    free(o->heard);
    o->heard = heard;
    o->nheard = 0;
    for (size_t i = 0; i < answers->n; i++) {
        rset_saying it;

        (void)rset_records_get(answers, i, &it);
        if (it.asks != 0)
            o->several = it.asks > 1;
        else
            heard[o->nheard++] = it.holding;
    }
    return RSET_OK;
}

rset_status
rset_openings_ask(rset_openings *o)
{
    const rset_recover_args    *a = o->r->args;
    const rset_keepers_question q = {.world = a->world, .host = a->host, .answer = answer};
    rset_records                said = {.size = sizeof(rset_saying)};
    rset_status                 st;

    st = rset_keepers_ask(&q, tell_keepers(o, false, &said), &said, o->r->err);
    if (st == RSET_OK)
        o->failed = take_answers(o, &said);
    rset_records_free(&said);
    return st;
}

void
rset_openings_take_newest(rset_openings *o, bool meant)
{
    rset_holding *own = &o->own;

    own->generation = own->next = own->step = 0;
    for (size_t i = 0; i < o->nheard; i++) {
        const rset_holding *one = &o->heard[i];
        const bool          newer = rset_generation_newer(one->generation, own->generation);

        if (meant && !rset_openings_mean(o, one))
            continue;
        if (!newer && one->generation != own->generation)
            continue;
        own->generation = one->generation;
        own->step = one->step;
        own->ranks = one->ranks;
        own->next = newer || one->next != 0 ? one->next : own->next;
    }
}

void
rset_openings_free(rset_openings *o)
{
    rset_look_free(&o->look);
    free(o->openings);
    free(o->heard);
    *o = (rset_openings){0};
}
