/* located.c: see located.h. */
#include "located.h"

#include "commit/kept.h"
#include "rendezvous/rendezvous.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct search {
    rset_dir           *dir;
    const rset_look_at *at;
    rset_kind           kind; /* of at->like */
    rset_located_list  *to;
    rset_err           *err;
    rset_status         st;
} search;

bool
rset_located_is_displaced(const rset_located *located)
{
    return strcmp(located->base, located->name) != 0;
}

static void
drop(rset_located *one)
{
    for (int i = 0; i < one->n; i++)
        free(one->names[i]);
    free(one->names);
    free(one->inodes);
    free(one->prefix);
    free(one->base);
    free(one->name);
    rset_evidence_free(&one->evidence);
}

/* ---- by their names ---- */

bool
rset_located_may_record(const rset_scheme *scheme, const char *prefix, const char *name)
{
    const size_t n = strlen(name), m = strlen(prefix);

    return scheme != &rset_scheme_single ||
           (strncmp(prefix, name, m < n ? m : n) == 0 && (m <= n || prefix[n] == '.'));
}

/* What a data file's name has after that which is recorded: it says which generation has that name. */
static const char *
suffix_of(const char *name)
{
    return name + rset_name_recorded(name);
}

static bool
is_wanted(const search *s, const rset_scheme *scheme, const rset_located *one)
{
    const rset_look_at *at = s->at;
    rset_kind           kind;

    if (at->any_generation)
        return !rset_name_is_put_aside(one->name);
    if (strcmp(suffix_of(one->name), suffix_of(at->like)) != 0)
        return false;
    if (at->alone)
        return rset_located_may_record(scheme, one->prefix, at->like);
    rset_kind_of(one->name, &kind);
    return strcmp(kind.text, s->kind.text) == 0;
}

/* The name that programs open the data file `base` by. A new string; NULL without memory. */
static char *
opened_by(const char *base)
{
    char opened[NAME_MAX + 1];
    int  rank;

    return strdup(rset_displaced_parse(base, opened, &rank) ? opened : base);
}

static bool
has_room(rset_located_list *to)
{
    const size_t  room = to->n < to->room ? to->room : 2 * to->room + 4;
    rset_located *grown = room > to->room ? realloc(to->at, room * sizeof *grown) : to->at;

    if (grown == NULL)
        return false;
    to->at = grown;
    to->room = room;
    return true;
}

/* Adds those that a redundancy file of this name protects, if they are wanted. */
static rset_status
add(search *s, const char *name, const rset_name *parsed)
{
    rset_located one = {.dir = s->dir, .prefix = strndup(name, parsed->prefix_len)};

    if (one.prefix != NULL)
        one.base = strndup(one.prefix, parsed->prefix_len - 1);
    if (one.base != NULL)
        one.name = opened_by(one.base);
    if (one.name == NULL || !has_room(s->to)) {
        drop(&one);
        return rset_fail(s->err, RSET_NOMEM, "%s: no memory for the names in it",
                         rset_dir_path(s->dir));
    }
    if (is_wanted(s, parsed->scheme, &one))
        s->to->at[s->to->n++] = one;
    else
        drop(&one);
    return RSET_OK;
}

/* A name in the directory. */
static bool
see(const char *name, void *arg)
{
    search   *s = arg;
    char     *bare = rset_bare_name(name);
    rset_name parsed;

    if (bare == NULL)
        s->st = rset_fail(s->err, RSET_NOMEM, "%s: no memory for a name", name);
    else if (rset_format_parse_name(bare, &parsed) && parsed.scheme != NULL)
        s->st = add(s, name, &parsed);
    free(bare);
    return s->st == RSET_OK;
}

static int
ascending(const void *a, const void *b)
{
    return strcmp(((const rset_located *)a)->prefix, ((const rset_located *)b)->prefix);
}

/* Those from `first` on, each once: some have several redundancy files. */
static void
put_in_order(rset_located_list *all, size_t first)
{
    size_t kept = first;

    if (all->n > first)
        qsort(all->at + first, all->n - first, sizeof *all->at, ascending);
    for (size_t i = first; i < all->n; i++)
        if (kept > first && ascending(&all->at[kept - 1], &all->at[i]) == 0)
            drop(&all->at[i]);
        else
            all->at[kept++] = all->at[i];
    all->n = kept;
}

/* ---- what there is of them ---- */

/* Is file i of them beside the first? */
static bool
is_beside_first(const rset_info *info, int i)
{
    const char  *a = info->files[0].path, *b = info->files[i].path;
    const size_t n = (size_t)(rset_path_base(a) - a);

    return n == (size_t)(rset_path_base(b) - b) && strncmp(a, b, n) == 0;
}

