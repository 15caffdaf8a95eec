/* commands_mv.c: h5redset mv: files that were protected together get other names, with what protects them. */
#include "commands.h"
#include "exits.h"
#include "hosted.h"
#include "parallel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 8 };

/* ---- names with %r in them ---- */

/* Does the path have the form of `old`, and what stands where that has %r? */
static bool
matches(const char *old, const char *path, char numbers[NUMBERS][32])
{
    int n = 0;

    while (*old != '\0') {
        const size_t digits = strspn(path, "0123456789");

        if (strncmp(old, "%r", 2) != 0) {
            if (*old++ != *path++)
                return false;
            continue;
        }
        if (digits == 0 || digits >= sizeof numbers[0] || n == NUMBERS)
            return false;
        memcpy(numbers[n], path, digits);
        numbers[n++][digits] = '\0';
        old += 2;
        path += digits;
    }
    return *path == '\0';
}

/* The new path of a file with these numbers. A new string. */
static char *
fill_in(const char *new, char numbers[NUMBERS][32])
{
    char *path = must_copy("");

    for (int n = 0; *new != '\0';) {
        const char  *at = strstr(new, "%r");
        const size_t len = at != NULL ? (size_t)(at - new) : strlen(new);
        char *longer = must_print("%s%.*s%s", path, (int)len, new, at != NULL ? numbers[n++] : "");

        free(path);
        path = longer;
        new += len + (at != NULL ? 2 : 0);
    }
    return path;
}

/* What a member's file will be called; NULL: its name has not that form. A new string. */
static char *
new_path(const options *o, const member *m)
{
    char numbers[NUMBERS][32];

    return matches(o->from, member_path(m), numbers) ? fill_in(o->into, numbers) : NULL;
}

/* ---- one rank, in a thread of its own ---- */

static rset_status
check_old(const files *from, rset_err *err)
{
    if (from->n == 1)
        return RSET_OK;
    return rset_fail(err, RSET_USAGE,
                     "%s/%s: was protected together with %d other files of its rank, and cannot be "
                     "renamed alone; unprotect them first",
                     rset_dir_path(from->dir), from->names[0], from->n - 1);
}

static void
rename_hosted(rset_comm *world, void *arg)
{
    const hosting *p = arg;
    hosted        *at = &p->hosted[world->rank];
    files          from = {0}, to = {0};
    char          *path = new_path(p->o, at->member);
    const char    *base = rset_path_base(path);
    rset_local     local;
    rset_status    st;

    at->err = RSET_ERR_NONE;
    st = hosted_open(p, world->rank, &from, &at->err);
    if (st == RSET_OK)
        st = check_old(&from, &at->err);
    if (st == RSET_OK)
        st = files_hold(&from, hold_to_rebuild(&from), p->j, &at->err);
    if (st == RSET_OK)
        st = files_open_path(path, (files_place){0}, &to, &at->err);
    if (st == RSET_OK)
        st = files_hold(&to, HOLD_FROM_WRITERS, p->j, &at->err);
    local = (rset_local){.dir = to.dir,
                         .prefix = to.prefix,
                         .nfiles = 1,
                         .names = &base,
                         .paths = (const char *const *)&path};
    st = recover_whole(world, p, &from, st, "not renamed");
    if (st == RSET_OK)
        st = name_parallel(world, p, &(naming){.from = &from, .to = &local, .there = &to.evidence},
                           &at->err);
    at->st = st;
    files_close(&from);
    files_close(&to);
    free(path);
}

/* ---- all of them ---- */

static void
tell(const hosting *p, int r)
{
    const member *m = p->hosted[r].member;
    char         *to = new_path(p->o, m);

    print_line(stdout, "%s: %srenamed to %s", member_path(m), p->dry ? "would be " : "", to);
    free(to);
}

/* How many of the ranks' files have a name of that form, and how many names are known; *other_out: a file that has another one. *meant_out:
 * one that was seen has such a name. Under the names of those that are only recorded others may lie: of a newer generation, where this is an
 * old copy in another place. */
static int
count_named(const hosting *p, int *known_out, bool *meant_out, const member **other_out)
{
    int n = 0;

    *known_out = 0;
    *meant_out = false;
    for (const member *m = NULL; (m = family_next(p->f, m)) != NULL;) {
        char *path = new_path(p->o, m);

        if (m->known != NULL || m->seen != NULL) {
            ++*known_out;
            n += path != NULL;
            *meant_out = *meant_out || (path != NULL && m->seen != NULL);
            *other_out = path == NULL ? m : *other_out;
        }
        free(path);
    }
    return n;
}

static int
refuse_some(const hosting *p, int n, const member *other)
{
    if (p->j->rank == 0)
        print_error("not renamed: %d of %d files that are protected together have such a name, and "
                    "others have not: %s",
                    n, p->f->desc.ranks, member_path(other));
    return EXITS_ERROR;
}

static int
rename_family(hosting *p, int *found)
{
    const member *other = NULL;
    bool          meant;
    int           known, n = count_named(p, &known, &meant, &other), status;

    if (!meant)
        return EXITS_WELL;
    ++*found;
    status = n == known ? exits_of(hosted_do(p, p->dry ? NULL : rename_hosted, p, tell))
                        : refuse_some(p, n, other);
    free(p->hosted);
    return status;
}

int
command_mv(job *j, const options *o, const picture *seen)
{
    const catalog *c = &seen->newest;
    int            worst = EXITS_WELL, found = 0;

    for (size_t i = 0; worst == 0 && i < c->nfamilies; i++) {
        hosting p = {
            .j = j, .o = o, .dry = o->dry_run, .not_done = "not renamed", .f = &c->families[i]};

        worst = rename_family(&p, &found);
    }
    return worst == 0 && found == 0 ? EXITS_NOTHING : worst;
}
