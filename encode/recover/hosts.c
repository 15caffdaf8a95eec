/* hosts.c: which rank hosts which member, where as many ranks have come as wrote the files. See recover_internal.h.
 *
 * Rank numbers need not be those of the encode. A rank hosts the member whose redundancy file it has. One that has none hosts the
 * member of its own number, if it opens the name of that member's file.
 *
 * No rank knows all of it. Rank p keeps what is known of the file that rank p wrote, and rank s keeps the members of set s
 * (picture/picture.h). Ranks tell the keepers of ranks what they have recorded, these tell the keepers of sets, and those tell the members
 * who the others are. What is left over, because a rank neither has a redundancy file nor opens the file of its own number, rank 0 fits
 * together (leftovers.c). */
#include "recover_internal.h"

#include <assert.h>
#include <stdlib.h>

typedef struct hosts {
    rset_recovery *r;
    int            me, ranks; /* as many as wrote the files */
    rset_holding   opened;    /* what this rank opens */
    bool           hosts;     /* this rank hosts a member */
    /* This rank keeps the rank of its own number, and the members of the set of that number (owned; NULL: there is no such set). `by` of
     * each is its host, -1: nobody yet. */
    rset_holding  kept;
    rset_holding *members;
    int          *ranks_of_set; /* room for the ranks of this one's set, `room` of them; owned */
    int           room;
} hosts;

static rset_status
misfit(const hosts *h)
{
    return rset_fail(h->r->err, RSET_LOST, "%s: the ranks record sets that do not fit together",
                     rset_local_name(h->r->args->local));
}

/* Can there be such a member? Headers say what disks hold, and messages what ranks say. */
static bool
is_possible(const hosts *h, const rset_holding *one)
{
    return one->rank >= 0 && one->rank < h->ranks && one->set >= 0 && one->set < h->ranks &&
           one->member >= 0 && one->member < one->members && one->members <= h->ranks;
}

/* ---- what is recorded ---- */

static bool
has_record(const rset_recovery *r)
{
    return r->evidence->has_header && rset_generation_code(r->evidence) == r->standing.counts;
}

/* Nothing is known of any member. */
static const rset_holding unknown = {.rank = -1, .set = -1, .member = -1, .left = -1, .by = -1};

/* This rank opens a file of that name, which was protected under that path, in whatever generation. */
static rset_holding
own_opening(const rset_recovery *r)
{
    const rset_local *local = r->args->local;
    const rset_info  *info = r->evidence->header.infos;
    rset_holding      own = unknown;

    if (local->nfiles > 0)
        own.name = rset_recovery_name_hash(r, rset_path_base(local->names[0]));
    if (r->evidence->has_header && info->nfiles > 0)
        own.path = rset_name_hash(info->files[0].path);
    return own;
}

/* This rank's header records info k: of that member, by the name that was recorded. */
static rset_holding
recorded(const rset_recovery *r, int k)
{
    const rset_info *info = &r->evidence->header.infos[k];
    const char      *base = info->nfiles > 0 ? rset_path_base(info->files[0].path) : "";
    rset_holding     one = rset_holding_recorded(r->evidence, base, NULL, k);

    one.name = info->nfiles > 0 ? rset_recovery_name_hash(r, base) : 0;
    return one;
}

static rset_status
tell_keeper(const hosts *h, const rset_holding *one, rset_records *said)
{
    if (!is_possible(h, one))
        return misfit(h);
    rset_keepers_say(said, h->r->args->world,
                     &(rset_saying){.key = rset_key_of_rank(one->rank), .holding = *one});
    return RSET_OK;
}

static bool
is_named(const rset_header *header, int member)
{
    for (int k = 0; k < header->ninfos; k++)
        if (header->infos[k].desc.member == member)
            return true;
    return false;
}

/* Tells keepers what this rank's header records: of itself and its left neighbours with names; and of all other members, for when those
 * who name them are lost. For that the first members suffice: without any of them, the set cannot be had. A rank without a header asks for
 * the member of its own number. */
