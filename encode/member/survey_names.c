/* survey_names.c: which files of a directory are ours, and what each is. See survey_internal.h. */
#include "survey_internal.h"

#include "delta.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What we put behind the name of a redundancy or descriptor file. */
static const struct mark {
    const char *suffix;
    name_kind   kind;
} marks[] = {{RSET_SUFFIX_VOID, NAME_VOID},
             {RSET_SUFFIX_NEW, NAME_NEW},
             {RSET_SUFFIX_FIX, NAME_FIX},
             {RSET_SUFFIX_DELTA, NAME_DELTA},
             {RSET_SUFFIX_REDO, NAME_REDO}};

/* Length of the name without it; *kind_out stays where there is none. */
static size_t
bare_length(const char *name, name_kind *kind_out)
{
    size_t n = strlen(name);

    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        size_t m = strlen(marks[i].suffix);

        if (n > m && strcmp(name + n - m, marks[i].suffix) == 0) {
            *kind_out = marks[i].kind;
            return n - m;
        }
    }
    return n;
}

char *
rset_bare_name(const char *name)
{
    name_kind ignored;

    return strndup(name, bare_length(name, &ignored));
}

/* "<prefix><digits>.redset.<digits>.fix": a data file that a rebuild was writing. */
static bool
is_data_temp(const char *name, size_t prefix_len)
{
    size_t at = prefix_len + strspn(name + prefix_len, "0123456789");
    size_t digits;

    if (at == prefix_len || strncmp(name + at, ".redset.", 8) != 0)
        return false;
    at += 8;
    digits = strspn(name + at, "0123456789");
    return digits > 0 && strcmp(name + at + digits, RSET_SUFFIX_FIX) == 0;
}

char *
rset_beside_name(const char *prefix, const char *name)
{
    char *joined = NULL;

    return asprintf(&joined, "%s%s", prefix, name) < 0 ? NULL : joined;
}

/* What kind of file of ours is `name`, given our prefix? `parsed` is filled unless NAME_OTHER or a
 * what lies beside a data file. */
name_kind
rset_survey_classify(const char *name, const char *prefix, rset_name *parsed)
{
    size_t    prefix_len = strlen(prefix), bare_len;
    char      bare[NAME_MAX + 1];
    name_kind kind = NAME_PLAIN;

    if (strncmp(name, prefix, prefix_len) != 0 || strlen(name) >= sizeof bare)
        return NAME_OTHER;
    parsed->scheme = NULL;
    if (is_data_temp(name, prefix_len))
        return NAME_FIX;
    if (strcmp(name + prefix_len, RSET_NAME_BESIDE) == 0)
        return NAME_BESIDE;
    if (strcmp(name + prefix_len, RSET_NAME_WAITING) == 0)
        return NAME_WAITING;
    if (strcmp(name + prefix_len, RSET_NAME_OLD) == 0 ||
        strcmp(name + prefix_len, RSET_NAME_JOURNAL) == 0)
        return NAME_BACK;
    bare_len = bare_length(name, &kind);
    memcpy(bare, name, bare_len);
    bare[bare_len] = '\0';
    if (!rset_format_parse_name(bare, parsed) || parsed->prefix_len != prefix_len)
        return NAME_OTHER;
    if (parsed->scheme == NULL)
        return kind == NAME_PLAIN ? NAME_DESC : kind;
    return kind;
}

/* ---- collecting names of one prefix ---- */

static bool
collect(const char *name, void *arg)
{
    rset_names *list = arg;
    rset_name   parsed;

    if (rset_survey_classify(name, list->prefix, &parsed) == NAME_OTHER)
        return true;
    if (list->n == list->room) {
        size_t room = list->room > 0 ? 2 * list->room : 8;
        char **grown = realloc(list->at, room * sizeof *grown);

        list->nomem = grown == NULL;
        if (list->nomem)
            return false;
        list->at = grown;
        list->room = room;
    }
    list->at[list->n] = strdup(name);
    list->nomem = list->at[list->n] == NULL;
    list->n += !list->nomem;
    return !list->nomem;
}

rset_status
rset_survey_names(rset_dir *dir, const char *prefix, rset_names *out, rset_err *err)
{
    rset_status st;

    *out = (rset_names){.prefix = prefix};
    st = rset_dir_list(dir, collect, out, err);
    if (st == RSET_OK && out->nomem)
        st = rset_fail(err, RSET_NOMEM, "%s: no memory to list the directory", rset_dir_path(dir));
    return st;
}

void
rset_survey_names_free(rset_names *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->at[i]);
    free(list->at);
}

/* ---- removing ---- */

static bool
is_one_of(const char *const *names, const char *name)
{
    for (; *names != NULL; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

rset_status
rset_forget_others(rset_dir *dir, const char *prefix, const char *const *keep, rset_err *err)
{
    rset_names  list;
    rset_status st = rset_survey_names(dir, prefix, &list, err), first = st;

    for (size_t i = 0; i < list.n; i++) {
        if (is_one_of(keep, list.at[i]))
            continue;
        st = rset_dir_unlink(dir, list.at[i], err);
        if (first == RSET_OK)
            first = st;
    }
    rset_survey_names_free(&list);
    return first;
}

rset_status
rset_forget(rset_dir *dir, const char *prefix, const char *keep_a, const char *keep_b,
            rset_err *err)
{
    const char *const keep[] = {keep_a != NULL ? keep_a : keep_b, keep_a != NULL ? keep_b : NULL,
                                NULL};

    return rset_forget_others(dir, prefix, keep, err);
}
