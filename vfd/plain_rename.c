/* plain_rename.c: protected files get other names together with what protects them. See plain_internal.h. */
#include "plain_internal.h"

#include <stdio.h>
#include <string.h>

/* Could this rank's file have that name? */
static rset_status
may_be_called(const rset_plain *p, rset_err *err)
{
    const rset_plain_files *to = &p->to;
    struct stat             sb;

    if (strcmp(to->paths[0], p->files.paths[0]) == 0)
        return rset_fail(err, RSET_USAGE, "%s: is to be renamed to its own name", to->paths[0]);
    if (to->local.dir == NULL)
        return rset_fail(err, RSET_USAGE, "%s: no such directory: make it first",
                         to->places[0].path);
    if (rset_dir_stat(to->local.dir, to->names[0], &sb, NULL) == RSET_OK && !S_ISREG(sb.st_mode))
        return rset_fail(err, RSET_USAGE, "%s: is there, and is no file that could be replaced",
                         to->paths[0]);
    if (!rset_name_has_room(to->names[0], p->team->ranks, p->config.set_size, false))
        return rset_fail(err, RSET_USAGE,
                         "%s: the name is too long: there is no room in it for what is added to "
                         "name its redundancy",
                         to->paths[0]);
    return RSET_OK;
}

/* A commit that another program died in, under the new name: if it was decided on, it is finished before it is replaced. */
static rset_status
finish_replaced(rset_plain *p, rset_status before, rset_err *err)
{
    rset_recover_args args = {.world = p->team->comm,
                              .local = &p->to.local,
                              .evidence = &p->to.evidence,
                              .host = p->team->host,
                              .before = before};

    return rset_finish_commit(&args, err);
}

/* How the files are protected of ranks that a set had room for. */
typedef struct protected_by {
    char name[16]; /* of the scheme; "": of none of these ranks is known how */
    int  parity;
} protected_by;

static protected_by
own_protection(const rset_plain *p)
{
    const rset_evidence *ev = &p->files.evidence;
    const rset_desc     *d = ev->has_header ? &ev->header.infos[0].desc : NULL;
    protected_by         by = {0};

    if (d == NULL || rset_desc_is_left_over(d))
        return by;
    snprintf(by.name, sizeof by.name, "%s", d->scheme->name);
    by.parity = d->parity;
    return by;
}

/* They have the same, or none. */
static void
merge_protection(void *into, const void *other)
{
    protected_by       *a = into;
    const protected_by *b = other;

    if (strncmp(b->name, a->name, sizeof a->name) > 0)
        *a = *b;
}

/* They stay protected as they were, whatever is configured; a rank that no set has room for is told by the others how. */
static rset_status
keep_scheme(rset_plain *p, rset_err *err)
{
    protected_by         by = own_protection(p);
    const rset_reduction what = {&by, sizeof by, merge_protection};
    rset_status          st = rset_reduce(p->team->comm, RSET_OK, p->team->host, &what, err);
    const rset_scheme   *scheme;

    by.name[sizeof by.name - 1] = '\0';
    scheme = st == RSET_OK ? rset_scheme_by_name(by.name) : NULL;
    if (scheme == NULL)
        return st;
    p->config.scheme = scheme;
    if (scheme == &rset_scheme_partner)
        p->config.replicas = by.parity;
    else if (scheme == &rset_scheme_rs)
        p->config.checksums = by.parity;
    return RSET_OK;
}

/* No rank loses its protection by that. */
static rset_status
stays_protected(const rset_plain *p, const rset_protect_args *args, rset_err *err)
{
    if (!rset_desc_is_left_over(&args->desc) || own_protection(p).name[0] == '\0')
        return RSET_OK;
    return rset_fail(
        err, RSET_USAGE,
        "%s: is protected, and no set would have room for it: its host (or group=) has "
        "more ranks now than when it was protected",
        p->files.paths[0]);
}

rset_status
rset_plain_rename(rset_plain *p, rset_status before, rset_err *err)
{
    rset_protect_args args;
    rset_status       st;

    if (before == RSET_OK)
        before = may_be_called(p, err);
    st = rset_plain_recover(p, before, err);
    if (st == RSET_OK && p->out->never)
        return rset_fail(err, RSET_USAGE,
                         "%s: was not renamed: no rank's file of this name is protected: rename "
                         "it as any other file",
                         p->files.paths[0]);
    if (st == RSET_OK)
        st = finish_replaced(p, RSET_OK, err);
    if (st == RSET_OK)
        st = keep_scheme(p, err);
    if (st == RSET_OK)
        st = rset_plain_protection(p, false, &args, err);
    if (st != RSET_OK)
        return st;
    args.local = &p->to.local;
    args.before = stays_protected(p, &args, err);
    st = rset_protect_renamed(&args, &p->files.local, err);
    if (st == RSET_OK)
        rset_plain_count(p, RSET_COUNT_PROTECTED);
    return st;
}
