/* parallel.c: see parallel.h. */
#include "parallel.h"

#include "catalog.h"
#include "exits.h"
#include "hosted.h"
#include "judge.h"
#include "report.h"
#include "wait.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* ---- protecting ---- */

/* The newest generation that a rank knows of, and a random number. */
typedef struct after {
    uint64_t newest, number;
} after;

static void
merge_newest(void *into, const void *other)
{
    const after *o = other;
    after       *a = into;

    a->newest = rset_generation_newer(o->newest, a->newest) ? o->newest : a->newest;
    a->number ^= o->number;
}

/* A generation after the newest that any rank knows of, of which this one says `newest`, and a number that is new. The same on
 * all. */
static rset_status
next_generation(rset_comm *world, uint64_t newest, rset_status before, uint64_t *out, rset_err *err)
{
    after       all = {.newest = newest};
    rset_status st;

    if (getrandom(&all.number, sizeof all.number, 0) != (ssize_t)sizeof all.number &&
        before == RSET_OK)
        before = rset_fail(err, RSET_IO, "no random numbers");
    st = rset_reduce(world, before, "", &(rset_reduction){&all, sizeof all, merge_newest}, err);
    if (st == RSET_OK)
        *out = rset_generation_next(all.newest, all.number);
    return st;
}

/* Those who are protected together, in *layout, and what protecting this rank's files takes. `newest`: as above. */
static rset_status
form(rset_comm *world, const protect_wish *wish, uint64_t newest, rset_layout *layout,
     rset_protect_args *out, rset_err *err)
{
    const rset_wish *sets = &wish->sets;
    uint64_t         generation = 0;
    rset_status      st = next_generation(world, newest, out->before, &generation, err);

    if (st == RSET_OK)
        st = rset_layout_form(world, sets, sets->group, layout, err);
    if (st != RSET_OK)
        return st;
    *out = (rset_protect_args){.world = world,
                               .set = &layout->set,
                               .ranks = layout->ranks,
                               .local = out->local,
                               .desc = layout->desc,
                               .extra = true,
                               .host = sets->group};
    out->desc.generation = generation;
    if (wish->all)
        out->before = rset_layout_for_all(layout, err);
    return RSET_OK;
}

/* What a program called the content; NULL: nothing is recorded. */
static const char *
label_of(const rset_evidence *ev)
{
    return ev->has_header ? ev->header.infos[0].stamp.label : NULL;
}

rset_status
protect_parallel(rset_comm *world, const protect_wish *wish, const files *f, rset_status before,
                 char *note, rset_err *err)
{
    rset_layout       layout = {0};
    rset_stamp_text   stamp;
    rset_protect_args args = {.local = &f->local, .before = before};
    rset_status st = form(world, wish, rset_evidence_newest(&f->evidence), &layout, &args, err);

    note[0] = '\0';
    if (st == RSET_OK) {
        memcpy(note, layout.note, RSET_ERR_TEXT);
        rset_stamp_now(NULL, wish->same ? label_of(&f->evidence) : NULL, &stamp);
        args.stamp = &stamp;
        st = rset_protect(&args, err);
        rset_layout_free(&layout);
    }
    return st;
}

/* ---- ranks that are hosted ---- */

/* That rank's files as they were protected before. */
static protect_wish
wish_of_rank(const hosting *p, int rank)
{
    return (protect_wish){.sets = {.scheme = p->f->desc.scheme,
                                   .parity = p->f->desc.parity,
                                   .set_size = p->f->desc.members,
                                   .group = p->j->host,
                                   .order = rank}};
}

