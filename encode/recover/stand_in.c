/* stand_in.c: the ranks that have come are more or fewer than those that wrote the files, or ask for files of different steps.
 * See recover_internal.h.
 *
 * Each rank hears what all see of the file that it opens, and says of which generation that is. Then each generation is recovered as by
 * the ranks that wrote it, each hosted by one of those that have come (comm/comm_hosted.h): one decision, the same code. */
#include "comm/comm_hosted.h"
#include "commit/kept.h"
#include "openings_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One rank that wrote a file, and where this process opens it. */
typedef struct member {
    const char  *dir, *prefix, *base, *path; /* borrowed; `prefix` NULL: nothing of it is here */
    char        *name, *beside; /* its data file and its prefix; owned, as what follows */
    rset_dir    *opened;
    rset_status  st;
    rset_err     err;
    rset_outcome out;
} member;

/* A rank that wrote a file, and who hosts it. Sent as it is. */
typedef struct hosted {
    int32_t rank, host;
} hosted;

typedef struct stand_in {
    rset_recovery *r;
    rset_openings  see;
    int            ranks;   /* that wrote what is recovered now */
    int           *host_of; /* per rank that wrote it */
    member        *members; /* the same; of those hosted here */
    hosted        *chosen;  /* of those that this rank keeps, whose host was found; owned */
    size_t         nchosen;
    bool           content; /* something is lost or damaged: all content is verified */
} stand_in;

/* ---- who hosts whom ----
 *
 * The keeper of a rank that wrote a file hears what all see of that, and chooses its host. */

/* May it be a file of one of the ranks that wrote it? */
static bool
makes_sense(const stand_in *s, const rset_holding *one)
{
    return one->ranks == s->ranks && one->rank >= 0 && one->rank < s->ranks && one->by >= 0;
}

/* For which files something is done. */
typedef struct taking {
    stand_in               *s;
    const rset_openings_of *of;
    rset_records           *said;
} taking;

static bool
tell_keeper(const rset_openings *see, const rset_located *found, int k, const rset_holding *one,
            void *arg)
{
    const taking *t = arg;

    (void)found;
    (void)k;
    if (one->generation != 0 && rset_openings_is_of(one, t->of) && makes_sense(t->s, one))
        rset_keepers_say(t->said, see->r->args->world,
                         &(rset_saying){.key = rset_key_of_rank(one->rank), .holding = *one});
    return true;
}

/* How well a process may host a rank: who has its file and opens it, has it, opens its name, knows of it; and of several, each for
 * other ranks. */
static int
worth(const stand_in *s, const rset_holding *one, int by)
{
    const int size = s->r->args->world->size;
    const int kind = ((one->facts & RSET_HOLDING_HERE) != 0 ? 2 : 0) +
                     (s->see.openings[by].name == one->base ? 1 : 0);

    return kind * size + (by + one->rank) % size + 1;
}

/* The host of a rank that this one keeps, where anything is seen of it: what a header claims of the number of ranks costs others
 * nothing. */
static rset_status
choose_host(rset_answers *to, const rset_saying *of_key, size_t n)
{
    stand_in *s = to->arg;
    hosted   *chosen = &s->chosen[s->nchosen];
    int       most = 0;

    for (size_t i = 0; i < n; i++) {
        const rset_holding *one = &of_key[i].holding;
        const bool          here = (one->facts & RSET_HOLDING_HERE) != 0;
        const int           asker = here ? -1 : rset_openings_finder(&s->see, one->base);
        const int           by = asker >= 0 ? asker : one->by;

        if (!makes_sense(s, one) || rset_key_of_rank(one->rank) != of_key->key ||
            worth(s, one, by) <= most)
            continue;
        most = worth(s, one, by);
        *chosen = (hosted){.rank = one->rank, .host = by};
    }
    s->nchosen += most > 0;
    return RSET_OK;
}

/* Who hosts whom, as all have said it. */
static void
take_hosts(stand_in *s, const rset_gathered *all)
{
    const int     size = s->r->args->world->size;
    const hosted *at = (const hosted *)(const void *)all->bytes;

    for (int p = 0; p < s->ranks; p++)
        s->host_of[p] = -1;
    for (size_t i = 0; i < all->offs[size] / sizeof *at; i++)
        if (at[i].rank >= 0 && at[i].rank < s->ranks && at[i].host >= 0 && at[i].host < size)
            s->host_of[at[i].rank] = at[i].host;
}

