/* commands_scavenge.c: h5redset scavenge: the order of steps, and what is said. See scavenge.h. */
#include "catalog.h"
#include "commands.h"
#include "common/parts.h"
#include "exits.h"
#include "hosted.h"
#include "looked.h"
#include "owner.h"
#include "progress.h"
#include "replaced.h"
#include "report.h"
#include "scavenge.h"
#include "wait.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- steps ---- */

/* What is read of a file to copy it, or to rebuild it: what was rebuilt is verified before it gets its name. */
static uint64_t
bytes_of(const item *it, bool rebuilt)
{
    if (!rebuilt)
        return it->m->seen != NULL ? it->m->seen->size : 0;
    return scavenge_recorded(it) != NULL
               ? work_for_member(it->set, it->m) + rset_info_length(it->m->known)
               : 0;
}

/* The item is read, and comes to be, as its owner; what is in the target is root's to change (scavenge_target.c). */
static void
as_owner(scavenge *s, item *it, void (*work)(scavenge *s, item *it))
{
    rset_err err = RSET_ERR_NONE;

    if (owner_become(it->f->owner, &err) == RSET_OK)
        work(s, it);
    else
        item_fail(it, EXITS_ERROR, "%s", err.text);
    owner_return();
}

/* Copies come before what they are copies of: there the commit may not be finished. */
static void
rebuild_one(scavenge *s, item *it)
{
    strings search = {0}, everywhere = alone_search(s->o, s->c, it->f->owner);

    scavenge_add_pieces(s, it->set, &search);
    for (size_t i = 0; i < everywhere.n; i++)
        strings_add(&search, everywhere.at[i]);
    scavenge_rebuild(s, it, &search);
    strings_free(&search);
    strings_free(&everywhere);
}

/* All that this process brings, and has not yet. */
static void
bring_mine(scavenge *s, bool rebuilt)
{
    uint64_t total = 0;

    for (size_t i = 0; i < s->n; i++)
        if (s->items[i].by == s->j->rank && !s->items[i].done)
            total += bytes_of(&s->items[i], rebuilt);
    progress_begin(s->j->rank == 0, rebuilt ? "rebuilding" : "copying", total);
    for (size_t i = 0; i < s->n && !s->broken; i++)
        if (s->items[i].by == s->j->rank && !s->items[i].done)
            as_owner(s, &s->items[i], rebuilt ? rebuild_one : scavenge_copy);
    progress_end();
}

/* ---- what each process has done, on all of them ---- */

/* As it is sent: the files are in the same order everywhere. */
typedef struct sent {
    uint64_t index;
    outcome  out;
} sent;

static const size_t bools[] = {offsetof(outcome, verified), offsetof(outcome, broken)};

static size_t
collect(const scavenge *s, sent *to)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++)
        if (s->items[i].by == s->j->rank && s->items[i].done)
            to[n++] = (sent){i, s->items[i].out};
    return n;
}

/* What comes from another process, of a file that is process r's, is checked (HR3). */
static bool
take(scavenge *s, const uint8_t *bytes, int r)
{
    sent one;

    memcpy(&one, bytes, sizeof one);
    if (!rset_are_bools(&one.out, bools, sizeof bools / sizeof *bools) || one.index >= s->n ||
        s->items[one.index].by != r || (unsigned)one.out.how >= HOW_COUNT ||
        (unsigned)one.out.status > EXITS_ERROR || one.out.from < -1 ||
        one.out.from >= (int64_t)s->c->sightings->n || one.out.why[WHY_MAX - 1] != '\0')
        return false;
    s->items[one.index].done = true;
    s->items[one.index].out = one.out;
    return true;
}

/* All processes get to know what each has done. Collective; RSET_PEER. */
static rset_status
share(scavenge *s, rset_err *err)
{
    rset_gathered all = {0};
    sent         *mine;
    rset_status   st;

    if (s->j->comm == NULL)
        return RSET_OK;
    mine = must_alloc((s->n + 1) * sizeof *mine);
    st = rset_gather_all(s->j->comm, RSET_OK, s->j->host,
                         &(rset_share){mine, collect(s, mine) * sizeof *mine, (size_t)1 << 32},
                         &all, err);
    for (int r = 0; st == RSET_OK && r < s->j->size; r++)
        for (size_t at = all.offs[r]; st == RSET_OK && at < all.offs[r + 1]; at += sizeof(sent))
            if (all.offs[r + 1] - at < sizeof(sent) || !take(s, all.bytes + at, r))
                st = rset_fail(err, RSET_PEER, "process %d sent outcomes that are not valid", r);
    rset_gathered_free(&all);
    free(mine);
    return st;
}

/* ---- saying it ---- */

static void
tell(const item *it, const char *how)
{
    const char *name = it->name != NULL ? it->name : "?";
    char        whose[64] = "";

    if (it->m->rank >= 0)
        snprintf(whose, sizeof whose, " (rank %d of %d)", it->m->rank, it->f->desc.ranks);
    if (it->out.how == HOW_NOT)
        print_error("%s%s: %s: %s", name, whose,
                    it->out.status == 2 ? "unrecoverable" : "not brought", it->out.why);
    else if (it->out.status != 0)
        print_error("%s%s: %s", name, whose, it->out.why);
    if (it->out.how != HOW_NOT)
        print_line(stdout, "%s: %s", name, how);
}

/* Of what could not be read nobody knows what it was: newer, perhaps, than what is brought instead. The exit status. */
static int
tell_trouble(const catalog *c)
{
    int status = 0;

    for (size_t i = 0; i < c->sightings->n; i++) {
        const sighting *seen = &c->sightings->at[i];

        if (seen->trouble == NULL || !seen->asked)
            continue;
        print_error("%s: cannot be read (%s); what is brought in its place may be older. Run it "
                    "again when it can be read",
                    seen->path, seen->trouble);
        status = EXITS_REPAIR;
    }
    return status;
}

