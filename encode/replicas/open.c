/* open.c: all ranks open a file of one rank. See replicas.h. */
#include "commit/newer.h"
#include "names/names.h"
#include "replicas_internal.h"

#include "common/crc64.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What ranks say of what they have, merged. Sent as it is. */
typedef struct words {
    uint64_t newest;  /* generation of which any rank has a sign; of rank `holder` */
    uint64_t intact;  /* the newest that is whole anywhere; on rank `source` */
    uint64_t least;   /* the oldest that a rank has whole, 0: some rank has none */
    uint64_t written; /* the newest that a rank has written itself, and still has; 0: none */
    uint64_t least_name, most_name; /* hashes of the names */
    int32_t  holder, source;
    int32_t  plain;    /* a rank whose file nobody protects; -1: none */
    int32_t  readonly; /* some rank may not write */
    int32_t  acted;
    char     holder_host[RSET_HOST_NAME], plain_host[RSET_HOST_NAME];
    int32_t  altered; /* another program has changed that of rank `holder` */
    int32_t  pad;
} words;

typedef struct opening {
    const rset_replica_args *args;
    rset_replica_outcome    *out;
    rset_err                *err;
    rset_replica_own         own;
    words                    all;
    bool                     elected; /* of each directory one rank was chosen */
    bool                     leads;   /* this one, or nobody was */
    bool                     renewed; /* what was written last has become the newest */
} opening;

/* ---- one rank for each directory ---- */

/* What goes to the rank that keeps a directory, and its answer. Sent as it is. */
typedef struct ballot {
    uint64_t dir;
    uint64_t first;
} ballot;

/* Those who have asked for the same directory are told who was first. */
static void
answer(const rset_records *asked, rset_records *answers)
{
    ballot b, before;

    for (size_t i = 0; i < asked->n; i++) {
        const int from = rset_records_get(asked, i, &b);

        b.first = 1;
        for (size_t j = 0; j < i && b.first != 0; j++) {
            (void)rset_records_get(asked, j, &before);
            b.first = before.dir != b.dir;
        }
        rset_records_add(answers, from, &b);
    }
}

/* Collective. */
static rset_status
elect(opening *o)
{
    const rset_replica_args *a = o->args;
    const uint64_t           number = rset_dir_number(a->local->dir);
    rset_records             asked = {.size = sizeof(ballot)}, answers = asked;
    ballot      b = {.dir = rset_crc64(rset_name_hash(a->host), &number, sizeof number)};
    rset_status st = RSET_OK;

    if (o->elected)
        return RSET_OK;
    rset_records_add_by_key(&asked, a->world, b.dir, &b);
    st = rset_route(a->world, st, a->host, &asked, o->err);
    if (st == RSET_OK) {
        answer(&asked, &answers);
        st = rset_route(a->world, st, a->host, &answers, o->err);
    }
    b.first = 0;
    if (st == RSET_OK && answers.n == 1)
        (void)rset_records_get(&answers, 0, &b);
    rset_records_free(&asked);
    rset_records_free(&answers);
    o->elected = st == RSET_OK;
    o->leads = b.first != 0;
    return st;
}

/* ---- who has what ---- */

static void
merge(void *into, const void *other)
{
    words       *a = into;
    const words *b = other;

    if (b->newest > a->newest || (b->newest == a->newest && b->holder < a->holder)) {
        a->newest = b->newest;
        a->holder = b->holder;
        a->altered = b->altered;
        memcpy(a->holder_host, b->holder_host, sizeof a->holder_host);
    }
    if (b->intact > a->intact || (b->intact == a->intact && b->source < a->source)) {
        a->intact = b->intact;
        a->source = b->source;
    }
    if (b->plain >= 0 && (a->plain < 0 || b->plain < a->plain)) {
        a->plain = b->plain;
        memcpy(a->plain_host, b->plain_host, sizeof a->plain_host);
    }
    a->least = b->least < a->least ? b->least : a->least;
    a->written = b->written > a->written ? b->written : a->written;
    a->least_name = b->least_name < a->least_name ? b->least_name : a->least_name;
    a->most_name = b->most_name > a->most_name ? b->most_name : a->most_name;
    a->readonly |= b->readonly;
    a->acted |= b->acted;
}

