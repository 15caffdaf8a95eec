/* stand_in.c: the ranks that have come are more or fewer than those that wrote the files, or ask for files of different steps.
 * See recover_internal.h.
 *
 * All say what they see of these files in their directories. Then each generation is recovered as by the ranks that wrote
 * it, each hosted by one of those that have come (comm/comm_hosted.h): one decision, the same code. */
#include "comm/comm_hosted.h"
#include "move/lodgers.h"
#include "recover_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIRS_MAX = 256 };

/* What a rank sees of a file. Sent as it is. */
typedef struct sight {
    uint64_t generation, name; /* `name`: hash of its base name */
    uint64_t next;             /* that is prepared there; 0: none */
    int32_t  rank, ranks;      /* that wrote it, of so many */
    int32_t  there;            /* its redundancy file is; else another one only records it */
    int32_t  by;               /* who sees it, or asks for it */
} sight;

/* One rank that wrote a file, and where this process opens it. All borrowed. */
typedef struct place {
    const char  *dir, *prefix, *base, *path;
    rset_status  st;
    rset_err     err;
    rset_outcome out;
} place;

/* Files that are recovered together: of one generation; and where a commit has begun, those of the next as well, which some may
 * have published and others only prepared. */
typedef struct family {
    uint64_t generation, next; /* `next` 0: no commit has begun, as far as it is known */
    int      ranks;
} family;

typedef struct stand_in {
    rset_recovery *r;
    char          *dirs[DIRS_MAX]; /* that were looked at */
    rset_lodgers   in[DIRS_MAX];   /* what lies there */
    int            ndirs;
    uint64_t      *asked; /* hashes of the names that ranks open, one of each */
    sight         *heard; /* what all say of one generation */
    size_t         nheard;
    int            ranks;   /* that wrote it */
    int           *host_of; /* per rank that wrote it */
    place         *places;  /* the same; of those hosted here */
    bool           content; /* something is lost or damaged: all content is verified */
} stand_in;

/* ---- what this process sees ---- */

static rset_status
look_into(stand_in *s, const char *path)
{
    rset_recovery *r = s->r;
    rset_dir      *dir = NULL;
    rset_status    st;

    for (int i = 0; i < s->ndirs; i++)
        if (strcmp(s->dirs[i], path) == 0)
            return RSET_OK;
    if (s->ndirs == DIRS_MAX || rset_dir_open(path, false, &dir, NULL) != RSET_OK)
        return RSET_OK;
    s->dirs[s->ndirs] = strdup(path);
    st = s->dirs[s->ndirs] != NULL
             ? rset_lodgers_find(dir, r->args->local->names[0], &s->in[s->ndirs], r->err)
             : rset_fail(r->err, RSET_NOMEM, "no memory for a directory's name");
    s->ndirs += s->dirs[s->ndirs] != NULL;
    rset_dir_close(dir);
    return st;
}

/* The directory of a file that a header names. */
static rset_status
look_beside(stand_in *s, const char *path)
{
    char       *dir = NULL, *base = NULL;
    rset_status st = rset_path_split(path, &dir, &base, s->r->err);

    if (st == RSET_OK && dir[0] == '/')
        st = look_into(s, dir);
    free(dir);
    free(base);
    return st == RSET_USAGE ? RSET_OK : st;
}

static rset_status
look_around(stand_in *s)
{
    const rset_recover_args *a = s->r->args;
    const rset_local        *local = a->local;
    rset_status              st = RSET_OK;

    if (local->nfiles == 0)
        return RSET_OK;
    if (local->dir != NULL)
        st = look_into(s, rset_dir_path(local->dir));
    for (int i = 0; st == RSET_OK && a->search != NULL && a->search[i] != NULL; i++)
        st = look_into(s, a->search[i]);
    for (int d = 0; d < s->ndirs; d++)
        for (size_t i = 0; st == RSET_OK && i < s->in[d].n; i++) {
            const rset_header *h = &s->in[d].at[i].evidence.header;

            for (int k = 0; st == RSET_OK && k < h->ninfos; k++)
                if (h->infos[k].nfiles == 1)
                    st = look_beside(s, h->infos[k].files[0].path);
        }
    return st;
}

static sight
sight_of(const stand_in *s, const rset_lodger *l, int k)
{
    const rset_info *info = &l->evidence.header.infos[k];

    return (sight){.generation = rset_evidence_generation(&l->evidence),
                   .next = l->evidence.next,
                   .name = rset_name_hash(k == 0 ? l->base : rset_path_base(info->files[0].path)),
                   .rank = info->desc.rank,
                   .ranks = info->desc.ranks,
                   .there = k == 0,
                   .by = s->r->args->world->rank};
}

