/* changed.c: data files that another program had changed, put aside when they were restored. See the end of newer.h. */
#include "newer.h"

#include "names/names.h"

#include <stdlib.h>
#include <string.h>

static rset_status
no_memory(const rset_local *local, rset_err *err)
{
    return rset_fail(err, RSET_NOMEM, "%s: no memory for a name of it", rset_local_name(local));
}

/* ---- put aside ---- */

/* The name that data file i is put aside under: its own, whichever file of its rank it is. */
static char *
changed_name(const rset_local *local, int i, uint64_t number)
{
    char *prefix = rset_join_names(local->names[i], ".");
    char *name = prefix != NULL ? rset_name_of(RSET_NAME_CHANGED, prefix, number) : NULL;

    free(prefix);
    return name;
}

static rset_status
is_taken(const rset_local *local, uint64_t number, bool *taken_out, rset_err *err)
{
    rset_status st = RSET_OK;

    *taken_out = false;
    for (int i = 0; st == RSET_OK && i < local->nfiles && !*taken_out; i++) {
        rset_dir *dir = rset_local_dir(local, i);
        char     *name = changed_name(local, i, number);

        if (name == NULL)
            return no_memory(local, err);
        if (dir != NULL)
            st = rset_dir_find_file(dir, name, NULL, taken_out, err);
        free(name);
    }
    return st;
}

/* The first number from *number on that is free. */
static rset_status
free_number(const rset_local *local, uint64_t *number, rset_err *err)
{
    bool        taken = true;
    rset_status st = is_taken(local, *number, &taken, err);

    while (st == RSET_OK && taken)
        st = is_taken(local, ++*number, &taken, err);
    return st;
}

/* Where there are no links the file gives up its own name for it: what has that name next is ready to take it. */
static rset_status
give_name(rset_dir *dir, const char *from, const char *to, rset_err *err)
{
    rset_err          no_links = RSET_ERR_NONE;
    const rset_status st = rset_dir_link(dir, from, dir, to, &no_links);

    if (st == RSET_USAGE)
        return rset_dir_rename(dir, from, to, err);
    if (st != RSET_OK)
        *err = no_links;
    return st;
}

/* The name is noted before it is made (N1). */
static rset_status
put_one(const rset_local *local, int i, uint64_t number, rset_err *err)
{
    rset_dir   *dir = rset_local_dir(local, i);
    char       *name = changed_name(local, i, number);
    bool        there = false;
    rset_status st = name != NULL ? RSET_OK : no_memory(local, err);

    if (st == RSET_OK && i == 0)
        st = rset_names_note(dir, local->prefix, (const char *const *)&name, 1, err);
    if (st == RSET_OK)
        st = rset_dir_find_file(dir, local->names[i], NULL, &there, err);
    if (st == RSET_OK && there)
        st = give_name(dir, local->names[i], name, err);
    free(name);
    return st;
}

rset_status
rset_changed_put(const rset_local *local, uint64_t generation, uint64_t *number_out, rset_err *err)
{
    uint64_t    number = generation;
    rset_status st = free_number(local, &number, err);

    for (int i = 0; st == RSET_OK && i < local->nfiles; i++)
        if (rset_local_dir(local, i) != NULL)
            st = put_one(local, i, number, err);
    *number_out = number;
    return st == RSET_OK ? rset_local_sync(local, err) : st;
}

rset_status
rset_changed_drop(const rset_local *local, uint64_t number, rset_err *err)
{
    rset_status st = RSET_OK;

    for (int i = 0; st == RSET_OK && i < local->nfiles; i++) {
        rset_dir *dir = rset_local_dir(local, i);
        char     *name = changed_name(local, i, number);

        if (name == NULL)
            return no_memory(local, err);
        if (dir != NULL)
            st = rset_dir_unlink(dir, name, err);
        free(name);
    }
    return st;
}