rset_status
name_parallel(rset_comm *world, const hosting *p, const naming *n, rset_err *err)
{
    const protect_wish wish = wish_of_rank(p, world->rank);
    rset_layout        layout = {0};
    rset_stamp_text    stamp;
    rset_protect_args  args = {.local = n->to};
    uint64_t           newest = rset_evidence_newest(&n->from->evidence), there;
    rset_status        st = rset_finish_commit(
               &(rset_recover_args){
                   .world = world, .local = n->to, .evidence = n->there, .host = p->j->host},
               err);

    there = rset_evidence_newest(n->there);
    if (st == RSET_OK)
        st = form(world, &wish, rset_generation_newer(there, newest) ? there : newest, &layout,
                  &args, err);
    if (st != RSET_OK)
        return st;
    rset_stamp_now(NULL, label_of(&n->from->evidence), &stamp);
    args.stamp = &stamp;
    args.keep = n->restored && n->aside == 0 ? RSET_KEEP_ALL : 0;
    st = n->restored ? rset_protect_restored(&args, &n->from->local, n->aside, err)
                     : rset_protect_renamed(&args, &n->from->local, err);
    rset_layout_free(&layout);
    return st;
}

rset_status
recover_whole(rset_comm *world, const hosting *p, files *f, rset_status before,
              const char *not_done)
{
    hosted           *at = &p->hosted[world->rank];
    rset_recover_args args = {.world = world,
                              .local = &f->local,
                              .evidence = &f->evidence,
                              .content = RSET_CONTENT_DATA,
                              .required = true,
                              .before = before,
                              .host = p->j->host};
    rset_status       st = rset_recover(&args, &at->out, &at->err);

    if (st == RSET_OK && !at->out.protected_ && !at->out.reprotect)
        st = rset_fail(&at->err, RSET_DAMAGED, "%.700s; %s", at->out.note, not_done);
    return st;
}

/* ---- rebuilding ---- */

static rset_status
protect_again(const hosting *p, rset_comm *world, files *f, rset_err *err)
{
    char              note[RSET_ERR_TEXT];
    protect_wish      wish = wish_of_rank(p, world->rank);
    const rset_status st = files_hold(f, HOLD_FROM_WRITERS, p->j, err); /* the new ones too */

    wish.same = true;
    return protect_parallel(world, &wish, f, st, note, err);
}

static rset_status
open_to_recover(const hosting *p, int r, files *f, rset_err *err)
{
    const rset_status st = hosted_open(p, r, f, err);

    return st == RSET_OK && !p->dry ? files_hold(f, hold_to_rebuild(f), p->j, err) : st;
}

/* Redundancy that cannot be rebuilt is encoded again; not that of files which all ranks have written anew. */
static bool
is_encoded_again(const rset_outcome *out)
{
    return out->reprotect && out->reason != RSET_REASON_REWRITTEN;
}

/* One rank of all of them, in a thread of its own. */
static void
recover_hosted(rset_comm *world, void *arg)
{
    const hosting    *p = arg;
    hosted           *at = &p->hosted[world->rank];
    files             f = {0};
    rset_recover_args args = {.world = world,
                              .local = &f.local,
                              .evidence = &f.evidence,
                              .content = RSET_CONTENT_ALL,
                              .tidy = true,
                              .dry_run = p->dry,
                              .undelete = p->o->deleted,
                              .host = p->j->host};

    at->err = RSET_ERR_NONE;
    args.before = open_to_recover(p, world->rank, &f, &at->err);
    at->st = rset_recover(&args, &at->out, &at->err);
    if (at->st == RSET_OK && !p->dry && is_encoded_again(&at->out))
        at->st = protect_again(p, world, &f, &at->err);
    files_close(&f);
}

/* What had been changed is put aside. */
static void
tell_changed(const hosting *p, const hosted *at)
{
    char text[RSET_ERR_TEXT];

    rset_put_aside_say(&at->out.altered, rset_path_base(member_path(at->member)), at->out.aside,
                       text, sizeof text);
    job_tell(p->j, p->j->host, member_path(at->member), text);
}

static void
tell_hosted(const hosting *p, int r)
{
    const hosted *at = &p->hosted[r];
    const member  m = member_after(at->member, &at->out);
    char         *what = action_text(&at->out.decided, &m, p->dry);

    if (at->out.aside != 0)
        tell_changed(p, at);
    else if (what != NULL)
        job_tell(p->j, p->j->host, member_path(at->member), what);
    else if (r == 0 && at->out.note[0] != '\0')
        print_line(stdout, "%s", at->out.note);
    free(what);
}

