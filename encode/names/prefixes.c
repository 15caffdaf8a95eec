/* prefixes.c: which data files the names in a directory tell of. See names.h. */
#include "names_internal.h"
#include "store/recall.h"

#include <stdlib.h>
#include <string.h>

typedef struct collected {
    rset_prefixes *to;
    rset_err      *err;
    rset_status    st;
} collected;

/* Takes over `prefix`. */
static rset_status
add(rset_prefixes *to, char *prefix, rset_err *err)
{
    const size_t room = to->n < to->room ? to->room : 2 * to->room + 8;
    char       **grown = room > to->room ? realloc(to->at, room * sizeof *grown) : to->at;

    if (grown == NULL) {
        free(prefix);
        return rset_fail(err, RSET_NOMEM, "no memory for the names in a directory");
    }
    to->at = grown;
    to->room = room;
    to->at[to->n++] = prefix;
    return RSET_OK;
}

static bool
see(const char *name, void *arg)
{
    collected *c = arg;
    char      *prefix = NULL;
    bool       ours;

    c->st = rset_name_seen(name, &ours, &prefix, c->err);
    if (prefix != NULL)
        c->st = add(c->to, prefix, c->err);
    return c->st == RSET_OK;
}

static int
ascending(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

size_t
rset_leave_out_doubles(char **at, size_t n)
{
    size_t kept = 0;

    if (n > 1)
        qsort(at, n, sizeof *at, ascending);
    for (size_t i = 0; i < n; i++)
        if (kept > 0 && strcmp(at[i], at[kept - 1]) == 0)
            free(at[i]);
        else
            at[kept++] = at[i];
    return kept;
}

rset_status
rset_names_prefixes(rset_dir *dir, const char *data, rset_prefixes *out, rset_err *err)
{
    collected   c = {.to = out, .err = err};
    struct stat sb;
    const bool  dated = data != NULL && rset_dir_stat(dir, data, &sb, NULL) == RSET_OK;
    rset_recall what = {.word = RSET_NAMES_WORD, .prefix = "", .since = &rset_recall_now};
    rset_status st;

    *out = (rset_prefixes){0};
    if (dated)
        what.since = &sb.st_ctim;
    st = rset_dir_recall(dir, &what, see, &c, err);
    out->n =
        rset_leave_out_doubles(out->at, out->n); /* a file has several names of ours beside it */
    return st == RSET_OK ? c.st : st;
}

void
rset_prefixes_free(rset_prefixes *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->at[i]);
    free(list->at);
    *list = (rset_prefixes){0};
}