static rset_status
tell_keepers(const hosts *h, rset_records *said)
{
    const rset_recovery *r = h->r;
    const rset_header   *header = &r->evidence->header;
    rset_holding         one;
    rset_status          st = RSET_OK;

    if (!has_record(r)) {
        rset_keepers_say(
            said, r->args->world,
            &(rset_saying){.key = rset_key_of_rank(h->me), .asks = 1, .holding = h->opened});
        return RSET_OK;
    }
    for (int k = 0; st == RSET_OK && k < header->ninfos; k++) {
        one = recorded(r, k);
        st = tell_keeper(h, &one, said);
    }
    one = recorded(r, 0);
    one.facts = 0;
    one.name = one.path = 0;
    if (header->group == NULL || one.member > header->infos[0].desc.parity)
        return st;
    for (one.member = 0; st == RSET_OK && one.member < one.members; one.member++) {
        one.rank = header->group[one.member];
        if (!is_named(header, one.member))
            st = tell_keeper(h, &one, said);
    }
    return st;
}

/* ---- who keeps a rank ---- */

/* A rank has said this of the one that this rank keeps. */
static rset_status
note_record(hosts *h, const rset_holding *one)
{
    rset_holding *kept = &h->kept;
    const bool    here = (one->facts & RSET_HOLDING_HERE) != 0;

    if (!is_possible(h, one) || one->rank != h->me)
        return rset_fail(h->r->err, RSET_PEER, "a rank sent records that are not valid");
    if (kept->set >= 0 &&
        (kept->set != one->set || kept->member != one->member || kept->members != one->members))
        return misfit(h);
    if (here && kept->by >= 0)
        return rset_fail(h->r->err, RSET_LOST,
                         "%s: ranks %d and %d both have the file of rank %d, and others are "
                         "missing; each rank must open its own",
                         rset_local_name(h->r->args->local),
                         kept->by < one->by ? kept->by : one->by,
                         kept->by < one->by ? one->by : kept->by, one->rank);
    kept->set = one->set;
    kept->member = one->member;
    kept->members = one->members;
    kept->left = one->left > kept->left ? one->left : kept->left;
    if (here) {
        kept->by = one->by;
        kept->facts = RSET_HOLDING_HERE;
    }
    if (one->name != 0) {
        kept->name = one->name;
        kept->path = one->path;
    }
    return RSET_OK;
}

/* This rank keeps its own number, and tells the keeper of its set of it. The rank of that number asks where it has no redundancy file, and
 * hosts it where its file is the one that it opens: nobody else has to be asked. */
static rset_status
keep_rank(rset_answers *to, const rset_saying *of_key, size_t n)
{
    hosts       *h = to->arg;
    const size_t askers = rset_keepers_askers(of_key, n);
    rset_status  st = RSET_OK;

    for (size_t i = askers; st == RSET_OK && i < n; i++)
        st = note_record(h, &of_key[i].holding);
    if (st == RSET_OK && askers > 0 && h->kept.by < 0 &&
        (h->kept.name == 0 || rset_recovery_may_be(&of_key[0].holding, &h->kept))) {
        h->kept.by = of_key[0].holding.by;
        h->hosts = true;
    }
    if (st == RSET_OK && h->kept.set >= 0)
        rset_records_add(&to->out, h->kept.set, &(rset_saying){.holding = h->kept});
    return st;
}

/* ---- who keeps a set ---- */

/* Members of the set that this rank keeps; 0: it keeps none. */
static int
number_of_members(const hosts *h)
{
    return h->members != NULL ? h->members[0].members : 0;
}

/* Room for the members of the set that this one is of. */
static rset_status
make_members(hosts *h, const rset_holding *one)
{
    h->members = calloc((size_t)one->members, sizeof *h->members);
    if (h->members == NULL)
        return rset_fail(h->r->err, RSET_NOMEM, "no memory for a set of %d ranks", one->members);
    for (int m = 0; m < one->members; m++) {
        h->members[m] = unknown;
        h->members[m].set = one->set;
        h->members[m].member = m;
        h->members[m].members = one->members;
    }
    return RSET_OK;
}

static rset_status
note_member(hosts *h, const rset_holding *one)
{
    rset_status st = RSET_OK;

    if (!is_possible(h, one) || one->set != h->me ||
        (h->members != NULL && one->members != number_of_members(h)))
        return misfit(h);
    if (h->members == NULL)
        st = make_members(h, one);
    if (st != RSET_OK)
        return st;
    if (h->members[one->member].rank >= 0 && h->members[one->member].rank != one->rank)
        return misfit(h);
    h->members[one->member] = *one;
    return RSET_OK;
}

