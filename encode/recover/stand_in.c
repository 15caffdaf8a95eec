/* stand_in.c: the ranks that have come are more or fewer than those that wrote the files, or ask for files of different steps.
 * See recover_internal.h.
 *
 * All say what they see of these files in their directories. Then each generation is recovered as by the ranks that wrote
 * it, each hosted by one of those that have come (comm/comm_hosted.h): one decision, the same code. */
#include "comm/comm_hosted.h"
#include "member/kept.h"
#include "openings_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One rank that wrote a file, and where this process opens it. */
typedef struct place {
    const char  *dir, *prefix, *base, *path; /* borrowed; `prefix` NULL: nothing of it is here */
    char        *name, *beside; /* its data file and its prefix; owned, as what follows */
    rset_dir    *opened;
    rset_status  st;
    rset_err     err;
    rset_outcome out;
} place;

typedef struct stand_in {
    rset_recovery *r;
    rset_openings  see;
    int            ranks;   /* that wrote what is recovered now */
    int           *host_of; /* per rank that wrote it */
    place         *places;  /* the same; of those hosted here */
    bool           content; /* something is lost or damaged: all content is verified */
} stand_in;

/* ---- who hosts whom ---- */

static bool
makes_sense(const stand_in *s, const rset_holding *one)
{
    return one->ranks == s->ranks && one->rank >= 0 && one->rank < s->ranks && one->by >= 0 &&
           one->by < s->r->args->world->size;
}

/* How well one may host a rank: who has its file and opens it, has it, opens its name, knows of it; and of several, each for
 * other ranks. */
static int
worth(const stand_in *s, const rset_holding *one, int by)
{
    const int size = s->r->args->world->size;
    const int kind = ((one->facts & RSET_HOLDING_HERE) != 0 ? 2 : 0) +
                     (s->see.openings[by].name == one->base ? 1 : 0);

    return kind * size + (by + one->rank) % size + 1;
}

/* The same on all, who have heard the same. */
static rset_status
choose_hosts(stand_in *s)
{
    const int ranks = s->ranks;
    int      *best = calloc((size_t)ranks, sizeof *best);

    s->host_of = malloc((size_t)ranks * sizeof *s->host_of);
    s->places = calloc((size_t)ranks, sizeof *s->places);
    if (best == NULL || s->host_of == NULL || s->places == NULL) {
        free(best);
        return rset_fail(s->r->err, RSET_NOMEM, "no memory for the files of %d ranks", ranks);
    }
    for (int p = 0; p < ranks; p++)
        s->host_of[p] = -1;
    for (size_t i = 0; i < s->see.nheard; i++) {
        const rset_holding *one = &s->see.heard[i];
        const int           asker =
            (one->facts & RSET_HOLDING_HERE) == 0 ? rset_openings_finder(&s->see, one->base) : -1;
        const int by = asker >= 0 ? asker : one->by;

        if (!makes_sense(s, one))
            continue;
        if (worth(s, one, by) > best[one->rank]) {
            best[one->rank] = worth(s, one, by);
            s->host_of[one->rank] = by;
        }
    }
    free(best);
    return RSET_OK;
}

/* The file of a rank that this process hosts is lost, and comes back where it opens it. */
static void
take_own_place(stand_in *s)
{
    const rset_local *local = s->r->args->local;
    const int         me = s->r->args->world->rank;

    for (size_t i = 0; i < s->see.nheard; i++) {
        const rset_holding *one = &s->see.heard[i];

        if (makes_sense(s, one) && s->see.own.name == one->base &&
            (one->facts & RSET_HOLDING_HERE) == 0 && s->host_of[one->rank] == me)
            s->places[one->rank] = (place){.dir = rset_dir_path(local->dir),
                                           .prefix = local->prefix,
                                           .base = local->names[0],
                                           .path = local->paths[0]};
    }
}

/* For which family places are taken. */
typedef struct taking {
    const stand_in         *s;
    const rset_openings_of *of;
} taking;

/* Where this process has the file of a rank that it hosts; or makes it, where it only knows of it. */
static bool
take_place(const rset_openings *see, const rset_located *found, int k, const rset_holding *one,
           void *arg)
{
    const taking   *t = arg;
    const stand_in *s = t->s;
    const char     *path = found->evidence.header.infos[k].files[0].path;
    const char     *dir = rset_dir_path(found->dir);
    place          *p;

    (void)see;
    if (!rset_openings_is_of(one, t->of) || !makes_sense(s, one) ||
        s->host_of[one->rank] != one->by)
        return true;
    p = &s->places[one->rank];
    if ((one->facts & RSET_HOLDING_HERE) != 0)
        *p = (place){.dir = dir, .prefix = found->prefix, .base = found->base, .path = path};
    else if (p->dir == NULL)
        *p = (place){.dir = dir, .base = rset_path_base(path), .path = path};
    return true;
}

/* ---- the ranks that wrote the files ---- */

/* What its data file is called here. A file that others only record comes back under the name of the generation that is asked
 * for. */