static bool
is_of(const family *f, const sight *one)
{
    return one->generation == f->generation || one->next == f->generation ||
           (f->next != 0 && (one->generation == f->next || one->next == f->next));
}

/* Calls take for each file that this process sees or finds recorded. */
typedef bool (*take_fn)(stand_in *s, const rset_lodger *l, const char *dir, int k, void *arg);
static bool
each_sight(stand_in *s, take_fn take, void *arg)
{
    for (int d = 0; d < s->ndirs; d++)
        for (size_t i = 0; i < s->in[d].n; i++) {
            const rset_lodger *l = &s->in[d].at[i];

            for (int k = 0; k < l->evidence.header.ninfos; k++)
                if (l->evidence.header.infos[k].nfiles == 1 && !take(s, l, s->dirs[d], k, arg))
                    return false;
        }
    return true;
}

/* ---- what all see ---- */

/* The sights to be told: of a family, or where that is NULL, those that bear a name that is asked for. */
typedef struct telling {
    const family *of;
    sight        *at; /* owned */
    size_t        n, room;
} telling;

/* The first who opens this name; -1: nobody does. */
static int
asker_of(const stand_in *s, uint64_t name)
{
    for (int i = 0; i < s->r->args->world->size; i++)
        if (s->asked[i] == name)
            return i;
    return -1;
}

static bool
tell(stand_in *s, const rset_lodger *l, const char *dir, int k, void *arg)
{
    telling    *t = arg;
    const sight one = sight_of(s, l, k);

    (void)dir;
    if (one.generation == 0 || (t->of != NULL ? !is_of(t->of, &one) : asker_of(s, one.name) < 0))
        return true;
    if (t->n == t->room) {
        sight *grown = realloc(t->at, (2 * t->room + 16) * sizeof *grown);

        if (grown == NULL)
            return false;
        t->at = grown;
        t->room = 2 * t->room + 16;
    }
    t->at[t->n++] = one;
    return true;
}

/* What all have to tell of that, in s->heard. */
static rset_status
hear(stand_in *s, const family *of)
{
    const rset_recover_args *a = s->r->args;
    telling                  t = {.of = of};
    rset_gathered            all = {0};
    rset_status              st = RSET_OK;

    if (!each_sight(s, tell, &t))
        st = rset_fail(s->r->err, RSET_NOMEM, "no memory for what there is of other ranks' files");
    st = rset_agree(a->world, st, a->host, s->r->err);
    if (st == RSET_OK)
        st = rset_gather_all(a->world, t.at, t.n * sizeof *t.at, (size_t)1 << 31, &all, s->r->err);
    free(t.at);
    free(s->heard);
    s->heard = NULL;
    s->nheard = 0;
    if (st != RSET_OK)
        return st;
    s->nheard = all.offs[a->world->size] / sizeof *s->heard;
    s->heard = (sight *)(void *)all.bytes;
    all.bytes = NULL;
    rset_gathered_free(&all);
    return RSET_OK;
}

/* ---- who hosts whom ---- */

static bool
makes_sense(const stand_in *s, const sight *one)
{
    return one->ranks == s->ranks && one->rank >= 0 && one->rank < s->ranks && one->by >= 0 &&
           one->by < s->r->args->world->size;
}

/* How well one may host a rank: who has its file and opens it, has it, opens its name, knows of it; and of several, each for
 * other ranks. */
