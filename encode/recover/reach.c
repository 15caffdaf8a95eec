/* reach.c: what is within reach of one process: the directories in which it looks, and the redundancy files in them. See
 * serial_internal.h. */
#include "names/names.h"
#include "serial_internal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- directories ---- */

static rset_status
add_dir(rset_search *s, const char *path, size_t len)
{
    for (size_t i = 0; i < s->ndirs; i++)
        if (strlen(s->dirs[i]) == len && memcmp(s->dirs[i], path, len) == 0)
            return RSET_OK;
    if (s->ndirs == s->room) {
        size_t room = s->room > 0 ? 2 * s->room : 8;
        char **grown = realloc(s->dirs, room * sizeof *grown);

        if (grown == NULL)
            return rset_fail(s->err, RSET_NOMEM, "no memory for directory names");
        s->dirs = grown;
        s->room = room;
    }
    s->dirs[s->ndirs] = strndup(path, len);
    if (s->dirs[s->ndirs] == NULL)
        return rset_fail(s->err, RSET_NOMEM, "no memory for directory names");
    s->ndirs++;
    return RSET_OK;
}

/* Recorded paths say where other members' files were; read-only, so a hostile one does no harm. */
rset_status
rset_search_add_recorded(rset_search *s, const rset_header *h)
{
    rset_status st = RSET_OK;

    for (int d = 0; d < h->ninfos; d++)
        for (int i = 0; st == RSET_OK && i < h->infos[d].nfiles; i++) {
            const char *path = h->infos[d].files[i].path, *base = rset_path_base(path);

            if (base > path + 1)
                st = add_dir(s, path, (size_t)(base - path) - 1);
        }
    return st;
}

rset_status
rset_search_each(rset_search *s, bool (*visit)(const char *name, void *arg), void *arg)
{
    s->st = RSET_OK;
    for (size_t i = 0; s->st == RSET_OK && i < s->ndirs; i++) {
        rset_err ignored = RSET_ERR_NONE;

        if (rset_dir_open(s->dirs[i], false, &s->dir, &ignored) != RSET_OK)
            continue;
        rset_dir_list(s->dir, visit, arg, &ignored);
        rset_dir_close(s->dir);
        s->dir = NULL;
    }
    return s->st;
}

rset_status
rset_search_dirs(rset_search *s)
{
    const rset_serial_args *a = s->args;
    const char             *own = rset_dir_path(a->local->dir);
    rset_status             st = add_dir(s, own, strlen(own));

    for (size_t i = 0; st == RSET_OK && a->search != NULL && a->search[i] != NULL; i++)
        st = add_dir(s, a->search[i], strlen(a->search[i]));
    if (st == RSET_OK && a->evidence->has_header) {
        s->desc = a->evidence->header.infos[0].desc;
        s->known = s->exact = true;
        st = rset_search_add_recorded(s, &a->evidence->header);
    }
    return st;
}

/* ---- redundancy files ---- */

/* The name without that suffix, if it has it. */
static void
leave_out(char *name, const char *suffix)
{
    const size_t n = strlen(name), m = strlen(suffix);

    if (n > m && strcmp(name + n - m, suffix) == 0)
        name[n - m] = '\0';
}

/* What comes after the name that is recorded of a data file: it says which generation has that name. */
static const char *
suffix_of(const char *base)
{
    return base + rset_name_recorded(base);
}

const char *
rset_search_suffix(const rset_search *s)
{
    return suffix_of(s->args->local->names[0]);
}

/* The redundancy file `name` (void mark or not) of s->dir taken apart; false: it is none. Of a generation that is kept there may be
 * no more than an update. */
static bool
redundancy_name(const rset_search *s, const char *name, char *bare, size_t size, rset_name *parsed)
{
    size_t n = strlen(name);

    if (n >= size)
        return false;
    memcpy(bare, name, n + 1);
    leave_out(bare, RSET_SUFFIX_VOID);
    if (s->any || rset_search_suffix(s)[0] != '\0')
        leave_out(bare, RSET_SUFFIX_REDO);
    return rset_format_parse_name(bare, parsed) && parsed->scheme != NULL;
}

/* Does the redundancy file protect a file of the generation that is wanted? Of those that are kept, none is taken for another. */
static bool
is_of_generation(const rset_search *s, char *bare, const rset_name *parsed)
{
    char *end = bare + parsed->prefix_len - 1;
    bool  is;

    *end = '\0';
    is = s->any ? !rset_name_is_put_aside(bare)
                : strcmp(suffix_of(bare), rset_search_suffix(s)) == 0;
    *end = '.';
    return is;
}

bool
rset_search_is_wanted(const rset_search *s, const char *name, rset_name *parsed)
{
    char bare[NAME_MAX + 1];

    return redundancy_name(s, name, bare, sizeof bare, parsed) && is_of_generation(s, bare, parsed);
}

bool
rset_search_survey(rset_search *s, const char *name, const rset_name *parsed,
                   rset_found_redundancy *out)
{
    rset_err ignored = RSET_ERR_NONE;

    *out = (rset_found_redundancy){.prefix = strndup(name, parsed->prefix_len)};
    if (out->prefix != NULL &&
        rset_survey(s->dir, out->prefix, name, &out->ev, &ignored) == RSET_OK && out->ev.has_header)
        return true;
    rset_found_redundancy_free(out);
    return false;
}

bool
rset_search_open(rset_search *s, const char *name, rset_found_redundancy *out)
{
    rset_name parsed;

    return rset_search_is_wanted(s, name, &parsed) && rset_search_survey(s, name, &parsed, out);
}

void
rset_found_redundancy_free(rset_found_redundancy *found)
{
    rset_evidence_free(&found->ev);
    free(found->prefix);
    *found = (rset_found_redundancy){0};
}