static void
tell_count(const scavenge *s, const size_t *count)
{
    printf("%zu file%s", s->n, s->n == 1 ? "" : "s");
    for (int h = HOW_COUNT - 1, first = 1; h >= 0; h--)
        if (count[h] > 0) {
            printf("%s %zu %s", first ? ":" : ",", count[h], scavenge_words[h]);
            first = 0;
        }
    putchar('\n');
}

/* Could some process not write the target? */
static bool
is_broken(const scavenge *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (!s->items[i].done || s->items[i].out.broken)
            return true;
    return false;
}

/* The exit status. What was not tried is told in one line: the target could not be written. */
static int
tell_all(const scavenge *s)
{
    size_t count[HOW_COUNT] = {0}, untried = 0;
    int    worst = 0;

    for (size_t i = 0; i < s->n; i++) {
        const item *it = &s->items[i];

        count[it->out.how]++;
        untried += !it->done;
        if (it->done)
            tell(it, scavenge_words[it->out.how]);
        worst = exits_worse(worst, it->out.status);
    }
    if (untried > 0)
        print_error("%zu files more were not tried; run it again", untried);
    tell_count(s, count);
    return is_broken(s) ? EXITS_ERROR : worst;
}

/* ---- without doing it ---- */

/* By what is known without reading content. */
static void
foresee(const scavenge *s, item *it)
{
    const file_state state = it->m->state;

    if (it->as_is)
        it->out.how = HOW_AS_IS;
    else if (state == STATE_COMMITTING)
        it->out.how = HOW_FINISHED;
    else if (state == STATE_CHANGED && sighting_keeps_old(it->m->seen))
        it->out.how = HOW_ROLLED_BACK;
    else if (state == STATE_HEALTHY || state == STATE_RENAMED || state == STATE_BARE ||
             scavenge_next(s, it, NULL) != NULL)
        it->out.how = HOW_COPIED;
    else if (it->set->coverage == RSET_COVERAGE_NOT)
        item_fail(it, EXITS_UNRECOVERABLE, "%s", it->set->why);
    else
        it->out.how = HOW_REBUILT;
}

/* A file that is in the target already. */
static void
foresee_target(const scavenge *s, item *it)
{
    char        *path = scavenge_path(s, it->name);
    const size_t size = it->m->known != NULL ? rset_info_length(it->m->known) : it->m->seen->size;
    rset_err     err = RSET_ERR_NONE;
    struct stat  sb;
    bool         there = false;

    if (!s->o->force && looked_path(path, false, &sb, &there, &err) != RSET_OK)
        item_fail(it, EXITS_ERROR, "%s", err.text);
    else if (there && S_ISREG(sb.st_mode) && (uint64_t)sb.st_size == size)
        it->out.how = HOW_KEPT;
    else if (there)
        item_fail(it, EXITS_ERROR, "another file of that name is in the target already");
    free(path);
}

static int
tell_plan(scavenge *s)
{
    int worst = 0;

    for (size_t i = 0; i < s->n; i++) {
        item *it = &s->items[i];
        char *how;

        if (!it->done) {
            foresee(s, it);
            foresee_target(s, it);
        }
        how = it->out.how == HOW_KEPT ? must_copy("is there")
                                      : must_print("would be %s", scavenge_words[it->out.how]);
        if (s->j->rank == 0)
            tell(it, how);
        worst = exits_worse(worst, it->out.status);
        free(how);
    }
    return worst;
}

/* ---- all of it ---- */

static rset_status
bring_all(scavenge *s, rset_err *err)
{
    rset_status st;

    bring_mine(s, false);
    st = share(s, err);
    if (st == RSET_OK)
        st = scavenge_gather_pieces(s, err);
    if (st != RSET_OK)
        return st;
    bring_mine(s, true);
    return share(s, err);
}

static int
carry_out(scavenge *s)
{
    rset_err    err = RSET_ERR_NONE;
    rset_status st = scavenge_begin(s, &err);
    int         status = EXITS_ERROR;

    if (st == RSET_OK)
        st = bring_all(s, &err);
    if (st == RSET_OK && s->j->rank == 0) {
        status = tell_all(s);
        if (!is_broken(s))
            st = scavenge_write_index(s, &err);
    }
    if (st != RSET_OK && !wait_tries_again(s->j, st, err.text) && s->j->rank == 0)
        print_error("%s", err.text);
    scavenge_end(s);
    return st != RSET_OK ? EXITS_ERROR : s->j->rank == 0 ? status : 0;
}

int
command_scavenge(job *j, const options *o, const picture *p)
{
    const catalog *c = &p->newest;
    scavenge       s = {.j = j, .o = o, .c = c, .stage_dir = -1, .was = -1, .lock = -1};
    const family  *deleted = NULL;
    int            status = catalog_deleted(c, &deleted) > 0 ? EXITS_WELL : EXITS_NOTHING;

    scavenge_plan(&s);
    if (s.n == 0 && deleted == NULL && j->rank == 0)
        print_error("nothing protected was found; if it was on other nodes, run under mpiexec with "
                    "a process on each, or name places with --search");
    else if (s.n > 0)
        status = o->dry_run ? tell_plan(&s) : carry_out(&s);
    if (wait_has_refused(j)) {
        scavenge_free(&s);
        return EXITS_WELL;
    }
    if (j->rank == 0)
        report_deleted(c, "left out; h5redset rebuild --deleted brings it back where it was");
    replaced_tell_not_brought(j, &p->replaced);
    if (j->rank == 0)
        status = exits_worse(status, tell_trouble(c));
    scavenge_free(&s);
    return status;
}