/* Does what this process has written still lie here? */
static bool
has_written(const rset_replica_args *a)
{
    return a->written != 0 && !a->evidence->is_void &&
           rset_evidence_generation(a->evidence) == a->written;
}

/* A rank whose directory is another's to look after has nothing else to say of it. */
static words
own_words(const opening *o)
{
    const rset_replica_args *a = o->args;
    const rset_replica_own  *own = &o->own;
    const bool               intact = own->state == RSET_REPLICA_INTACT;
    words                    w = {.least = UINT64_MAX, .plain = -1};

    w.least_name = w.most_name = rset_name_hash(a->local->names[0]);
    w.holder = w.source = a->world->rank;
    w.readonly = a->readonly;
    w.written = has_written(a) ? a->written : 0;
    snprintf(w.holder_host, sizeof w.holder_host, "%s", a->host);
    snprintf(w.plain_host, sizeof w.plain_host, "%s", a->host);
    if (!o->leads)
        return w;
    w.newest = own->newest;
    w.altered = own->altered.any && own->state == RSET_REPLICA_BAD;
    w.intact = w.least = intact ? own->generation : 0;
    w.plain = own->state == RSET_REPLICA_PLAIN ? a->world->rank : -1;
    w.acted = own->acted;
    return w;
}

/* Each settles what it has, and all hear of it. Collective. */
static rset_status
look(opening *o, rset_status st)
{
    const rset_replica_args *a = o->args;
    rset_reduction           what = {&o->all, sizeof o->all, merge};

    if (st == RSET_OK && o->leads)
        st = rset_replica_settle(a, &o->own, o->err);
    o->all = own_words(o);
    return rset_reduce(a->world, st, a->host, &what, o->err);
}

/* Where something is to be settled one does that for each directory. Collective. */
static rset_status
ask_all(opening *o)
{
    const rset_replica_args *a = o->args;
    bool        unsettled = rset_replica_unsettled(a->evidence) || rset_replica_touched(a);
    rset_status st = rset_any(a->world, a->before, a->host, &unsettled, o->err);

    if (st == RSET_OK && unsettled)
        st = elect(o);
    if (st != RSET_OK)
        return st;
    st = look(o, RSET_OK);
    o->out->acted = st != RSET_OK || unsettled || o->all.acted != 0;
    o->out->replaced = o->out->acted && (!o->leads || o->own.replaced);
    return st;
}

/* ---- what was written last is the newest ---- */

/* A rank has written it, and then there is one that has a newer number, which an earlier job gave it, or a rank that has not met that one:
 * their clocks differ. */
static bool
is_behind(const opening *o)
{
    const words *w = &o->all;

    return w->written != 0 && rset_generation_newer(w->newest, w->written) && w->plain < 0 &&
           w->readonly == 0 && w->least_name == w->most_name;
}

/* Collective. */
static rset_status
renew(opening *o)
{
    const rset_replica_args *a = o->args;
    const uint64_t           generation = rset_generation_at(o->all.newest, 0, o->all.written);
    rset_status              st = elect(o);

    if (st != RSET_OK)
        return st;
    o->out->acted = o->renewed = true;
    o->out->renewed = has_written(a) && a->written == o->all.written;
    if (o->out->renewed)
        st = rset_replica_renew(a, generation, o->err);
    st = rset_agree(a->world, st, a->host, o->err);
    if (st == RSET_OK)
        st = look(o, rset_survey_local(a->local, a->evidence, o->err));
    return st;
}

/* ---- what follows ---- */

