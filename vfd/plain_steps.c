/* plain_steps.c: what each call for plain files does, when all ranks have met. See plain_internal.h. */
#include "plain_internal.h"

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

/* What became of this rank's own files. They may have been moved and then rebuilt. */
static const char *
what_was_done(const rset_outcome *outcome)
{
    if (!outcome->replaced || outcome->action == RSET_ACTION_NOTHING)
        return "";
    return outcome->action == RSET_ACTION_UNDO ? "rolled back to what was protected last"
                                               : "lost or damaged: rebuilt";
}

/* What concerns this rank's files is said by this rank, what concerns all by the first. */
static void
tell_outcome(rset_plain *p, const rset_outcome *outcome, bool again)
{
    const char *own = what_was_done(outcome);
    const bool  first = p->team->comm->rank == 0;
    char        files[560], changed[288];

    if (own[0] != '\0' && outcome->altered.any && outcome->aside != 0) {
        rset_put_aside_say(&outcome->altered, "*", outcome->aside, changed, sizeof changed);
        own = changed;
    }

    rset_plain_files_say(&p->files, files, sizeof files);
    if (outcome->moved_from[0] != '\0')
        snprintf(p->out->note, sizeof p->out->note,
                 outcome->copied ? "%s: copied here from %s%s%s" : "%s: lay on %s: moved here%s%s",
                 files, outcome->moved_from, own[0] != '\0' ? "; " : "", own);
    else if (own[0] != '\0')
        snprintf(p->out->note, sizeof p->out->note, "%s: %s%s%s", files, own,
                 outcome->was_on[0] != '\0' ? "; it was on " : "", outcome->was_on);
    else if (first && again && outcome->note[0] != '\0')
        snprintf(p->out->note, sizeof p->out->note, "%s", outcome->note);
    else if (first && again && outcome->renamed)
        snprintf(p->out->note, sizeof p->out->note,
                 "%s: had another name when it was protected; what protects it has the new one now",
                 files);
    else if (first && again)
        snprintf(p->out->note, sizeof p->out->note,
                 "%s: redundancy files were lost, and have been re-encoded", files);
    else if (first && outcome->note[0] != '\0')
        snprintf(p->out->note, sizeof p->out->note, "%s", outcome->note);
    rset_plain_count(p, own[0] != '\0' ? RSET_COUNT_REBUILT : RSET_COUNT_VERIFIED);
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