/* s->host_of, the same on all; -1: nobody sees anything of that rank's file. Collective. RSET_NOMEM. */
static rset_status
find_hosts(stand_in *s, const rset_openings_of *of)
{
    const rset_recover_args    *a = s->r->args;
    const rset_keepers_question q = {
        .world = a->world, .host = a->host, .answer = choose_host, .arg = s};
    rset_records  said = {.size = sizeof(rset_saying)};
    rset_gathered all = {0};
    rset_share    share;
    rset_status   st = RSET_OK;

    s->host_of = malloc((size_t)s->ranks * sizeof *s->host_of);
    s->members = calloc((size_t)s->ranks, sizeof *s->members);
    s->chosen = calloc((size_t)(s->ranks / a->world->size + 1), sizeof *s->chosen);
    s->nchosen = 0;
    if (s->chosen == NULL || s->host_of == NULL || s->members == NULL)
        st = rset_fail(s->r->err, RSET_NOMEM, "no memory for the files of %d ranks", s->ranks);
    (void)rset_openings_each(&s->see, true, tell_keeper, &(taking){s, of, &said});
    st = rset_keepers_hear(&q, st, &said, s->r->err);
    share = (rset_share){
        .bytes = s->chosen, .len = s->nchosen * sizeof *s->chosen, .max = (size_t)1 << 31};
    st = rset_gather_all(a->world, st, a->host, &share, &all, s->r->err);
    if (st == RSET_OK)
        take_hosts(s, &all);
    rset_gathered_free(&all);
    free(s->chosen);
    return st;
}

/* The file of a rank that this process hosts is lost, and comes back where it opens it. */
static void
take_own_member(stand_in *s, const rset_openings_of *of)
{
    const rset_local *local = s->r->args->local;
    const int         me = s->r->args->world->rank;

    for (size_t i = 0; i < s->see.nheard; i++) {
        const rset_holding *one = &s->see.heard[i];

        if (rset_openings_is_of(one, of) && makes_sense(s, one) &&
            (one->facts & RSET_HOLDING_HERE) == 0 && s->host_of[one->rank] == me)
            s->members[one->rank] = (member){.dir = rset_dir_path(local->dir),
                                             .prefix = local->prefix,
                                             .base = local->names[0],
                                             .path = local->paths[0]};
    }
}

/* Where this process has the file of a rank that it hosts; or makes it, where it only knows of it. */
static bool
take_member(const rset_openings *see, const rset_located *found, int k, const rset_holding *one,
            void *arg)
{
    const taking *t = arg;
    stand_in     *s = t->s;
    const char   *path = found->evidence.header.infos[k].files[0].path;
    const char   *dir = rset_dir_path(found->dir);
    member       *p;

    (void)see;
    if (!rset_openings_is_of(one, t->of) || !makes_sense(s, one) ||
        s->host_of[one->rank] != one->by)
        return true;
    p = &s->members[one->rank];
    if ((one->facts & RSET_HOLDING_HERE) != 0)
        *p = (member){.dir = dir, .prefix = found->prefix, .base = found->base, .path = path};
    else if (p->dir == NULL)
        *p = (member){.dir = dir, .base = rset_path_base(path), .path = path};
    return true;
}

/* ---- the ranks that wrote the files ---- */

/* What its data file is called here. A file that others only record comes back under the name of the generation that is asked
 * for. */
static rset_status
name_member(const stand_in *s, member *p)
{
    const char *asked = s->r->args->local->nfiles > 0 ? s->r->args->local->names[0] : "";

    p->name = p->prefix != NULL ? strdup(p->base)
                                : rset_join_names(p->base, asked + rset_name_recorded(asked));
    p->beside = p->name != NULL ? rset_join_names(p->name, ".") : NULL;
    return p->beside != NULL ? RSET_OK
                             : rset_fail(&p->err, RSET_NOMEM, "%s: no memory for a name", p->base);
}

/* As its rank would. */
static rset_status
open_member(const stand_in *s, member *p, rset_evidence *ev)
{
    const bool  readonly = s->r->args->readonly || s->r->args->dry_run;
    rset_status st = name_member(s, p);

    if (st == RSET_OK)
        st = rset_dir_open(p->dir, false, &p->opened, &p->err);
    if (st == RSET_OK)
        st = rset_kept_make_named_ready(p->opened, p->name, readonly, &p->err);
    return st == RSET_OK ? rset_survey(p->opened, p->beside, p->name, ev, &p->err) : st;
}

static void
close_member(member *p)
{
    rset_dir_close(p->opened);
    free(p->name);
    free(p->beside);
    p->opened = NULL;
    p->name = p->beside = NULL;
}

