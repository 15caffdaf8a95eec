/* scavenge_rebuild.c: files that are lost or damaged are rebuilt at the target, from the pieces where these lie. The engine
 * rebuilds a rank's files in the directory where it finds them; here that is an empty one below the target, with a copy of
 * what is left of them. See scavenge.h. */
#include "exits.h"
#include "hosted.h"
#include "scavenge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- one attempt ---- */

/* The data file of `f` gets its name in the target. The mark that says that it is protected goes: here it is not. */
static rset_status
give_name(const scavenge *s, item *it, const files *f, const rset_info *info, rset_err *err)
{
    char       *staged = must_print("%s/%s", rset_dir_path(f->dir), f->names[0]);
    rset_file  *file = NULL;
    bool        same = false;
    rset_status st = rset_is_as_recorded(&f->local, info, &same, err);

    if (st == RSET_OK && !same)
        st = rset_fail(err, RSET_LOST, "%s: what was rebuilt is not what is recorded of it",
                       f->paths[0]);
    if (st == RSET_OK)
        st = rset_file_open_update(f->dir, f->names[0], &file, err);
    if (st == RSET_OK) {
        rset_file_set_mark(file, 0);
        st = rset_file_sync(file, err);
    }
    rset_file_close(file, NULL);
    if (st == RSET_OK)
        st = scavenge_publish(s, staged, it->name, err);
    free(staged);
    return st;
}

static rset_status
rebuild_in(scavenge *s, item *it, const files_place *at, const strings *search, rset_err *err)
{
    const rset_info *info = scavenge_recorded(it);
    files            f = {0};
    rset_outcome     out = {0};
    rset_status      st = files_open(at, &f, err);

    if (st == RSET_OK)
        st =
            alone_rebuild(&f, &(alone_wish){.rank = it->rank, .undelete = true}, search, &out, err);
    if (st == RSET_OK)
        st = give_name(s, it, &f, info, err);
    if (st == RSET_OK)
        it->out = (outcome){.how = HOW_REBUILT,
                            .from = -1,
                            .verified = info->files[0].has_sums,
                            .size = info->files[0].attrs.size,
                            .crc = info->files[0].sums.whole};
    files_close(&f);
    return st;
}

/* With what is left of its own files, or without: what a change has left can be in the way. */
static rset_status
attempt(scavenge *s, item *it, bool own, const strings *search, rset_err *err)
{
    char *dir =
        must_print("%s/%s_%d.%d", s->stage, own ? "own" : "new", it->rank, (int)(it - s->items));
    files_place at = {.dir = dir,
                      .name = rset_path_base(recorded_path(it->m->known)),
                      .path = recorded_path(it->m->known),
                      .create = true};
    rset_status st = RSET_OK;

    st = scavenge_make(dir, it->owner, err);
    if (own && st == RSET_OK) {
        at.name = sighting_old_name(it->seen);
        at.prefix = it->seen->prefix;
        st = scavenge_lay_out(it->seen, NULL, dir, err);
    }
    if (st == RSET_OK)
        st = rebuild_in(s, it, &at, search, err);
    scavenge_remove(dir);
    free(dir);
    return st;
}

void
scavenge_rebuild(scavenge *s, item *it, const strings *search)
{
    rset_err    err = RSET_ERR_NONE;
    rset_status st = RSET_LOST;
    const bool  own = it->seen != NULL && it->seen->by == s->j->rank && it->m != NULL &&
                     it->m->state != STATE_OUTDATED;

    it->done = true;
    if (scavenge_recorded(it) == NULL) {
        outcome_fail(&it->out, EXITS_UNRECOVERABLE,
                     "cannot be read, and nothing records what it should be");
        return;
    }
    if (own)
        st = attempt(s, it, true, search, &err);
    if (st != RSET_OK) {
        err = RSET_ERR_NONE;
        st = attempt(s, it, false, search, &err);
    }
    if (st != RSET_OK)
        outcome_fail(&it->out, exits_of(st == RSET_ABSENT ? RSET_LOST : st), err.text);
}