/* Keepers hear what was said, and tell the keepers of sets. Collective. */
static rset_status
ask(hosts *h, rset_keepers_question q, rset_status own, rset_records *said)
{
    const rset_recover_args *a = h->r->args;
    rset_status              st;

    q.world = a->world;
    q.host = a->host;
    st = rset_keepers_ask(&q, own, said, h->r->err);
    for (size_t i = 0; st == RSET_OK && i < said->n; i++) {
        rset_saying it;

        (void)rset_records_get(said, i, &it);
        st = note_member(h, &it.holding);
    }
    rset_records_free(said);
    return st;
}

/* Collective; the outcome is this rank's own. */
static rset_status
ask_keepers(hosts *h, rset_status own)
{
    rset_records said = {.size = sizeof(rset_saying)};
    rset_status  st = own == RSET_OK ? tell_keepers(h, &said) : own;

    return ask(h, (rset_keepers_question){.answer = keep_rank, .arg = h}, st, &said);
}

/* ---- the set ---- */

/* Who hosts some members of a set. Sent as it is. */
enum { PART = 16 };
typedef struct set_part {
    int32_t members; /* of the set */
    int32_t
        left; /* infos of left neighbours that its headers have; -1 where all members have their headers */
    int32_t first;    /* of the members that this part is about */
    int32_t by[PART]; /* their hosts; -1: there are no more members */
} set_part;

/* Every member is told who the others are. */
static rset_status
send_members(const hosts *h, rset_records *parts)
{
    const int n = number_of_members(h);
    int       left = -1;
    bool      all = true; /* have their headers */

    for (int m = 0; m < n; m++) {
        if (h->members[m].by < 0)
            return rset_fail(h->r->err, RSET_LOST, "%s: member %d of set %d is not known",
                             rset_local_name(h->r->args->local), m, h->members[m].set);
        left = h->members[m].left > left ? h->members[m].left : left;
        all = all && (h->members[m].facts & RSET_HOLDING_HERE) != 0;
    }
    for (int first = 0; first < n; first += PART) {
        set_part part = {.members = n, .left = all ? -1 : left, .first = first};

        for (int i = 0; i < PART; i++)
            part.by[i] = first + i < n ? h->members[first + i].by : -1;
        for (int to = 0; to < n; to++)
            rset_records_add(parts, h->members[to].by, &part);
    }
    return RSET_OK;
}

/* Puts the parts that came together. *n_out: members of the set. False: they do not make one. */
static bool
put_together(const rset_records *parts, int room, int *ranks, int *n_out)
{
    set_part part;
    int      n;

    (void)rset_records_get(parts, 0, &part);
    n = part.members;
    if (n < 1 || n > room || parts->n != ((size_t)n + PART - 1) / PART)
        return false;
    for (int m = 0; m < n; m++)
        ranks[m] = -1;
    for (size_t i = 0; i < parts->n; i++) {
        (void)rset_records_get(parts, i, &part);
        if (part.members != n || part.first < 0 || part.first >= n || part.first % PART != 0)
            return false;
        for (int k = 0; k < PART && part.first + k < n; k++)
            ranks[part.first + k] = part.by[k];
    }
    *n_out = n;
    return true;
}

/* The keeper of the set has checked what it sent. Others may wait for this rank in its set from now on, so a rank that cannot join it
 * revokes. */
static rset_status
join_set(hosts *h, const rset_records *parts)
{
    rset_recovery *r = h->r;
    rset_comm     *world = r->args->world;
    rset_err       ignored = RSET_ERR_NONE;
    set_part       part;
    int            n, *ranks = h->ranks_of_set;

    if (parts->n == 0)
        return RSET_OK;
    h->ranks_of_set = NULL;
    (void)rset_records_get(parts, 0, &part);
    if (!put_together(parts, h->room, ranks, &n)) {
        free(ranks);
        return rset_comm_revoke(world, r->err, "rank %d was sent a set that is none",
                                rset_comm_world(world, world->rank));
    }
    if (rset_comm_subset_of(world, ranks, n, &r->set, &ignored) != RSET_OK)
        return rset_comm_revoke(world, r->err, "rank %d was sent a set without itself",
                                rset_comm_world(world, world->rank));
    r->has_set = true;
    r->left = part.left;
    return RSET_OK;
}

/* This rank's set has as many members as its header or its keeper says, or, where rank 0 has fitted the rank in, any number. */
static rset_status
make_room(hosts *h, bool fitted)
{
    const rset_info *info = h->r->evidence->header.infos;
    const int        size = h->r->args->world->size;
    const int        own = has_record(h->r) ? info->desc.members : h->kept.members;

    free(h->ranks_of_set);
    h->room = fitted || own > size ? size : own > 0 ? own : 1;
    h->ranks_of_set = calloc((size_t)h->room, sizeof *h->ranks_of_set);
    return h->ranks_of_set != NULL
               ? RSET_OK
               : rset_fail(h->r->err, RSET_NOMEM, "no memory for a set of %d ranks", h->room);
}

