/* evidence.c: what was found out about one rank's protection: asked, finished, freed. See member.h; survey.c finds it out. */
#include "delta.h"
#include "member.h"
#include "names/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool
rset_generation_newer(uint64_t a, uint64_t b)
{
    return a > b; /* commits first, which are its upper bits */
}

uint64_t
rset_generation_next(uint64_t last, uint64_t nonce)
{
    nonce &= (UINT64_C(1) << RSET_GENERATION_RANDOM_BITS) - 1;
    return (rset_generation_commits(last) + 1) << RSET_GENERATION_RANDOM_BITS | nonce | 1;
}

enum { RANDOM_BITS = 22 }; /* of a file of one rank */

uint64_t
rset_generation_moment(uint64_t generation)
{
    return generation >> RANDOM_BITS;
}

uint64_t
rset_generation_at(uint64_t last, uint64_t ms, uint64_t nonce)
{
    const uint64_t next = rset_generation_moment(last) + 1;

    nonce &= (UINT64_C(1) << RANDOM_BITS) - 1;
    return (ms > next ? ms : next) << RANDOM_BITS | nonce | 1;
}

uint64_t
rset_evidence_generation(const rset_evidence *ev)
{
    return ev->has_header ? ev->header.infos[0].desc.generation : 0;
}

int
rset_evidence_ranks(const rset_evidence *ev)
{
    int ranks = ev->has_header ? ev->header.infos[0].desc.ranks : 0;

    if (ev->next_name != NULL && ev->next_ranks > ranks)
        ranks = ev->next_ranks;
    if (ev->has_desc && ev->desc.ranks > ranks)
        ranks = ev->desc.ranks;
    return ranks;
}

uint64_t
rset_evidence_newest(const rset_evidence *ev)
{
    uint64_t newest = ev->mark;

    if (rset_generation_newer(rset_evidence_generation(ev), newest))
        newest = rset_evidence_generation(ev);
    if (ev->has_desc && rset_generation_newer(ev->desc.generation, newest))
        newest = ev->desc.generation;
    return rset_generation_newer(ev->next, newest) ? ev->next : newest;
}

rset_status
rset_evidence_is_current(const rset_local *local, const rset_evidence *ev, bool *is_out,
                         rset_err *err)
{
    rset_identity now = {0};
    rset_status   st = RSET_OK;

    if (local->dir != NULL && local->nfiles > 0)
        st = rset_dir_identity(local->dir, local->names[0], &now, err);
    *is_out = rset_identity_same(&now, &ev->data) || (now.inode == 0 && ev->data.inode == 0);
    return st;
}

bool
rset_evidence_in_doubt(const rset_evidence *ev)
{
    return ev->next_name != NULL && rset_generation_newer(ev->next, rset_evidence_generation(ev));
}

bool
rset_evidence_committing(const rset_evidence *ev)
{
    return (ev->over_name != NULL && !ev->over_gone) || rset_undo_is_next(&ev->undo) ||
           rset_evidence_has_shadow(ev, rset_evidence_generation(ev));
}

bool
rset_evidence_asks(const rset_evidence *ev)
{
    return ev->any || ((ev->undo.there || ev->undo.rotten) && !ev->undo.busy) || ev->unfinished;
}

bool
rset_evidence_has_shadow(const rset_evidence *ev, uint64_t generation)
{
    for (size_t i = 0; generation != 0 && i < ev->nshadows; i++)
        if (ev->shadows[i] == generation)
            return true;
    return false;
}

void
rset_damage_free(rset_damage *damage)
{
    rset_ranges_free(&damage->bad);
    *damage = (rset_damage){0};
}

void
rset_damage_take(rset_damage *from, rset_ranges *bad, int *unread)
{
    rset_ranges_free(bad);
    *bad = from->bad;
    rset_note_unread(unread, from->unread);
    *from = (rset_damage){0};
}

void
rset_verified_free(rset_verified *verified)
{
    rset_damage_free(&verified->of_data);
    rset_damage_free(&verified->of_payload);
    *verified = (rset_verified){0};
}

rset_status
rset_evidence_shadow_name(const rset_evidence *ev, const char *prefix, uint64_t generation,
                          char **out, rset_err *err)
{
    *out = NULL;
    if (!rset_evidence_has_shadow(ev, generation))
        return RSET_OK;
    *out = rset_name_of(RSET_NAME_SHADOW, prefix, generation);
    return *out != NULL ? RSET_OK : rset_fail(err, RSET_NOMEM, "%s: no memory for a name", prefix);
}

bool
rset_evidence_names_differ(const rset_evidence *ev)
{
    const rset_header *h = &ev->header;

    for (int i = 1; ev->has_header && i < h->ninfos; i++)
        if (h->infos[i].nfiles > 0 && h->infos[0].nfiles > 0 &&
            strcmp(rset_path_base(h->infos[i].files[0].path),
                   rset_path_base(h->infos[0].files[0].path)) != 0)
            return true;
    return false;
}

