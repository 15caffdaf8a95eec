/* plain_rename.c: protected files get other names together with what protects them. See plain_internal.h. */
#include "plain_internal.h"

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
    if (!rset_name_has_room(to->names[0], p->team->ranks, p->config.set_size))
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

/* They stay protected as they were, whatever is configured. */
static rset_status
keep_scheme(rset_plain *p, rset_err *err)
{
    const rset_evidence *ev = &p->files.evidence;
    const rset_desc     *d = &ev->header.infos[0].desc;

    if (!ev->has_header)
        return RSET_OK;
    if (rset_desc_is_left_over(d))
        return rset_fail(err, RSET_USAGE,
                         "%s: no set had room for it, so it is not known here what protects the "
                         "others: rename them with h5redset mv",
                         p->files.paths[0]);
    p->config.scheme = d->scheme;
    if (d->scheme == &rset_scheme_partner)
        p->config.replicas = d->parity;
    else if (d->scheme == &rset_scheme_rs)
        p->config.checksums = d->parity;
    return RSET_OK;
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
        st = rset_agree(p->team->comm, keep_scheme(p, err), p->team->host, err);
    if (st == RSET_OK)
        st = rset_plain_protection(p, &args, err);
    if (st != RSET_OK)
        return st;
    args.local = &p->to.local;
    st = rset_protect_renamed(&args, &p->files.local, err);
    if (st == RSET_OK)
        rset_plain_count(p, RSET_COUNT_PROTECTED);
    return st;
}