rset_status
rset_changed_retire(const rset_local *local, uint64_t before, rset_err *err)
{
    rset_names  names;
    rset_name   parsed;
    uint64_t    number;
    rset_status st = rset_names_find(local->dir, local->prefix, NULL, &names, err);

    for (size_t i = 0; st == RSET_OK && i < names.n; i++)
        if (rset_name_classify(names.at[i], local->prefix, &parsed, &number) == RSET_NAME_CHANGED &&
            rset_generation_newer(before, number))
            st = rset_changed_drop(local, number, err);
    rset_names_free(&names);
    return st;
}

/* ---- with another name of the file ---- */

/* By a link, and the old name goes when the new one is durable. The new one has the same number, or the next that is free. */
static rset_status
follow_one(const rset_local *from, const char *name, uint64_t number, const rset_local *to,
           rset_err *err)
{
    char       *into;
    rset_status st = free_number(to, &number, err);

    if (st != RSET_OK)
        return st;
    into = changed_name(to, 0, number);
    st = into != NULL ? rset_names_note(to->dir, to->prefix, (const char *const *)&into, 1, err)
                      : no_memory(to, err);
    if (st == RSET_OK)
        st = rset_dir_link(from->dir, name, to->dir, into, err);
    if (st == RSET_OK)
        st = rset_dir_sync(to->dir, err);
    free(into);
    return st == RSET_OK ? rset_dir_unlink(from->dir, name, err) : st;
}

rset_status
rset_changed_follow(const rset_local *from, const rset_local *to, rset_err *err)
{
    rset_names  names;
    rset_name   parsed;
    uint64_t    number;
    rset_status st = rset_names_find(from->dir, from->prefix, NULL, &names, err);

    for (size_t i = 0; st == RSET_OK && i < names.n; i++)
        if (rset_name_classify(names.at[i], from->prefix, &parsed, &number) == RSET_NAME_CHANGED &&
            rset_dir_has_file(from->dir, names.at[i]))
            st = follow_one(from, names.at[i], number, to, err);
    rset_names_free(&names);
    return st;
}

/* ---- one by its name ---- */

/* Has the list that name? */
static bool
is_among(const rset_names *names, const char *name)
{
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->at[i], name) == 0)
            return true;
    return false;
}

/* All names of the data file that `name` was made of. RSET_USAGE: that is none of them, or does not count. *prefix_out: to be freed in any
 * case. */
static rset_status
find_changed(rset_dir *dir, const char *name, char **prefix_out, rset_names *names, rset_err *err)
{
    uint64_t     number;
    const size_t n = rset_name_changed(name, &number);
    rset_status  st;

    *names = (rset_names){0};
    *prefix_out = strndup(name, n + 1); /* with the dot */
    if (*prefix_out == NULL)
        return rset_fail(err, RSET_NOMEM, "%s: no memory for its name", name);
    st = rset_names_list(dir, *prefix_out, names, err);
    if (st == RSET_OK && (n == 0 || !is_among(names, name)))
        st = rset_fail(err, RSET_USAGE, "%s/%s: is no changed file that was put aside",
                       rset_dir_path(dir), name);
    return st;
}

bool
rset_changed_is(rset_dir *dir, const char *name)
{
    char      *prefix;
    rset_names names;
    const bool is = find_changed(dir, name, &prefix, &names, NULL) == RSET_OK;

    rset_names_free(&names);
    free(prefix);
    return is;
}

rset_status
rset_changed_remove(rset_dir *dir, const char *name, rset_err *err)
{
    char       *prefix;
    rset_names  names;
    rset_status st = find_changed(dir, name, &prefix, &names, err);

    if (st == RSET_OK)
        st = rset_dir_unlink(dir, name, err);
    if (st == RSET_OK && names.n == 1)
        st = rset_names_forget(dir, prefix, err);
    rset_names_free(&names);
    free(prefix);
    return st == RSET_OK ? rset_dir_sync(dir, err) : st;
}
