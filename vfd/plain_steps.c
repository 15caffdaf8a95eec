/* plain_steps.c: what each call for plain files does, when all ranks have met. See plain_internal.h. */
#include "plain_internal.h"
#include "tell.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void
rset_plain_count(rset_plain *p, rset_count what)
{
    p->cost.files[what] += (uint64_t)p->files.n;
    p->cost.bytes[what] += rset_plain_files_bytes(&p->files);
}

/* ---- what each call does, when all have met; `before`: this rank's failure so far ---- */

/* Content that stays what it was keeps the label that its program gave it. */
static void
say_stamp(rset_plain *p)
{
    const rset_evidence *ev = &p->files.evidence;
    const bool           keeps = p->job->call != RSET_PLAIN_PROTECT && ev->has_header;

    rset_stamp_now(p->config.job, keeps ? ev->header.infos[0].stamp.label : NULL, &p->stamp);
}

rset_status
rset_plain_protection(rset_plain *p, bool all, rset_protect_args *out, rset_err *err)
{
    rset_status st = rset_team_protection(p->team, &p->config, all, p->out->note, out, err);

    if (st == RSET_OK)
        st = out->before; /* the same on all ranks */
    if (st != RSET_OK)
        return st;
    out->local = &p->files.local;
    out->stamp = &p->stamp;
    say_stamp(p);
    out->desc.generation = p->most = rset_generation_next(p->most, p->nonce);
    return RSET_OK;
}

static rset_status
encode(rset_plain *p, rset_err *err)
{
    rset_protect_args args;
    rset_status       st = rset_plain_protection(p, true, &args, err);

    if (st == RSET_OK)
        st = rset_protect(&args, err);
    if (st == RSET_OK)
        rset_plain_count(p, RSET_COUNT_PROTECTED);
    return st;
}

/* The program has overwritten what there was before it calls. */
static void
say_not_kept(rset_plain *p)
{
    static bool  said;
    char        *note = p->out->note;
    const size_t len = strlen(note);

    if (said || p->config.keep <= 1 || p->team->comm->rank != 0)
        return;
    said = true;
    snprintf(
        note + len, sizeof p->out->note - len,
        "%s%.300s: keep= says nothing for files that HDF5 does not write: what they were before "
        "was overwritten before they were given to H5FDredset_protect_files; only the newest "
        "can be had",
        len > 0 ? "; " : "", p->files.paths[0]);
}

/* Nothing is begun anywhere unless all can. */
rset_status
rset_plain_protect(rset_plain *p, rset_status before, rset_err *err)
{
    rset_status st;

    if (before == RSET_OK)
        before = rset_plain_files_may_protect(&p->files, p->team->ranks, p->config.set_size, err);
    st = rset_agree(p->team->comm, before, p->team->host, err);
    if (st == RSET_OK)
        st = encode(p, err);
    if (st == RSET_OK)
        say_not_kept(p);
    return st;
}

static void
tell_outcome(rset_plain *p, const rset_outcome *outcome, bool again)
{
    char files[560];

    rset_plain_files_say(&p->files, files, sizeof files);
    rset_tell_outcome(
        &(rset_tell_of){.files = files, .base = "*", .several = p->files.n > 1, .team = p->team},
        outcome, again, p->out->note);
    rset_plain_count(p, rset_tell_was_done(outcome) ? RSET_COUNT_REBUILT : RSET_COUNT_VERIFIED);
}

/* All files are there. Are they what was protected, and protected now? */
static rset_status
finish_recovery(rset_plain *p, const rset_outcome *outcome, rset_err *err)
{
    rset_err    why = RSET_ERR_NONE;
    rset_status st = RSET_OK;

    if (!outcome->protected_ && !outcome->reprotect)
        return rset_fail(err, RSET_DAMAGED,
                         "%.700s; use the files as they are, and protect them again, if their "
                         "content is right",
                         outcome->note);
    if (outcome->reprotect)
        st = encode(p, &why);
    tell_outcome(p, outcome, outcome->reprotect && st == RSET_OK);
    if (st == RSET_OK)
        return RSET_OK;
    *err = why;
    return st;
}

rset_status
rset_plain_recover(rset_plain *p, rset_status before, rset_err *err)
{
    const rset_config *config = &p->config;
    rset_recover_args  args = {.world = p->team->comm,
                               .local = &p->files.local,
                               .evidence = &p->files.evidence,
                               .host = p->team->host,
                               .before = before,
                               .content = RSET_CONTENT_ALL,
                               .stays = config->moved == RSET_MOVES_NO,
                               .copies = config->moved == RSET_MOVES_COPY,
                               .keep_changed = config->keep_changed,
                               .tidy = true};
    rset_outcome       outcome;
    rset_status        st;

    if (args.before == RSET_OK)
        args.before = rset_plain_files_check_record(&p->files, err);
    if (args.before == RSET_OK)
        args.before = rset_plain_files_make_dirs(&p->files, err);
    st = rset_recover(&args, &outcome, err);
    if (st != RSET_OK)
        rset_plain_files_unmake_dirs(&p->files);
    p->out->never = st == RSET_ABSENT && outcome.never;
    if (p->out->never) {
        *err = RSET_ERR_NONE;
        return RSET_OK;
    }
    return st == RSET_OK ? finish_recovery(p, &outcome, err) : st;
}

/* Nothing is removed anywhere unless all may. */
rset_status
rset_plain_unprotect(rset_plain *p, rset_status before, rset_err *err)
{
    rset_comm  *comm = p->team->comm;
    rset_status st;

    if (before == RSET_OK && p->files.evidence.undo.busy)
        before = rset_fail(err, RSET_BUSY,
                           "%s: is being changed through the HDF5 driver: close it first",
                           p->files.paths[0]);
    st = rset_agree(comm, before, p->team->host, err);
    if (st != RSET_OK)
        return st;
    return rset_agree(comm, rset_plain_files_let_go(&p->files, err), p->team->host, err);
}