/* Takes the names of the data files from its header, but for the first, which is called as it is found, and for those in
 * other directories: "", one here that has such a name is another one. The taker refuses what is not its own (MV1). */
static rset_status
name_data(rset_located *one, const rset_info *info, rset_err *err)
{
    const int n = info->nfiles > 1 ? info->nfiles : 1;

    one->names = calloc((size_t)n, sizeof *one->names);
    one->inodes = calloc((size_t)n, sizeof *one->inodes);
    if (one->names == NULL || one->inodes == NULL)
        return rset_fail(err, RSET_NOMEM, "%s: no memory for the files beside it", one->base);
    for (int i = 0; i < n; i++) {
        one->names[i] = strdup(i == 0                     ? one->base
                               : is_beside_first(info, i) ? rset_path_base(info->files[i].path)
                                                          : "");
        if (one->names[i] == NULL)
            return rset_fail(err, RSET_NOMEM, "%s: no memory for the files beside it", one->base);
        one->n++;
    }
    return RSET_OK;
}

/* What cannot be read is not there for a process alone; what protects it may be. */
static rset_status
accept(const search *s, rset_status st, const rset_err *own)
{
    return st == RSET_OK || (s->at->alone && st != RSET_NOMEM) ? RSET_OK
                                                               : rset_fail_as(s->err, own);
}

/* Which of them are there? */
static rset_status
find_data(const search *s, rset_located *one)
{
    struct stat sb;
    rset_err    own = RSET_ERR_NONE;
    rset_status st = RSET_OK;

    one->there = !one->evidence.placeholder;
    for (int i = 0; st == RSET_OK && i < one->n; i++) {
        bool there = false;

        if (one->names[i][0] != '\0')
            st = accept(s, rset_dir_find_file(s->dir, one->names[i], &sb, &there, &own), &own);
        one->inodes[i] = there ? (uint64_t)sb.st_ino : 0;
        one->there = one->there && there;
    }
    return st;
}

/* Is it of the rank that its name says, where that says one? */
static bool
is_of_its_rank(const rset_located *one)
{
    char opened[NAME_MAX + 1];
    int  rank;

    return !rset_displaced_parse(one->base, opened, &rank) ||
           rank == one->evidence.header.infos[0].desc.rank;
}

/* Nobody compares content with what is found, and of large files the checksums are many. */
static void
forget_sums(rset_header *h)
{
    for (int d = 0; d < h->ninfos; d++)
        for (int i = 0; i < h->infos[d].nfiles; i++) {
            rset_sums_free(&h->infos[d].files[i].sums);
            h->infos[d].files[i].has_sums = false;
        }
    rset_sums_free(&h->payload);
    h->has_payload_sums = false;
}

/* What there is of it. */
static rset_status
look_at(const search *s, rset_located *one, bool *use_out)
{
    rset_err    own = RSET_ERR_NONE;
    rset_status st = rset_survey(s->dir, one->prefix, one->base, &one->evidence, &own);

    *use_out = st == RSET_OK && one->evidence.has_header &&
               (s->at->alone || !one->evidence.undo.busy) && is_of_its_rank(one);
    st = accept(s, st, &own);
    if (*use_out && s->at->any_generation) /* a names file lists them without a look */
        rset_kept_look(&(rset_local){.dir = s->dir, .prefix = one->prefix}, &one->evidence);
    if (*use_out)
        st = name_data(one, &one->evidence.header.infos[0], s->err);
    if (*use_out && st == RSET_OK)
        st = find_data(s, one);
    if (*use_out)
        forget_sums(&one->evidence.header);
    *use_out = *use_out && st == RSET_OK;
    return st;
}

rset_status
rset_locate(rset_dir *dir, const rset_look_at *at, rset_located_list *out, rset_err *err)
{
    const size_t first = out->n;
    search       s = {.dir = dir, .at = at, .to = out, .err = err};
    size_t       kept = first;
    rset_err     own = RSET_ERR_NONE;
    rset_status  st;

    rset_kind_of(at->like, &s.kind);
    st = rset_dir_list(dir, see, &s, &own);
    st = s.st == RSET_OK ? accept(&s, st, &own) : s.st;
    put_in_order(out, first);
    for (size_t i = first; i < out->n; i++) {
        bool use = false;

        if (st == RSET_OK)
            st = look_at(&s, &out->at[i], &use);
        if (use)
            out->at[kept++] = out->at[i];
        else
            drop(&out->at[i]);
    }
    out->n = kept;
    return st;
}

void
rset_located_list_free(rset_located_list *all)
{
    for (size_t i = 0; i < all->n; i++)
        drop(&all->at[i]);
    free(all->at);
    *all = (rset_located_list){0};
}