static rset_status
refuse(const opening *o)
{
    const char  *name = rset_local_name(o->args->local);
    const words *w = &o->all;

    if (w->least_name != w->most_name)
        return rset_fail(o->err, RSET_USAGE,
                         "%s: ranks open files of other names at the same time, and root= says "
                         "that all open the same",
                         name);
    if (w->plain >= 0)
        return rset_fail(o->err, RSET_LOST,
                         "%s: rank %d (%s) has such a file that is not protected, and others have "
                         "replicas of a protected one: nobody can tell which is newer; remove what "
                         "is not wanted",
                         name, w->plain, w->plain_host);
    if (w->intact != w->newest && w->altered)
        return rset_fail(
            o->err, RSET_LOST,
            "%s: the newest one that any rank knows of, on rank %d (%s), was changed by "
            "another program, and no rank has a replica of it as it was protected. "
            "Nothing was changed now; changed=keep on all ranks opens it as it is there, "
            "and protects it so",
            name, w->holder, w->holder_host);
    if (w->intact != w->newest)
        return rset_fail(o->err, RSET_LOST,
                         "%s: the newest one that any rank knows of, on rank %d (%s), is lost or "
                         "damaged, and no rank has a replica of it; to go on with an older one, "
                         "remove what is left of the newest there",
                         name, w->holder, w->holder_host);
    return rset_fail(o->err, RSET_LOST,
                     "%s: is missing, outdated or damaged on some rank, rank %d has it, and "
                     "readonly_rebuild=no says that nothing may be written",
                     name, w->source);
}

/* Nobody has ever protected one. What a rank has begun, and not ended, is its own failure. Collective. */
static rset_status
never(opening *o)
{
    rset_status st = RSET_OK;

    if (o->own.state == RSET_REPLICA_BAD) {
        *o->err = o->own.why;
        st = o->own.why.status != RSET_OK
                 ? o->own.why.status
                 : rset_fail(o->err, RSET_LOST, "%s: is lost", rset_local_name(o->args->local));
    }
    st = rset_agree(o->args->world, st, o->args->host, o->err);
    if (st != RSET_OK)
        return st;
    o->out->never = true;
    return rset_fail(o->err, RSET_ABSENT, "%s: not protected", rset_local_name(o->args->local));
}

/* ---- who misses it gets it ---- */

static bool
wants(const opening *o)
{
    return o->leads && (o->own.state != RSET_REPLICA_INTACT || o->own.generation != o->all.newest);
}

/* Rank `source` and those who want it, in *ranks_out (owned). Collective. */
static rset_status
list_takers(const opening *o, bool want, int **ranks_out, int *n_out)
{
    const rset_comm *world = o->args->world;
    int32_t          mine = want, *all = calloc((size_t)world->size, sizeof *all);
    int             *ranks = calloc((size_t)world->size + 1, sizeof *ranks), n = 0;
    rset_status      st = RSET_OK;

    if (all == NULL || ranks == NULL)
        st = rset_fail(o->err, RSET_NOMEM, "no memory for %d ranks", world->size);
    st = rset_gather_fixed(o->args->world, st, o->args->host,
                           &(rset_share){.bytes = &mine, .len = sizeof mine}, all, o->err);
    if (st == RSET_OK) {
        ranks[n++] = o->all.source;
        for (int r = 0; r < world->size; r++)
            if (all[r] != 0 && r != o->all.source)
                ranks[n++] = r;
    }
    free(all);
    *ranks_out = ranks;
    *n_out = n;
    return st;
}

/* They become a communicator, *some_out, where this rank takes part; or all hear that some rank could not make it, and none
 * waits for that one. Collective. */
static rset_status
join(const opening *o, bool want, bool takes_part, rset_comm *some_out)
{
    int        *ranks = NULL, n = 0;
    rset_status st = list_takers(o, want, &ranks, &n);

    if (st == RSET_OK && takes_part)
        st = rset_comm_subset(o->args->world, ranks, n, some_out, o->err);
    free(ranks);
    return rset_agree(o->args->world, st, o->args->host, o->err);
}

/* Was what is whole here written by somebody who knew nothing of what replaces it, nor the writer of that of this one? Then only their
 * clocks say which is newer; unless who has written the newest is here. */
static bool
is_apart(const opening *o, const rset_stamp_text *newest)
{
    const rset_evidence *ev = o->args->evidence;
    const uint64_t       since = ev->has_header ? ev->header.infos[0].stamp.since : 0;

    return o->own.state == RSET_REPLICA_INTACT && !o->renewed && o->all.written != o->all.newest &&
           since != 0 && newest->since != 0 && since != newest->since;
}