static int
worth(const stand_in *s, const sight *one, int by)
{
    const int size = s->r->args->world->size;
    const int kind = (one->there != 0 ? 2 : 0) + (s->asked[by] == one->name ? 1 : 0);

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
    for (size_t i = 0; i < s->nheard; i++) {
        const sight *one = &s->heard[i];
        const int    asker = one->there == 0 ? asker_of(s, one->name) : -1;
        const int    by = asker >= 0 ? asker : one->by;

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

    for (size_t i = 0; i < s->nheard; i++) {
        const sight *one = &s->heard[i];

        if (makes_sense(s, one) && s->asked[me] == one->name && one->there == 0 &&
            s->host_of[one->rank] == me)
            s->places[one->rank] = (place){.dir = rset_dir_path(local->dir),
                                           .prefix = local->prefix,
                                           .base = local->names[0],
                                           .path = local->paths[0]};
    }
}

/* Where this process has the file of a rank that it hosts; or makes it, where it only knows of it. */
static bool
take_place(stand_in *s, const rset_lodger *l, const char *dir, int k, void *arg)
{
    const sight one = sight_of(s, l, k);
    const char *path = l->evidence.header.infos[k].files[0].path;
    place      *p;

    if (!is_of(arg, &one) || !makes_sense(s, &one) || s->host_of[one.rank] != one.by)
        return true;
    p = &s->places[one.rank];
    if (one.there != 0)
        *p = (place){.dir = dir, .prefix = l->prefix, .base = l->base, .path = path};
    else if (p->dir == NULL)
        *p = (place){.dir = dir, .base = rset_path_base(path), .path = path};
    return true;
}

/* ---- the ranks that wrote the files ---- */

static rset_status
open_place(const place *p, rset_dir **dir_out, rset_local *local, rset_evidence *ev, rset_err *err)
{
    rset_status st = rset_dir_open(p->dir, false, dir_out, err);

    local->dir = *dir_out;
    return st == RSET_OK ? rset_survey(*dir_out, local->prefix, p->base, ev, err) : st;
}

static void
recover_rank(rset_comm *world, void *arg)
{
    stand_in                *s = arg;
    const rset_recover_args *own = s->r->args;
    place                   *p = &s->places[world->rank];
    rset_dir                *dir = NULL;
    rset_recovery            r;
    rset_evidence            ev = {0};
    char                    *prefix = NULL;
    rset_local               local = {.nfiles = 1, .names = &p->base, .paths = &p->path};
    rset_recover_args        args = {.world = world,
                                     .local = &local,
                                     .evidence = &ev,
                                     .content = s->content ? own->content : RSET_CONTENT_NONE,
                                     .readonly = own->readonly,
                                     .required = own->required,
                                     .stays = true,
                                     .tidy = own->tidy,
                                     .host = own->host};

    p->err = (rset_err)RSET_ERR_NONE;
    if (p->prefix == NULL && asprintf(&prefix, "%s.", p->base) < 0)
        args.before = rset_fail(&p->err, RSET_NOMEM, "%s: no memory for a name", p->base);
    local.prefix = p->prefix != NULL ? p->prefix : prefix;
    if (args.before == RSET_OK)
        args.before = open_place(p, &dir, &local, &ev, &p->err);
    rset_recovery_begin(&r, &args, &p->out, &p->err);
    r.hosted = true;
    p->st = rset_recovery_end(&r, rset_recovery_go(&r, args.before));
    rset_evidence_free(&ev);
    rset_dir_close(dir);
    free(prefix);
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

        if (s->host_of[p] != a->world->rank)
            continue;
        if (at->st != RSET_OK)
            return rset_fail(s->r->err, at->st == RSET_ABSENT ? RSET_LOST : at->st, "%s",
                             at->err.text);
        if (a->local->nfiles > 0 && strcmp(at->base, a->local->names[0]) == 0 &&
            strcmp(at->dir, rset_dir_path(a->local->dir)) == 0 && at->out.acted) {
            s->r->out->replaced = s->r->out->replaced || at->out.replaced;
            s->r->out->action = at->out.action;
            memcpy(s->r->out->was_on, at->out.was_on, sizeof at->out.was_on);
        }
    }
    return RSET_OK;
}

