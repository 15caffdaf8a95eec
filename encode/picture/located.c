/* located.c: see located.h. */
#include "located.h"

#include "rendezvous/rendezvous.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct search {
    rset_dir          *dir;
    rset_kind          kind;
    uint64_t           kept; /* generation of which files are looked for, 0: the newest */
    rset_located_list *to;
    size_t             from; /* the first of this directory */
    rset_err          *err;
    rset_status        st;
} search;

static bool
is_known(const search *s, const char *prefix)
{
    for (size_t i = s->from; i < s->to->n; i++)
        if (strcmp(s->to->at[i].prefix, prefix) == 0)
            return true;
    return false;
}

bool
rset_located_is_displaced(const rset_located *located)
{
    return strcmp(located->base, located->name) != 0;
}

/* The name that programs open the data file `base` by. A new string; NULL without memory. */
static char *
opened_by(const char *base)
{
    char opened[NAME_MAX + 1];
    int  rank;

    return strdup(rset_displaced_parse(base, opened, &rank) ? opened : base);
}

/* Keeps the prefix, which is the caller's no more. */
static rset_status
add(search *s, char *prefix)
{
    rset_located_list *to = s->to;
    rset_located       one = {
              .dir = s->dir, .prefix = prefix, .base = strndup(prefix, strlen(prefix) - 1)};

    if (one.base != NULL)
        one.name = opened_by(one.base);

    if (to->n == to->room) {
        const size_t  room = 2 * to->room + 4;
        rset_located *grown = realloc(to->at, room * sizeof *grown);

        if (grown != NULL) {
            to->at = grown;
            to->room = room;
        }
    }
    if (one.name == NULL || to->n == to->room) {
        free(one.base);
        free(one.name);
        free(prefix);
        return rset_fail(s->err, RSET_NOMEM, "%s: no memory for the names in it",
                         rset_dir_path(s->dir));
    }
    to->at[to->n++] = one;
    return RSET_OK;
}

/* A name in the directory. */
static bool
see(const char *name, void *arg)
{
    search   *s = arg;
    char     *prefix = NULL, *base;
    bool      ours;
    uint64_t  kept;
    rset_kind kind;

    s->st = rset_name_seen(name, &ours, &prefix, s->err);
    if (s->st != RSET_OK || prefix == NULL)
        return s->st == RSET_OK;
    prefix[strlen(prefix) - 1] = '\0'; /* the data file's name */
    base = opened_by(prefix);
    prefix[strlen(prefix)] = '.';
    if (base == NULL) {
        free(prefix);
        s->st =
            rset_fail(s->err, RSET_NOMEM, "%s: no memory for a name in it", rset_dir_path(s->dir));
        return false;
    }
    rset_kind_of(base, &kind);
    kept = rset_name_kept(base);
    free(base);
    if (kept == s->kept && strcmp(kind.text, s->kind.text) == 0 && !is_known(s, prefix))
        s->st = add(s, prefix);
    else
        free(prefix);
    return s->st == RSET_OK;
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

/* Which of them are there? */
static rset_status
find_data(rset_dir *dir, rset_located *one, rset_err *err)
{
    struct stat sb;
    rset_status st = RSET_OK;

    one->there = !one->evidence.placeholder;
    for (int i = 0; st == RSET_OK && i < one->n; i++) {
        bool there = false;

        if (one->names[i][0] != '\0')
            st = rset_dir_find_file(dir, one->names[i], &sb, &there, err);
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

/* What there is of it. */
static rset_status
look_at(rset_dir *dir, rset_located *one, bool *use_out, rset_err *err)
{
    rset_status st = rset_survey(dir, one->prefix, one->base, &one->evidence, err);

    *use_out = st == RSET_OK && one->evidence.has_header && !one->evidence.undo.busy &&
               is_of_its_rank(one);
    if (*use_out)
        st = name_data(one, &one->evidence.header.infos[0], err);
    if (*use_out && st == RSET_OK)
        st = find_data(dir, one, err);
    *use_out = *use_out && st == RSET_OK;
    return st;
}

rset_status
rset_locate(rset_dir *dir, const char *like, rset_located_list *out, rset_err *err)
{
    search s = {.dir = dir, .to = out, .from = out->n, .err = err};
    size_t kept = out->n;

    rset_kind_of(like, &s.kind);
    s.kept = rset_name_kept(like);
    s.st = rset_dir_list(dir, see, &s, err) == RSET_OK ? s.st : RSET_IO;
    for (size_t i = s.from; i < out->n; i++) {
        bool use = false;

        if (s.st == RSET_OK)
            s.st = look_at(dir, &out->at[i], &use, err);
        if (use)
            out->at[kept++] = out->at[i];
        else
            drop(&out->at[i]);
    }
    out->n = kept;
    return s.st;
}

void
rset_located_list_free(rset_located_list *all)
{
    for (size_t i = 0; i < all->n; i++)
        drop(&all->at[i]);
    free(all->at);
    *all = (rset_located_list){0};
}
