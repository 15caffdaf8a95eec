/* nearby.c: one process finds out which generations there are of one rank's file, from what is within its reach, as ranks learn it
 * from each other (generations.h). See serial_internal.h and recover.h.
 *
 * A generation has one number on all ranks. So files that have one in common were committed together, and what else the one has,
 * the other one had. */
#include "commit/kept.h"
#include "serial_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a generation is called. */
typedef struct called {
    uint64_t generation;
    char     label[RSET_STAMP_TEXT + 1]; /* "": nothing */
} called;

typedef struct looking {
    rset_search      *s;
    rset_generations *all;
    rset_status       st;
    called           *called; /* NULL: nobody asks; else room for RSET_GENERATIONS_MAX */
    size_t            ncalled;
} looking;

/* ---- what one file has ---- */

/* Those of the file that `found` protects, or protects an older generation of, as a rank would name them. */
static rset_status
generations_of(const rset_located *found, rset_generations *out, rset_err *err)
{
    const uint64_t g = rset_evidence_generation(&found->evidence);
    char          *of = NULL, *prefix = NULL;
    rset_dir      *dir = NULL;
    rset_evidence  main = {0};
    rset_status    st = rset_name_main(found->base, &of, &prefix, err);
    const bool     older = st == RSET_OK && strcmp(found->base, of) != 0;

    if (older && rset_dir_open(rset_dir_path(found->dir), false, &dir, NULL) == RSET_OK) {
        (void)rset_survey_one(dir, prefix, of, &main, NULL);
        rset_kept_look(&(rset_local){.dir = dir, .prefix = prefix}, &main);
    }
    rset_generations_of(older ? &main : &found->evidence, out);
    if (older && (out->published == 0 || rset_generation_newer(out->published, g)))
        rset_generations_add(out, g); /* also where its data file is lost */
    rset_evidence_free(&main);
    rset_dir_close(dir);
    free(of);
    free(prefix);
    return st;
}

static bool
have_in_common(const rset_generations *a, const rset_generations *b)
{
    for (uint64_t i = 0; i < a->n; i++)
        for (uint64_t k = 0; k < b->n; k++)
            if (a->at[i] == b->at[k])
                return true;
    return false;
}

static void
note_called(looking *l, const rset_info *info)
{
    const char *label = info->stamp.label;
    size_t      i = 0;

    while (i < l->ncalled && l->called[i].generation != info->desc.generation)
        i++;
    if (l->called == NULL || i == RSET_GENERATIONS_MAX || i < l->ncalled)
        return;
    l->called[l->ncalled].generation = info->desc.generation;
    snprintf(l->called[l->ncalled++].label, sizeof l->called->label, "%s",
             label != NULL ? label : "");
}

/* Was it committed together with any that is known? Then more may lie where it was written. */
static bool
learn_generations(const rset_located *found, void *arg)
{
    looking         *l = arg;
    rset_generations its;

    if (l->st == RSET_OK)
        l->st = generations_of(found, &its, l->s->err);
    if (l->st != RSET_OK || !have_in_common(&its, l->all))
        return false;
    rset_generations_merge(l->all, &its);
    note_called(l, &found->evidence.header.infos[0]);
    return true;
}

/* ---- where to look ---- */

static rset_look_at
where(const rset_search *s, bool (*follows)(const rset_located *found, void *arg), void *arg)
{
    return (rset_look_at){.path = rset_dir_path(s->args->local->dir),
                          .like = s->args->local->names[0],
                          .search = s->args->search,
                          .host = "",
                          .recorded = true,
                          .follows = follows,
                          .arg = arg,
                          .alone = true,
                          .any_generation = s->any || s->gone || rset_search_suffix(s)[0] != '\0'};
}

/* Goes on until what is left has nothing in common with what was found since. */
static rset_status
look_for_generations(looking *l)
{
    const rset_look_at at = where(l->s, learn_generations, l);
    rset_generations   before;
    rset_status        st;

    do {
        before = *l->all;
        st = rset_look_further(&at, &l->s->look, l->s->err);
        st = st == RSET_OK ? l->st : st;
    } while (st == RSET_OK && memcmp(before.at, l->all->at, sizeof before.at) != 0);
    return st;
}

/* Of an older generation less may be left than of others: where these are, it may be as well. */
static rset_status
look_for_others(rset_search *s)
{
    const rset_local *local = s->args->local;
    char             *name = NULL, *prefix = NULL;
    rset_evidence     ev = {0};
    rset_generations  all = {0};
    rset_status       st = rset_name_main(local->names[0], &name, &prefix, s->err);

    if (st == RSET_OK)
        st = rset_survey(local->dir, prefix, name, &ev, s->err);
    if (st == RSET_OK) {
        rset_kept_look(&(rset_local){.dir = local->dir, .prefix = prefix}, &ev);
        rset_generations_of(&ev, &all);
    }
    rset_generations_add(&all, rset_name_kept(local->names[0]));
    if (st == RSET_OK)
        st = look_for_generations(&(looking){.s = s, .all = &all});
    rset_evidence_free(&ev);
    free(name);
    free(prefix);
    return st;
}

rset_status
rset_search_begin(rset_search *s)
{
    const rset_look_at at = where(s, rset_search_learn, s);
    rset_status        st;

    if (s->args->evidence->has_header) {
        s->desc = s->args->evidence->header.infos[0].desc;
        s->known = s->exact = true;
    }
    st = rset_look_around(&at, &s->look, s->err);
    if (st == RSET_OK && rset_search_suffix(s)[0] != '\0') {
        st = look_for_others(s);
        if (st == RSET_OK)
            st = rset_look_further(&at, &s->look, s->err);
    }
    return st == RSET_OK ? rset_search_check_name(s) : st;
}

/* ---- which there are ---- */

static void
note_all(const looking *l, const rset_which *which, rset_generations *found)
{
    for (uint64_t i = 0; i < found->n; i++)
        for (size_t k = 0; k < l->ncalled; k++)
            if (l->called[k].generation == found->at[i])
                rset_generations_note(found, which, found->at[i],
                                      l->called[k].label[0] != '\0' ? l->called[k].label : NULL);
}

rset_status
rset_generations_nearby(const rset_serial_args *args, const rset_which *which,
                        rset_generations *all, rset_err *err)
{
    rset_search      s = {.args = args, .err = err, .any = true};
    rset_generations found = {0};
    looking          l = {.s = &s, .all = &found};
    rset_status      st = rset_search_begin(&s);

    rset_generations_merge(&found, all);
    if (st == RSET_OK && s.known &&
        found.n == 0) /* else another file's of this name is not meant */
        rset_generations_add(&found, s.desc.generation);
    if (st == RSET_OK && which->label[0] != '\0' &&
        (l.called = calloc(RSET_GENERATIONS_MAX, sizeof *l.called)) == NULL)
        st = rset_fail(err, RSET_NOMEM, "no memory for what generations are called");
    if (st == RSET_OK && found.n > 0)
        st = look_for_generations(&l);
    if (st == RSET_OK) {
        note_all(&l, which, &found);
        rset_generations_merge(all, &found);
    }
    free(l.called);
    rset_search_free(&s);
    return st;
}