/* Nobody waits for a rank that has no room for its set: it says so in the step that would tell it the members. */
static rset_status
form_set(hosts *h, bool fitted, rset_status own)
{
    const rset_recover_args *a = h->r->args;
    rset_records             parts = {.size = sizeof(set_part)};
    rset_status              st = own;

    if (st == RSET_OK)
        st = send_members(h, &parts);
    if (st == RSET_OK)
        st = make_room(h, fitted);
    st = rset_route(a->world, st, a->host, &parts, h->r->err);
    if (st == RSET_OK)
        st = join_set(h, &parts);
    rset_records_free(&parts);
    return st;
}

/* ---- what is left over ---- */

/* The verdict of a rank that knows of something which rank 0 has to fit together: no failure, and the sets are formed once that is
 * done. So all hear of it in the step that forms them where nothing is left over. Nothing else in that step has this status. */
static const rset_status left_over = RSET_ABSENT;

static bool
is_left_over(const hosts *h)
{
    bool left = !h->hosts;

    for (int m = 0; m < number_of_members(h); m++)
        left = left || h->members[m].rank < 0 || h->members[m].by < 0;
    return left;
}

/* Rank 0 finds hosts for members that have none, and members for places that nobody recorded; the keepers of sets are told. Costs rank 0
 * as much as is left over. Collective; the outcome is this rank's own. */
static rset_status
ask_rank_0(hosts *h)
{
    const rset_comm *world = h->r->args->world;
    rset_records     said = {.size = sizeof(rset_saying)};
    rset_saying      it = {.key = rset_key_of_rank(0)};

    it.holding = h->kept;
    if (h->kept.by < 0 || h->kept.set < 0)
        rset_keepers_say(&said, world, &it);
    for (int m = 0; m < number_of_members(h); m++) {
        it.holding = h->members[m];
        if (it.holding.rank < 0)
            rset_keepers_say(&said, world, &it);
    }
    it.asks = 1;
    it.holding = h->opened;
    if (!h->hosts)
        rset_keepers_say(&said, world, &it);
    return ask(h, (rset_keepers_question){.answer = rset_recovery_fit, .arg = h->r}, RSET_OK,
               &said);
}

static rset_status
form_sets(hosts *h, rset_status own)
{
    rset_status st = own;

    if (st == RSET_OK && is_left_over(h))
        st = rset_fail(h->r->err, left_over, "some members are left over");
    st = form_set(h, false, st);
    if (st != left_over)
        return st;
    *h->r->err = RSET_ERR_NONE;
    return form_set(h, true, ask_rank_0(h));
}

/* ---- the whole ---- */

/* This rank notes what it knows of the division into sets. It is added up with the next reports. */
static void
note_division(const hosts *h)
{
    rset_recovery   *r = h->r;
    const rset_desc *desc = has_record(r) ? &r->evidence->header.infos[0].desc : NULL;

    r->division = (rset_division){.sets = desc != NULL ? (uint64_t)desc->sets : 0,
                                  .known = h->members != NULL,
                                  .seen = r->has_set};
}

rset_status
rset_recovery_find_hosts(rset_recovery *r, rset_status own)
{
    hosts       h = {.r = r,
                     .me = r->args->world->rank,
                     .ranks = (int)r->policy.published_ranks,
                     .hosts = has_record(r),
                     .kept = unknown};
    rset_status st = rset_recovery_agree_on_names(r, own);

    assert(h.ranks == r->args->world->size); /* R1 */
    h.opened = own_opening(r);
    h.kept.rank = h.me;
    st = form_sets(&h, ask_keepers(&h, st));
    if (st == RSET_OK)
        note_division(&h);
    free(h.members);
    free(h.ranks_of_set);
    r->hosts_known = st == RSET_OK;
    return st;
}

void
rset_recovery_forget_hosts(rset_recovery *r)
{
    rset_repair_end(&r->rep); /* it is of that set */
    if (r->has_set)
        rset_comm_free(&r->set);
    r->has_set = r->hosts_known = r->was_left_over = false;
    r->left = 0;
    r->division = (rset_division){0};
}