static void
recover_rank(rset_comm *world, void *arg)
{
    stand_in                *s = arg;
    const rset_recover_args *own = s->r->args;
    member                  *p = &s->members[world->rank];
    rset_recovery            r;
    rset_evidence            ev = {0};
    rset_local               local = {.nfiles = 1, .paths = &p->path};
    rset_recover_args        args = {.world = world,
                                     .local = &local,
                                     .evidence = &ev,
                                     .content = s->content ? own->content : RSET_CONTENT_NONE,
                                     .readonly = own->readonly,
                                     .dry_run = own->dry_run,
                                     .required = own->required,
                                     .undelete = own->undelete,
                                     .stays = true,
                                     .tidy = own->tidy,
                                     .watch = own->watch,
                                     .host = own->host};

    p->err = (rset_err)RSET_ERR_NONE;
    args.before = open_member(s, p, &ev);
    local.dir = p->opened;
    local.prefix = p->beside != NULL ? p->beside : "";
    local.names = (const char *const *)&p->name;
    rset_recovery_begin(&r, &args, &p->out, &p->err);
    r.hosted = true;
    p->st = rset_recovery_end(&r, rset_recovery_go(&r, args.before));
    rset_evidence_free(&ev);
    close_member(p);
}

static rset_status
nobody_sees(const stand_in *s, int rank)
{
    return rset_fail(
        s->r->err, RSET_LOST,
        "%s: what rank %d of the %d that wrote these files had was found by none of the "
        "%d that open them, nor what records it; start one on each node that has such "
        "files, or name the directories that can be seen from here with search=",
        rset_local_name(s->r->args->local), rank, s->ranks, s->r->args->world->size);
}

/* What became of this process's ranks. */
static rset_status
sum_up(stand_in *s)
{
    const rset_recover_args *a = s->r->args;

    for (int p = 0; p < s->ranks; p++) {
        member *at = &s->members[p];

        if (s->host_of[p] != a->world->rank || at->out.reason == RSET_REASON_DELETED)
            continue;
        if (at->st != RSET_OK) {
            at->err.status = at->st == RSET_ABSENT ? RSET_LOST : at->st;
            at->err.rank = -1; /* that of a job that has ended */
            return rset_fail_as(s->r->err, &at->err);
        }
        if (a->local->nfiles > 0 && strcmp(at->base, a->local->names[0]) == 0 &&
            strcmp(at->dir, rset_dir_path(a->local->dir)) == 0 && at->out.acted) {
            s->r->out->replaced = s->r->out->replaced || at->out.replaced;
            rset_outcome_note(s->r->out, &at->out.decided, &at->out.found);
            s->r->out->altered = at->out.altered;
            s->r->out->altered.own = a->own_run;
            s->r->out->aside = at->out.aside;
            memcpy(s->r->out->was_on, at->out.was_on, sizeof at->out.was_on);
        }
    }
    return RSET_OK;
}

static rset_status
recover_generation(stand_in *s, const rset_openings_of *f)
{
    const rset_recover_args *a = s->r->args;
    rset_hosting             how = {.outer = a->world, .ranks = f->ranks, .host = a->host};
    rset_status              st;

    s->ranks = f->ranks;
    st = find_hosts(s, f);
    for (int p = 0; st == RSET_OK && how.own == RSET_OK && p < f->ranks; p++)
        if (s->host_of[p] < 0)
            how.own = nobody_sees(s, p);
    if (st == RSET_OK && how.own == RSET_OK) {
        take_own_member(s, f);
        (void)rset_openings_each(&s->see, false, take_member, &(taking){.s = s, .of = f});
    }
    how.host_of = s->host_of;
    if (st == RSET_OK)
        st = rset_hosted_run(&how, recover_rank, s, s->r->err);
    if (st == RSET_OK)
        st = rset_agree(a->world, sum_up(s), a->host, s->r->err);
    free(s->host_of);
    free(s->members);
    s->host_of = NULL;
    s->members = NULL;
    return st;
}

/* ---- which generations ---- */

/* Is it that of a commit which others that are asked for have only prepared? It is recovered with theirs. */
static bool
is_ahead(const stand_in *s, uint64_t generation)
{
    for (int i = 0; i < s->r->args->world->size; i++) {
        const rset_holding *one = &s->see.openings[i];

        if (one->generation != 0 && one->next == generation && one->generation != generation)
            return true;
    }
    return false;
}

/* The next one to be recovered: of each name that is asked for, the newest that anybody knows of. */
static bool
next_generation(const stand_in *s, rset_openings_of *f)
{
    const uint64_t after = f->generation;
    bool           found = false;

    for (int i = 0; i < s->r->args->world->size; i++) {
        const rset_holding *one = &s->see.openings[i];

        if (one->ranks < 1 || one->generation <= after ||
            (found && one->generation > f->generation) || is_ahead(s, one->generation))
            continue;
        if (!found || one->generation < f->generation)
            *f = (rset_openings_of){.generation = one->generation, .ranks = one->ranks};
        f->next = one->next != 0 ? one->next : f->next;
        found = true;
    }
    return found;
}

