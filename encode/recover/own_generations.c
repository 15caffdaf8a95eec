/* own_generations.c: what one rank's directory says of each generation of its files. See generations.h. */
#include "commit/kept.h"
#include "generations.h"
#include "member/space.h"
#include "recover.h"

#include <stdio.h>
#include <stdlib.h>

static rset_status
no_memory(const rset_local *local, rset_err *err)
{
    return rset_fail(err, RSET_NOMEM, "%s: no memory to list its generations",
                     rset_local_name(local));
}

/* ---- the files of an older one ---- */

/* It is a file like any other, of another name. */
typedef struct older {
    char         *name, *prefix, *path; /* owned */
    const char   *names[1], *paths[1];
    rset_local    local;
    rset_evidence ev;
} older;

static rset_status
open_older(const rset_local *local, uint64_t generation, older *o, rset_err *err)
{
    o->name = rset_name_of(RSET_NAME_DATA, local->prefix, generation);
    if (o->name != NULL)
        o->prefix = rset_join_names(o->name, ".");
    if (o->prefix == NULL || asprintf(&o->path, "%s/%s", rset_dir_path(local->dir), o->name) < 0) {
        o->path = NULL;
        return no_memory(local, err);
    }
    o->names[0] = o->name;
    o->paths[0] = o->path;
    o->local = (rset_local){
        .dir = local->dir, .prefix = o->prefix, .nfiles = 1, .names = o->names, .paths = o->paths};
    return rset_survey_local(&o->local, &o->ev, err);
}

static void
close_older(older *o)
{
    rset_evidence_free(&o->ev);
    free(o->name);
    free(o->prefix);
    free(o->path);
}

/* ---- one ---- */

/* Where nothing records the size, that which the file has. */
static uint64_t
size_of(const rset_local *local, const rset_evidence *ev)
{
    struct stat sb;

    if (ev->has_header)
        return rset_info_length(&ev->header.infos[0]);
    return rset_dir_stat(local->dir, local->names[0], &sb, NULL) == RSET_OK ? (uint64_t)sb.st_size
                                                                            : 0;
}

static rset_status
fill(const rset_local *local, const rset_evidence *ev, rset_space *counted,
     rset_own_generation *out, rset_err *err)
{
    rset_status st = rset_why_unprotected(local, ev, &out->why, err);

    out->recorded = ev->has_header;
    out->size = size_of(local, ev);
    if (ev->has_header) {
        out->desc = ev->header.infos[0].desc;
        if (!rset_stamp_copy(&ev->header.infos[0].stamp, &out->stamp))
            return no_memory(local, err);
    }
    return st == RSET_OK ? rset_space_of(counted, local, &out->bytes, err) : st;
}

/* It has no data file: what leads back to it from the next newer one is as good, if that is there and it is recorded. */
static rset_status
take_back(const rset_local *local, const rset_own_generation *next, rset_space *counted,
          rset_own_generation *out, rset_err *err)
{
    char       *name = rset_name_of(RSET_NAME_UNDO, local->prefix, out->generation);
    rset_status st = name != NULL ? RSET_OK : no_memory(local, err);

    if (st == RSET_OK)
        st = rset_space_add(counted, local->dir, name, &out->bytes, err);
    if (out->recorded && next != NULL &&
        (next->newest ? rset_dir_has_file(local->dir, local->names[0]) : next->why[0] == '\0'))
        out->why = "";
    free(name);
    return st;
}

/* `next`: the next newer one, NULL: none is there. */
static rset_status
fill_older(const rset_local *local, const rset_own_generation *next, rset_space *counted,
           rset_own_generation *out, rset_err *err)
{
    older          o = {0};
    rset_kept_form form = RSET_KEPT_NOT;
    rset_status    st = open_older(local, out->generation, &o, err);

    if (st == RSET_OK)
        st = fill(&o.local, &o.ev, counted, out, err);
    if (st == RSET_OK)
        st = rset_kept_find(local, out->generation, &form, err);
    if (st == RSET_OK && form == RSET_KEPT_BACK)
        st = take_back(local, next, counted, out, err);
    close_older(&o);
    return st;
}

/* ---- all of them ---- */

static int
newest_first(const void *a, const void *b)
{
    const rset_own_generation *x = a, *y = b;

    return rset_generation_newer(y->generation, x->generation) -
           rset_generation_newer(x->generation, y->generation);
}

/* Their numbers; what is not older than the newest was left by a commit that did not come to be (CO3). */
static void
number(const rset_local *local, const rset_evidence *ev, rset_own_generations *out)
{
    const uint64_t newest = rset_evidence_generation(ev);

    if (newest != 0)
        out->at[out->n++] = (rset_own_generation){.generation = newest, .newest = true, .why = ""};
    for (size_t i = 0; i < ev->nkept; i++)
        if ((newest == 0 || rset_generation_newer(newest, ev->kept[i])) &&
            rset_kept_is_there(local, ev->kept[i]))
            out->at[out->n++] = (rset_own_generation){.generation = ev->kept[i], .why = ""};
    qsort(out->at, out->n, sizeof *out->at, newest_first);
}

rset_status
rset_own_generations_list(const rset_local *local, const rset_evidence *ev,
                          rset_own_generations *out, rset_err *err)
{
    rset_space  counted = {0};
    rset_status st = RSET_OK;

    *out = (rset_own_generations){.at = calloc(ev->nkept + 1, sizeof *out->at)};
    if (out->at == NULL)
        return no_memory(local, err);
    number(local, ev, out);
    for (size_t i = 0; st == RSET_OK && i < out->n; i++)
        st = out->at[i].newest
                 ? fill(local, ev, &counted, &out->at[i], err)
                 : fill_older(local, i > 0 ? &out->at[i - 1] : NULL, &counted, &out->at[i], err);
    rset_space_free(&counted);
    return st;
}

void
rset_own_generations_free(rset_own_generations *list)
{
    for (size_t i = 0; i < list->n; i++)
        rset_stamp_free(&list->at[i].stamp);
    free(list->at);
    *list = (rset_own_generations){0};
}