static rset_status
name_place(const stand_in *s, place *p)
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
open_place(const stand_in *s, place *p, rset_evidence *ev)
{
    const bool  readonly = s->r->args->readonly;
    rset_status st = name_place(s, p);

    if (st == RSET_OK)
        st = rset_dir_open(p->dir, false, &p->opened, &p->err);
    if (st == RSET_OK)
        st = rset_kept_make_named_ready(p->opened, p->name, readonly, &p->err);
    return st == RSET_OK ? rset_survey(p->opened, p->beside, p->name, ev, &p->err) : st;
}

static void
close_place(place *p)
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
    place                   *p = &s->places[world->rank];
    rset_recovery            r;
    rset_evidence            ev = {0};
    rset_local               local = {.nfiles = 1, .paths = &p->path};
    rset_recover_args        args = {.world = world,
                                     .local = &local,
                                     .evidence = &ev,
                                     .content = s->content ? own->content : RSET_CONTENT_NONE,
                                     .readonly = own->readonly,
                                     .required = own->required,
                                     .undelete = own->undelete,
                                     .stays = true,
                                     .tidy = own->tidy,
                                     .watch = own->watch,
                                     .host = own->host};

    p->err = (rset_err)RSET_ERR_NONE;
    args.before = open_place(s, p, &ev);
    local.dir = p->opened;
    local.prefix = p->beside != NULL ? p->beside : "";
    local.names = (const char *const *)&p->name;
    rset_recovery_begin(&r, &args, &p->out, &p->err);
    r.hosted = true;
    p->st = rset_recovery_end(&r, rset_recovery_go(&r, args.before));
    rset_evidence_free(&ev);
    close_place(p);
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
        const place *at = &s->places[p];

        if (s->host_of[p] != a->world->rank || at->out.reason == RSET_REASON_DELETED)
            continue;
        if (at->st != RSET_OK)
            return rset_fail(s->r->err, at->st == RSET_ABSENT ? RSET_LOST : at->st, "%s",
                             at->err.text);
        if (a->local->nfiles > 0 && strcmp(at->base, a->local->names[0]) == 0 &&
            strcmp(at->dir, rset_dir_path(a->local->dir)) == 0 && at->out.acted) {
            s->r->out->replaced = s->r->out->replaced || at->out.replaced;
            s->r->out->action = at->out.action;
            s->r->out->lost = at->out.lost;
            s->r->out->altered = at->out.altered;
            s->r->out->altered.own = a->own_run;
            s->r->out->aside = at->out.aside;
            memcpy(s->r->out->was_on, at->out.was_on, sizeof at->out.was_on);
        }
    }
    return RSET_OK;
}

static rset_status
recover_family(stand_in *s, const rset_openings_of *f)
{
    const rset_recover_args *a = s->r->args;
    rset_hosting             how = {.outer = a->world, .ranks = f->ranks, .host = a->host};
    rset_status              st = rset_openings_hear(&s->see, f);

    s->ranks = f->ranks;
    if (st == RSET_OK)
        how.own = choose_hosts(s);
    for (int p = 0; st == RSET_OK && how.own == RSET_OK && p < f->ranks; p++)
        if (s->host_of[p] < 0)
            how.own = nobody_sees(s, p);
    if (st == RSET_OK && how.own == RSET_OK) {
        take_own_place(s);
        (void)rset_openings_each(&s->see, take_place, &(taking){s, f});
    }
    how.host_of = s->host_of;
    if (st == RSET_OK)
        st = rset_hosted_run(&how, recover_rank, s, s->r->err);
    if (st == RSET_OK)
        st = rset_agree(a->world, sum_up(s), a->host, s->r->err);
    free(s->host_of);
    free(s->places);
    s->host_of = NULL;
    s->places = NULL;
    return st;
}

/* ---- which generations ---- */

/* What is told of that name by the newest generation that anybody knows of; NULL: nothing. */
static const rset_holding *
newest_of(const rset_holding *all, size_t n, uint64_t name)
{
    const rset_holding *newest = NULL;

    for (size_t k = 0; k < n; k++)
        if (all[k].base == name && all[k].ranks > 0 &&
            (newest == NULL || rset_generation_newer(all[k].generation, newest->generation)))
            newest = &all[k];
    return newest;
}

/* Is it that of a commit which others that are asked for have only prepared? It is recovered with theirs. */
static bool
is_ahead(const stand_in *s, const rset_holding *all, size_t n, uint64_t generation)
{
    for (int i = 0; i < s->r->args->world->size; i++) {
        const rset_holding *one = newest_of(all, n, s->see.openings[i].name);

        if (one != NULL && one->next == generation && one->generation != generation)
            return true;
    }
    return false;
}

