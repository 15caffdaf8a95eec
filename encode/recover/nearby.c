/* nearby.c: one process finds out which generations there are of one rank's file, from what is within its reach, as ranks learn it
 * from each other (generations.h). See serial_internal.h and recover.h.
 *
 * A generation has one number on all ranks. So files that have one in common were committed together, and what else the one has,
 * the other one had. */
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
    bool              left;   /* some file has none of them in common, yet */
    called           *called; /* NULL: nobody asks; else room for RSET_GENERATIONS_MAX */
    size_t            ncalled;
} looking;

/* ---- what one file has ---- */

/* Those of the file that `found` protects, or protects an older generation of, as a rank would name them. */
static rset_status
generations_of(const looking *l, const rset_found_redundancy *found, rset_generations *out)
{
    const uint64_t g = rset_evidence_generation(&found->ev);
    char          *name = strndup(found->prefix, strlen(found->prefix) - 1);
    char          *of = NULL, *prefix = NULL;
    rset_evidence  main = {0};
    rset_err       ignored = RSET_ERR_NONE;
    rset_status    st = name != NULL ? rset_name_main(name, &of, &prefix, l->s->err)
                                     : rset_fail(l->s->err, RSET_NOMEM, "no memory for file names");

    if (st == RSET_OK)
        (void)rset_survey_one(l->s->dir, prefix, of, &main, &ignored);
    rset_generations_of(&main, out);
    if (st == RSET_OK && strcmp(name, of) != 0 &&
        (out->published == 0 || rset_generation_newer(out->published, g)))
        rset_generations_add(out, g); /* also where its data file is lost */
    rset_evidence_free(&main);
    free(name);
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

static bool
visit(const char *name, void *arg)
{
    looking              *l = arg;
    rset_search          *s = l->s;
    rset_found_redundancy found;
    rset_generations      its;

    if (!rset_search_open(s, name, &found))
        return true;
    s->st = generations_of(l, &found, &its);
    if (s->st == RSET_OK && have_in_common(&its, l->all)) {
        rset_generations_merge(l->all, &its);
        note_called(l, &found.ev.header.infos[0]);
        s->st = rset_search_add_recorded(s, &found.ev.header);
    } else {
        l->left = true;
    }
    rset_found_redundancy_free(&found);
    return s->st == RSET_OK;
}

/* ---- what all have ---- */

/* Until what was left has nothing in common with what was found since. */
static rset_status
look(looking *l)
{
    const bool       any = l->s->any;
    rset_generations before;
    rset_status      st;

    l->s->any = true;
    do {
        before = *l->all;
        l->left = false;
        st = rset_search_each(l->s, visit, l);
    } while (st == RSET_OK && l->left && memcmp(before.at, l->all->at, sizeof before.at) != 0);
    l->s->any = any;
    return st;
}

/* ---- where to look ---- */

/* Of an older generation less may be left than of others: where these are, it may be as well. */
static rset_status
add_dirs_of_others(rset_search *s)
{
    const rset_local *local = s->args->local;
    char             *name = NULL, *prefix = NULL;
    rset_evidence     ev = {0};
    rset_generations  all = {0};
    rset_status       st = rset_name_main(local->names[0], &name, &prefix, s->err);

    if (st == RSET_OK)
        st = rset_survey(local->dir, prefix, name, &ev, s->err);
    if (st == RSET_OK)
        rset_generations_of(&ev, &all);
    rset_generations_add(&all, rset_name_kept(local->names[0]));
    if (st == RSET_OK && ev.has_header)
        st = rset_search_add_recorded(s, &ev.header);
    if (st == RSET_OK)
        st = look(&(looking){.s = s, .all = &all});
    rset_evidence_free(&ev);
    free(name);
    free(prefix);
    return st;
}

rset_status
rset_search_begin(rset_search *s)
{
    rset_status st = rset_search_dirs(s);

    if (st == RSET_OK && rset_search_suffix(s)[0] != '\0')
        st = add_dirs_of_others(s);
    return st == RSET_OK ? rset_search_for_name(s) : st;
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
        st = look(&l);
    if (st == RSET_OK) {
        note_all(&l, which, &found);
        rset_generations_merge(all, &found);
    }
    free(l.called);
    rset_search_free(&s);
    return st;
}