/* Where this rank opens its file an older copy of it lies, which nobody would bring up to date: the file is at home elsewhere. To
 * open it beside the others' would be a mixture. */
static rset_status
check_own_copy(const stand_in *s)
{
    const rset_holding      *heard = s->see.heard;
    const rset_recover_args *a = s->r->args;
    const uint64_t           mine = rset_evidence_generation(a->evidence);

    if (a->local->nfiles == 0 || mine == 0 ||
        rset_dir_lacks_file(a->local->dir, a->local->names[0]))
        return RSET_OK;
    for (size_t k = 0; k < s->see.nheard; k++)
        if (rset_openings_mean(&s->see, &heard[k]) && (heard[k].facts & RSET_HOLDING_HERE) != 0 &&
            rset_generation_newer(heard[k].generation, mine))
            return rset_fail(s->r->err, RSET_LOST,
                             "%s: this is an old copy of the file that is in reach of rank %d. "
                             "Nothing was changed; remove it, with what lies beside it, and open "
                             "again",
                             rset_local_name(a->local), heard[k].by);
    return RSET_OK;
}

/* Where directories to look in were named, and nothing of that name is of the one in which it is asked for, that is a new one: what
 * is seen is meant, as long as it is all of one directory. */
static bool
is_brought(const stand_in *s)
{
    const rset_holding      *heard = s->see.heard;
    const rset_recover_args *a = s->r->args;
    const rset_holding      *first = NULL;

    if (a->search == NULL || a->search[0] == NULL)
        return false;
    for (size_t k = 0; k < s->see.nheard; k++) {
        if (rset_openings_mean(&s->see, &heard[k]) ||
            (first != NULL && first->where.form[0].hash != heard[k].where.form[0].hash))
            return false;
        first = &heard[k];
    }
    return true;
}

/* A file of that name which is not meant: what becomes of the one must not become of the other, and only the name is told apart. */
static rset_status
check_meant(const stand_in *s)
{
    const rset_holding      *heard = s->see.heard;
    const rset_recover_args *a = s->r->args;
    const bool               brought = is_brought(s);

    for (size_t k = 0; k < s->see.nheard && !brought; k++)
        if (!rset_openings_mean(&s->see, &heard[k]))
            return rset_fail(
                s->r->err, RSET_LOST,
                "%s: rank %d sees another file of that name, in another directory, and "
                "not all of what is asked for is whole. Nothing was changed; open the "
                "files of one directory on all ranks",
                rset_local_name(a->local), heard[k].by);
    return RSET_OK;
}

/* Is anything known of each file that is asked for? Else they are not opened, and nothing is done about the others (R5). */
static bool
all_are_known(const stand_in *s)
{
    for (int i = 0; i < s->r->args->world->size; i++)
        if (s->see.openings[i].name != 0 && s->see.openings[i].generation == 0)
            return false;
    return true;
}

static rset_status
refuse_unknown(const rset_recovery *r)
{
    char text[RSET_ERR_TEXT];

    rset_reason_say(RSET_REASON_OTHER_RANKS, &r->all, rset_local_name(r->args->local), NULL, text,
                    sizeof text);
    return rset_fail(r->err, RSET_LOST, "%s", text);
}

/* Each hears of its own file, and all of which generation each is; where one may not be opened, nothing is done about any. */
static rset_status
hear_all(stand_in *s)
{
    rset_status st = rset_openings_begin(&s->see), own;

    if (st == RSET_OK)
        st = rset_openings_ask(&s->see);
    if (st != RSET_OK)
        return st;
    own = s->see.failed;
    if (own == RSET_OK)
        own = check_own_copy(s);
    if (own == RSET_OK)
        own = check_meant(s);
    rset_openings_take_newest(&s->see, false);
    st = rset_openings_say(&s->see, own);
    return st == RSET_OK && !all_are_known(s) ? refuse_unknown(s->r) : st;
}

rset_status
rset_recovery_stand_in(rset_recovery *r)
{
    stand_in s = {
        .r = r, .see = {.r = r, .exact = true}, .content = (r->all.facts & RSET_FACTS_LOSS) != 0};
    rset_openings_of next = {0};
    rset_status      st = hear_all(&s);

    r->acts = st == RSET_OK;
    while (st == RSET_OK && next_generation(&s, &next))
        st = recover_generation(&s, &next);
    r->out->acted = true;
    if (st == RSET_OK)
        st =
            rset_agree(r->args->world, rset_survey_local(r->args->local, r->args->evidence, r->err),
                       r->args->host, r->err);
    rset_openings_free(&s.see);
    return st;
}