void
rset_evidence_free(rset_evidence *ev)
{
    rset_header_free(&ev->header);
    rset_undo_free(&ev->undo);
    rset_overlay_free(&ev->over);
    free(ev->shadows);
    free(ev->kept);
    free(ev->newer);
    free(ev->lost);
    free(ev->changed);
    free(ev->name);
    free(ev->over_name);
    free(ev->next_name);
    free(ev->next_together);
    *ev = (rset_evidence){0};
}

bool
rset_evidence_described(const rset_evidence *ev)
{
    const rset_desc *a = &ev->desc, *b;

    if (ev->over_name != NULL) /* it was written with that, and gets its name with it */
        return true;
    if (!ev->has_header || !ev->has_desc)
        return false;
    b = &ev->header.infos[0].desc;
    return a->scheme == b->scheme && a->parity == b->parity && a->set == b->set &&
           a->sets == b->sets && a->member == b->member && a->members == b->members &&
           a->rank == b->rank && a->ranks == b->ranks && a->generation == b->generation;
}

/* ---- publishing, removing and marking ---- */

rset_status
rset_evidence_publish(rset_dir *dir, const rset_evidence *ev, rset_err *err)
{
    char       *bare = rset_bare_name(ev->next_name);
    rset_status st;

    if (bare == NULL)
        return rset_fail(err, RSET_NOMEM, "%s: no memory to publish it", ev->next_name);
    st = ev->next_updates ? rset_delta_decide(dir, bare, err)
                          : rset_dir_rename(dir, ev->next_name, bare, err);
    free(bare);
    return st;
}

rset_status
rset_evidence_finish(rset_dir *dir, rset_evidence *ev, rset_err *err)
{
    bool        done = false;
    char       *name;
    rset_status st;

    if (ev->over_name == NULL)
        return RSET_OK;
    name = rset_bare_name(ev->over_name);
    if (name == NULL)
        return rset_fail(err, RSET_NOMEM, "%s: no memory", ev->over_name);
    st = rset_delta_finish(dir, name, &ev->over, false, &done, err);
    if (!done) {
        free(name);
        return st;
    }
    free(ev->name);
    free(ev->over_name);
    rset_overlay_free(&ev->over);
    ev->name = name;
    ev->over_name = NULL;
    return RSET_OK;
}

rset_status
rset_set_void(rset_dir *dir, rset_evidence *ev, bool is_void, rset_err *err)
{
    char       *bare, *name;
    rset_status st = rset_evidence_finish(dir, ev, err);

    if (st == RSET_OK && ev->over_name != NULL) /* all that is left of a redundancy file */
        return rset_dir_unlink(dir, ev->over_name, err);
    if (st != RSET_OK || !ev->has_header || ev->is_void == is_void)
        return st;
    bare = rset_bare_name(ev->name);
    name = bare != NULL ? rset_join_names(bare, is_void ? RSET_SUFFIX_VOID : "") : NULL;
    free(bare);
    if (name == NULL)
        return rset_fail(err, RSET_NOMEM, "%s/%s: no memory", rset_dir_path(dir), ev->name);
    st = rset_dir_rename(dir, ev->name, name, err);
    if (st == RSET_OK)
        st = rset_dir_sync(dir, err);
    if (st != RSET_OK) {
        free(name);
        return st;
    }
    free(ev->name);
    ev->name = name;
    ev->is_void = is_void;
    return RSET_OK;
}

/* The bits `from` of the redundancy file's mark become the bits `to`. */
static void
change_mark(const rset_local *local, const rset_evidence *ev, uint64_t from, uint64_t to)
{
    rset_err   ignored = RSET_ERR_NONE;
    rset_file *file = NULL;

    if (rset_file_open(local->dir, ev->name, &file, &ignored) == RSET_OK)
        rset_file_set_mark(file, (rset_file_get_mark(file) & ~from) | to);
    rset_file_close(file, NULL);
}

void
rset_distrust(const rset_local *local, const rset_evidence *ev)
{
    change_mark(local, ev, 0, RSET_MARK_DISTRUSTED);
}

/* A commit of the file that an older generation is kept of counts without a look at each. */
static void
note_refused(const rset_local *local, bool refused)
{
    const uint64_t generation = rset_name_kept(local->names[0]);
    char          *main = NULL, *prefix = NULL;

    if (generation != 0 && !rset_name_is_put_aside(local->names[0]) &&
        rset_name_main(local->names[0], &main, &prefix, NULL) == RSET_OK)
        rset_names_note_refused(local->dir, prefix, generation, refused);
    free(main);
    free(prefix);
}

void
rset_mark_refused(const rset_local *local, const rset_evidence *ev, bool refused)
{
    if (!ev->has_header || ev->refused == refused)
        return;
    change_mark(local, ev, RSET_MARK_REFUSED, refused ? RSET_MARK_REFUSED : 0);
    if (local->nfiles > 0)
        note_refused(local, refused);
}