static rset_status
recover_family(stand_in *s, family *f)
{
    const rset_recover_args *a = s->r->args;
    rset_hosting             how = {.outer = a->world, .ranks = f->ranks, .host = a->host};
    rset_status              st = hear(s, f);

    s->ranks = f->ranks;
    if (st == RSET_OK)
        how.own = choose_hosts(s);
    for (int p = 0; st == RSET_OK && how.own == RSET_OK && p < f->ranks; p++)
        if (s->host_of[p] < 0)
            how.own = nobody_sees(s, p);
    if (st == RSET_OK && how.own == RSET_OK) {
        take_own_place(s);
        (void)each_sight(s, take_place, f);
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
static const sight *
newest_of(const sight *all, size_t n, uint64_t name)
{
    const sight *newest = NULL;

    for (size_t k = 0; k < n; k++)
        if (all[k].name == name && all[k].ranks > 0 &&
            (newest == NULL || rset_generation_newer(all[k].generation, newest->generation)))
            newest = &all[k];
    return newest;
}

/* Is it that of a commit which others that are asked for have only prepared? It is recovered with theirs. */
static bool
is_ahead(const stand_in *s, const sight *all, size_t n, uint64_t generation)
{
    for (int i = 0; i < s->r->args->world->size; i++) {
        const sight *one = newest_of(all, n, s->asked[i]);

        if (one != NULL && one->next == generation)
            return true;
    }
    return false;
}

/* The next one to be recovered: of each name that is asked for, the newest that anybody knows of. */
static bool
next_family(const stand_in *s, const sight *all, size_t n, family *f)
{
    const uint64_t after = f->generation;
    bool           found = false;

    for (int i = 0; i < s->r->args->world->size; i++) {
        const sight *newest = newest_of(all, n, s->asked[i]);

        if (newest == NULL || newest->generation <= after ||
            (found && newest->generation > f->generation) ||
            is_ahead(s, all, n, newest->generation))
            continue;
        if (!found || newest->generation < f->generation)
            *f = (family){.generation = newest->generation, .ranks = newest->ranks};
        f->next = newest->next != 0 ? newest->next : f->next;
        found = true;
    }
    return found;
}

/* Where this rank opens its file an older copy of it lies, which nobody would bring up to date: the file is at home elsewhere. To
 * open it beside the others' would be a mixture. */
static rset_status
check_own_copy(const stand_in *s, const sight *all, size_t n)
{
    const rset_recover_args *a = s->r->args;
    const uint64_t           mine = rset_evidence_generation(a->evidence);

    if (a->local->nfiles == 0 || mine == 0 || !rset_dir_has_file(a->local->dir, a->local->names[0]))
        return RSET_OK;
    for (size_t k = 0; k < n; k++)
        if (all[k].name == s->asked[a->world->rank] && all[k].there != 0 &&
            rset_generation_newer(all[k].generation, mine))
            return rset_fail(s->r->err, RSET_LOST,
                             "%s: this is an old copy of the file that is in reach of rank %d. "
                             "Nothing was changed; remove it, with what lies beside it, and open "
                             "again",
                             rset_local_name(a->local), all[k].by);
    return RSET_OK;
}

/* Is anything known of each file that is asked for? Else they are not opened, and nothing is done about the others (R5). */
static bool
all_are_known(const stand_in *s, const sight *all, size_t n)
{
    for (int i = 0; i < s->r->args->world->size; i++) {
        size_t k = 0;

        while (k < n && all[k].name != s->asked[i])
            k++;
        if (k == n)
            return false;
    }
    return true;
}

static rset_status
ask_names(stand_in *s)
{
    const rset_recover_args *a = s->r->args;
    const uint64_t           own = a->local->nfiles > 0 ? rset_name_hash(a->local->names[0]) : 0;
    rset_status              st = RSET_OK;

    s->asked = calloc((size_t)a->world->size, sizeof *s->asked);
    if (s->asked == NULL)
        st = rset_fail(s->r->err, RSET_NOMEM, "no memory for the names of all ranks' files");
    if (st == RSET_OK)
        st = look_around(s);
    st = rset_agree(a->world, st, a->host, s->r->err);
    return st == RSET_OK ? rset_gather_fixed(a->world, &own, sizeof own, s->asked, s->r->err) : st;
}

rset_status
rset_recovery_stand_in(rset_recovery *r)
{
    stand_in s = {.r = r, .content = (r->all.facts & (RSET_FACT_MISSING | RSET_FACT_DAMAGED)) != 0};
    family   next = {0};
    sight   *all = NULL;
    size_t   n = 0;
    bool     known;
    rset_status st = ask_names(&s);

    if (st == RSET_OK)
        st = hear(&s, NULL);
    if (st == RSET_OK) {
        all = s.heard;
        n = s.nheard;
        s.heard = NULL;
    }
    if (st == RSET_OK)
        st = rset_agree(r->args->world, check_own_copy(&s, all, n), r->args->host, r->err);
    known = st == RSET_OK && all_are_known(&s, all, n);
    while (st == RSET_OK && known && next_family(&s, all, n, &next))
        st = recover_family(&s, &next);
    r->out->acted = true;
    if (st == RSET_OK)
        st =
            rset_agree(r->args->world, rset_survey_local(r->args->local, r->args->evidence, r->err),
                       r->args->host, r->err);
    for (int d = 0; d < s.ndirs; d++) {
        rset_lodgers_free(&s.in[d]);
        free(s.dirs[d]);
    }
    free(s.heard);
    free(s.asked);
    free(all);
    return st;
}