/* Puts the file that was here aside where another program had changed it, since that is a user's. Local. */
static rset_status
put_changed_aside(opening *o)
{
    const rset_replica_own *own = &o->own;
    rset_status             st = RSET_OK;

    if (!own->altered.any || (own->state != RSET_REPLICA_BAD && !own->kept))
        return RSET_OK;
    o->out->altered = own->altered;
    st = rset_changed_put(o->args->local, rset_evidence_generation(o->args->evidence),
                          &o->out->changed, o->err);
    return st == RSET_OK ? rset_survey_local(o->args->local, o->args->evidence, o->err) : st;
}

/* What was brought gets the name. Local. */
static rset_status
take(opening *o, rset_replica_copy *copy)
{
    rset_replica_outcome *out = o->out;
    const rset_status     st = put_changed_aside(o);

    if (st != RSET_OK)
        return st;
    copy->aside = is_apart(o, &copy->stamp);
    if (copy->aside) {
        out->aside = o->own.generation;
        out->aside_time = o->args->evidence->header.infos[0].stamp.time;
        out->time = copy->stamp.time;
    }
    return rset_replica_publish(o->args, copy, o->err);
}

/* All that want it have it complete, or no one gets it. Collective. */
static rset_status
spread(opening *o)
{
    const rset_replica_args *a = o->args;
    const bool               want = wants(o), gives = a->world->rank == o->all.source;
    rset_replica_copy        copy = {
               .local = a->local, .evidence = a->evidence, .generation = o->all.newest, .host = a->host};
    rset_comm   some = {0};
    rset_status st = join(o, want, want || gives, &some);

    assert(st != RSET_OK || !(want && gives)); /* RP2 */
    if (st == RSET_OK) {
        if (want || gives)
            st = rset_replica_bring(&some, &copy, o->err);
        st = rset_agree(a->world, st, a->host, o->err);
        if (st == RSET_OK) {
            if (want)
                st = take(o, &copy);
            st = rset_agree(a->world, st, a->host, o->err);
        }
        o->out->replaced = o->out->replaced || want || !o->leads;
        if (want || !o->leads)
            o->out->verified = copy.is;
        if (st == RSET_OK && want) {
            snprintf(o->out->from, sizeof o->out->from, "%s", copy.from);
        } else if (copy.shadow != NULL) {
            (void)rset_dir_unlink(a->local->dir, copy.shadow, NULL);
        }
    }
    free(copy.shadow);
    rset_comm_free(&some);
    return st;
}

rset_status
rset_replica_open(const rset_replica_args *args, rset_replica_outcome *out, rset_err *err)
{
    opening     o = {.args = args, .out = out, .err = err, .leads = true};
    rset_status st;

    *out = (rset_replica_outcome){0};
    st = ask_all(&o);
    if (st == RSET_OK && is_behind(&o))
        st = renew(&o);
    if (st != RSET_OK)
        return st;
    if (o.all.newest == 0 && o.all.least_name == o.all.most_name)
        return never(&o);
    if (o.all.least_name != o.all.most_name || o.all.plain >= 0 || o.all.intact != o.all.newest ||
        (o.all.least != o.all.newest && o.all.readonly != 0)) {
        out->acted = true;
        out->gone =
            o.all.least_name == o.all.most_name && o.all.plain < 0 && o.all.intact != o.all.newest;
        return refuse(&o);
    }
    out->generation = o.all.newest;
    if (o.leads)
        out->verified = args->evidence->data;
    if (o.all.least == o.all.newest)
        return RSET_OK;
    out->acted = true;
    st = elect(&o);
    return st == RSET_OK ? spread(&o) : st;
}

/* ---- an older one becomes the newest ---- */

static void
take_larger(void *into, const void *other)
{
    uint64_t *a = into, b = *(const uint64_t *)other;

    *a = b > *a ? b : *a;
}

rset_status
rset_replica_restore(const rset_replica_args *args, rset_replica_older *older, rset_err *err)
{
    const rset_reduction what = {&older->generation, sizeof older->generation, take_larger};
    opening              o = {.args = args, .err = err, .leads = true};
    rset_status          st = rset_reduce(args->world, args->before, args->host, &what, err);

    if (st == RSET_OK)
        st = elect(&o);
    if (st != RSET_OK)
        return st;
    if (o.leads)
        st = rset_replica_take_back(args, older, err);
    return rset_agree(args->world, st, args->host, err);
}