/* The next one to be recovered: of each name that is asked for, the newest that anybody knows of. */
static bool
next_family(const stand_in *s, const rset_holding *all, size_t n, rset_openings_of *f)
{
    const uint64_t after = f->generation;
    bool           found = false;

    for (int i = 0; i < s->r->args->world->size; i++) {
        const rset_holding *newest = newest_of(all, n, s->see.openings[i].name);

        if (newest == NULL || newest->generation <= after ||
            (found && newest->generation > f->generation) ||
            is_ahead(s, all, n, newest->generation))
            continue;
        if (!found || newest->generation < f->generation)
            *f = (rset_openings_of){.generation = newest->generation, .ranks = newest->ranks};
        f->next = newest->next != 0 ? newest->next : f->next;
        found = true;
    }
    return found;
}

/* Where this rank opens its file an older copy of it lies, which nobody would bring up to date: the file is at home elsewhere. To
 * open it beside the others' would be a mixture. */
static rset_status
check_own_copy(const stand_in *s, const rset_holding *all, size_t n)
{
    const rset_recover_args *a = s->r->args;
    const uint64_t           mine = rset_evidence_generation(a->evidence);

    if (a->local->nfiles == 0 || mine == 0 || !rset_dir_has_file(a->local->dir, a->local->names[0]))
        return RSET_OK;
    for (size_t k = 0; k < n; k++)
        if (rset_openings_mean(&s->see, &all[k]) && (all[k].facts & RSET_HOLDING_HERE) != 0 &&
            rset_generation_newer(all[k].generation, mine))
            return rset_fail(s->r->err, RSET_LOST,
                             "%s: this is an old copy of the file that is in reach of rank %d. "
                             "Nothing was changed; remove it, with what lies beside it, and open "
                             "again",
                             rset_local_name(a->local), all[k].by);
    return RSET_OK;
}

/* Where directories to look in were named, and nothing of that name is of the one in which it is asked for, that is a new one: what
 * is seen is meant, as long as it is all of one directory. */
static bool
is_brought(const stand_in *s, const rset_holding *all, size_t n)
{
    const rset_recover_args *a = s->r->args;
    const rset_holding      *first = NULL;

    if (a->search == NULL || a->search[0] == NULL)
        return false;
    for (size_t k = 0; k < n; k++) {
        if (all[k].base != s->see.own.name)
            continue;
        if (rset_openings_mean(&s->see, &all[k]) ||
            (first != NULL && first->where.form[0].hash != all[k].where.form[0].hash))
            return false;
        first = &all[k];
    }
    return true;
}

/* A file of that name which is not meant: what becomes of the one must not become of the other, and only the name is told apart. */
static rset_status
check_meant(const stand_in *s, const rset_holding *all, size_t n)
{
    const rset_recover_args *a = s->r->args;
    const bool               brought = is_brought(s, all, n);

    for (size_t k = 0; k < n && !brought; k++)
        if (all[k].base == s->see.own.name && !rset_openings_mean(&s->see, &all[k]))
            return rset_fail(
                s->r->err, RSET_LOST,
                "%s: rank %d sees another file of that name, in another directory, and "
                "not all of what is asked for is whole. Nothing was changed; open the "
                "files of one directory on all ranks",
                rset_local_name(a->local), all[k].by);
    return RSET_OK;
}

/* Is anything known of each file that is asked for? Else they are not opened, and nothing is done about the others (R5). */
static bool
all_are_known(const stand_in *s, const rset_holding *all, size_t n)
{
    for (int i = 0; i < s->r->args->world->size; i++) {
        size_t k = 0;

        while (k < n && all[k].base != s->see.openings[i].name)
            k++;
        if (k == n && s->see.openings[i].name != 0)
            return false;
    }
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

rset_status
rset_recovery_stand_in(rset_recovery *r)
{
    stand_in s = {.r = r, .see = {.r = r}, .content = (r->all.facts & RSET_FACTS_LOSS) != 0};
    rset_openings_of next = {0};
    rset_holding    *all = NULL;
    size_t           n = 0;
    rset_status      st = rset_openings_begin(&s.see);

    if (st == RSET_OK)
        st = rset_openings_say(&s.see, RSET_OK);
    if (st == RSET_OK)
        st = rset_openings_hear(&s.see, NULL);
    if (st == RSET_OK) {
        all = s.see.heard;
        n = s.see.nheard;
        s.see.heard = NULL;
    }
    if (st == RSET_OK) {
        rset_status own = check_own_copy(&s, all, n);

        if (own == RSET_OK)
            own = check_meant(&s, all, n);
        st = rset_agree(r->args->world, own, r->args->host, r->err);
    }
    if (st == RSET_OK && !all_are_known(&s, all, n))
        st = refuse_unknown(r);
    r->acts = st == RSET_OK;
    while (st == RSET_OK && next_family(&s, all, n, &next))
        st = recover_family(&s, &next);
    r->out->acted = true;
    if (st == RSET_OK)
        st =
            rset_agree(r->args->world, rset_survey_local(r->args->local, r->args->evidence, r->err),
                       r->args->host, r->err);
    rset_openings_free(&s.see);
    free(all);
    return st;
}