/* Of what was done, or would be. The same on all processes that have a rank. */
static int
exit_status_after(const hosting *p)
{
    for (int r = 0; r < p->n; r++)
        if (p->hosted[r].by == p->j->rank && !p->hosted[r].out.protected_ &&
            !is_encoded_again(&p->hosted[r].out))
            return EXITS_REPAIR;
    return EXITS_WELL;
}

/* Is all of it whole? Else *damaged_out: how many bytes this process has of files that are not. */
static bool
verify_all(hosting *p, uint64_t *damaged_out)
{
    bool whole = hosted_status(p, hosted_run(p, recover_hosted, p)) == RSET_OK;

    for (int r = 0; r < p->n; r++) {
        const hosted *at = &p->hosted[r];

        if (at->by != p->j->rank)
            continue;
        whole = whole && at->out.decided.verdict == RSET_VERDICT_KEEP && at->out.protected_;
        if (rset_outcome_action(&at->out) != RSET_ACTION_NOTHING)
            *damaged_out += work_bytes_of(at->member->seen);
    }
    return job_most(p->j, !whole) == 0;
}

bool
rebuild_is_whole_by_size(const family *f)
{
    return !f->renamed && !f->elsewhere && f->superseded == 0 &&
           f->decision.verdict == RSET_VERDICT_KEEP &&
           f->decision.protection == RSET_PROTECTION_VALID;
}

/* Something is lost, or has another name than what protects it. Under which names files belong that were renamed in part, nobody
 * knows. */
bool
rebuild_has_work(const family *f)
{
    if (f->renamed && f->partly)
        return false;
    return f->decision.verdict == RSET_VERDICT_RESTORE ||
           (f->renamed && f->decision.verdict == RSET_VERDICT_KEEP &&
            f->decision.protection == RSET_PROTECTION_VALID);
}

static void
tell_what_is_left(const family *f)
{
    char *text = advice(f);

    if (f->decision.verdict == RSET_VERDICT_REFUSE && family_exit_status(f) != EXITS_WELL)
        report_refusal(f);
    else if (text[0] != '\0' && f->partly)
        print_error("%s: %s", family_name(f), text);
    else if (text[0] != '\0')
        print_line(stdout, "%s: %s", family_name(f), text);
    free(text);
}

/* A program is changing the files, and --wait says to look again when it has ended. The same on all processes, of which one tells. */
static bool
is_left_for_later(const job *j, const family *f)
{
    char *text;
    bool  later;

    if (f->decision.verdict != RSET_VERDICT_REFUSE || f->decision.reason != RSET_REASON_BUSY)
        return false;
    text = j->rank == 0 ? must_print("%s: is being changed by a program", family_name(f)) : NULL;
    later = wait_tries_again(j, RSET_BUSY, text);
    free(text);
    return later;
}

/* Nothing that its ranks could do about it. */
static int
tell_how_it_is(const job *j, const family *f)
{
    const int known =
        f->superseded != 0 || f->elsewhere ? EXITS_WELL : exit_status_undone(&f->decision);

    if (is_left_for_later(j, f))
        return EXITS_WELL;
    if (j->rank == 0)
        tell_what_is_left(f);
    return known == EXITS_WELL && f->partly ? EXITS_REPAIR : known;
}

bool
rebuild_verify(job *j, const options *o, const family *f, uint64_t *damaged_out)
{
    hosting    p = {.j = j, .o = o, .f = f, .dry = true};
    const bool whole = verify_all(&p, damaged_out);

    free(p.hosted);
    return whole;
}

int
rebuild_parallel(job *j, const options *o, const family *f)
{
    hosting     p = {.j = j, .o = o, .f = f, .dry = o->dry_run, .not_done = ""};
    rset_status st;
    int         status;

    if (!rebuild_has_work(f) && !rebuild_is_whole_by_size(f))
        return tell_how_it_is(j, f);
    st = hosted_do(&p, recover_hosted, &p, tell_hosted);
    status = st == RSET_OK ? exit_status_after(&p) : exits_of(st);
    free(p.hosted);
    return status;
}
