/* kept_content.c: what an older generation was that only leads back from the next newer one: its redundancy and its data, computed
 * under temporary names. See kept_expand_internal.h.
 *
 * What is the newest may be changing meanwhile: its bytes are read first, and what its undo journal has is laid over them after that,
 * since whoever changes it fills the journal first. */
#include "kept_expand_internal.h"
#include "member/delta.h"
#include "names/names.h"

#include <stdlib.h>
#include <string.h>

/* ---- its redundancy ---- */

/* Is the redundancy file of the base the one that what leads back was made of? */
static bool
rests_on_redundancy(const rset_kept_expanding *x, const rset_layered *below)
{
    char      *mine = rset_bare_name(x->ev.over_name), *its = rset_bare_name(x->base->ev.name);
    uint64_t   size = 0;
    const bool is =
        mine != NULL && its != NULL &&
        strcmp(mine + strlen(x->local.prefix), its + strlen(x->base->local.prefix)) == 0 &&
        rset_layered_size(below, &size, NULL) == RSET_OK && size == x->ev.over.size;

    free(mine);
    free(its);
    return is;
}

static rset_status
write_redundancy(const rset_kept_expanding *x, const rset_layered *below)
{
    const rset_kept_source source = {.file = below, .size = x->ev.over.size};
    rset_access            access = RSET_ACCESS_OWNER, of_base = RSET_ACCESS_OWNER;
    rset_file             *redo = NULL, *to = NULL;
    rset_status            st = rset_file_open(x->local.dir, x->ev.over_name, &redo, x->err);

    (void)rset_file_access(x->local.dir, x->ev.over_name, &access);
    (void)rset_file_access(x->base->local.dir, x->base->ev.name, &of_base);
    access = rset_access_both(access, of_base);
    if (st == RSET_OK)
        st = rset_file_create(x->local.dir, x->fix, &access, &to, x->err);
    if (st == RSET_OK)
        st = rset_kept_copy(&source, to, x->err);
    if (st == RSET_OK)
        st = rset_overlay_copy(&x->ev.over, redo, to, x->err);
    if (st == RSET_OK)
        st = rset_file_sync(to, x->err);
    rset_file_close(redo, NULL);
    if (rset_file_close(to, x->err) != RSET_OK && st == RSET_OK)
        st = x->err->status;
    return st;
}

/* Where what it rests on is lost, so is this. */
rset_status
rset_kept_make_redundancy(rset_kept_expanding *x)
{
    const rset_evidence *ev = &x->base->ev;
    rset_layered         below = {0};
    rset_err             ignored = RSET_ERR_NONE;
    char                *bare;
    rset_status          st = RSET_OK;

    if (x->ev.over_name == NULL || !x->ev.over_gone)
        return rset_evidence_finish(x->local.dir, &x->ev, x->err);
    if (!ev->has_header || rset_layered_evidence(x->local.dir, ev, &below, &ignored) != RSET_OK)
        return RSET_OK;
    if (rests_on_redundancy(x, &below)) {
        bare = rset_bare_name(x->ev.over_name);
        x->fix = bare != NULL ? rset_join_names(bare, RSET_SUFFIX_FIX) : NULL;
        free(bare);
        st = x->fix != NULL ? write_redundancy(x, &below) : rset_kept_no_memory(x->of, x->err);
    }
    rset_layered_close(&below);
    return st;
}

/* ---- its data ---- */

/* The name under which the content of the base begins. */
static char *
name_of_base(const rset_kept_base *b)
{
    const uint64_t generation = rset_evidence_generation(&b->ev);

    if (rset_evidence_has_shadow(&b->ev, generation))
        return rset_name_of(RSET_NAME_SHADOW, b->local.prefix, generation);
    return b->ev.undo.aside ? rset_name_of(RSET_NAME_DATA, b->local.prefix, generation)
                            : strdup(b->local.names[0]);
}

/* *there_out: false where that is lost. */
static rset_status
copy_base(const rset_kept_expanding *x, rset_file *to, bool *there_out)
{
    char        *name = x->own ? strdup(x->to.data) : name_of_base(x->base);
    rset_layered from = {0};
    rset_err     own = RSET_ERR_NONE;
    uint64_t     size;
    rset_status  st = name != NULL ? rset_layered_open(x->of->dir, name, NULL, NULL, &from, &own)
                                   : rset_kept_no_memory(x->of, &own);

    free(name);
    *there_out = st == RSET_OK;
    if (st != RSET_OK)
        return st == RSET_ABSENT || st == RSET_DAMAGED ? RSET_OK : rset_fail_as(x->err, &own);
    st = rset_layered_size(&from, &size, x->err);
    size = size < x->undo.head.size ? size : x->undo.head.size;
    if (st == RSET_OK)
        st = rset_kept_copy(
            &(rset_kept_source){.file = &from, .size = size, .may_end = true, .may_fail = true}, to,
            x->err);
    rset_layered_close(&from);
    return st;
}

static rset_status
lay_entries(const rset_kept_expanding *x, const rset_undo *undo, rset_file *to)
{
    char       *name = rset_undo_name(x->of->prefix, undo);
    rset_err    own = RSET_ERR_NONE;
    rset_file  *file = NULL;
    rset_status st = name != NULL ? rset_file_open(x->of->dir, name, &file, &own)
                                  : rset_kept_no_memory(x->of, &own);

    free(name);
    if (st == RSET_OK)
        st = rset_overlay_copy(&undo->kept, file, to, &own);
    rset_file_close(file, NULL);
    return st == RSET_OK || st == RSET_ABSENT || st == RSET_DAMAGED ? RSET_OK
                                                                    : rset_fail_as(x->err, &own);
}

/* What the newest was when it was protected, over what it is now. */
static rset_status
lay_journal(const rset_kept_expanding *x, rset_file *to)
{
    rset_evidence now = {0};
    rset_status   st = rset_survey_local(&x->base->local, &now, x->err);

    if (st == RSET_OK && now.undo.there && (now.undo.head.flags & RSET_UNDO_KEPT) != 0 &&
        now.undo.head.generation == rset_evidence_generation(&x->base->ev))
        st = lay_entries(x, &now.undo, to);
    rset_evidence_free(&now);
    return st;
}

static rset_status
write_data(const rset_kept_expanding *x, rset_file *to, bool *there_out)
{
    rset_status st = copy_base(x, to, there_out);

    if (st == RSET_OK && !x->own && x->base->is_newest)
        st = lay_journal(x, to);
    if (st == RSET_OK)
        st = rset_overlay_copy(&x->undo.kept, x->journal, to, x->err);
    return st == RSET_OK ? rset_file_resize(to, x->undo.head.size, x->err) : st;
}

static rset_status
verify_data(rset_kept_expanding *x)
{
    const char *const name[] = {x->temp};
    const rset_local  made = {
         .dir = x->local.dir, .prefix = x->local.prefix, .nfiles = 1, .names = name, .paths = name};
    rset_damage found = {0};
    rset_status st = rset_verify_data(&made, &x->ev.header.infos[0], true, &found, x->err);

    x->damaged = found.any;
    rset_damage_free(&found);
    return st;
}

/* Like the file that it was. */
static rset_status
finish_data(const rset_kept_expanding *x, rset_file *to)
{
    const rset_file_attrs attrs = rset_recorded_attrs(&x->ev.header.infos[0].files[0].attrs);
    rset_status           st = rset_file_set_attrs(to, &attrs, x->err);

    rset_file_set_mark(to, x->undo.head.generation);
    return st == RSET_OK ? rset_file_sync(to, x->err) : st;
}

rset_status
rset_kept_make_data(rset_kept_expanding *x)
{
    const rset_info  *info = x->ev.header.infos;
    const rset_access newer = rset_local_access(&x->base->local);
    rset_logical      to;
    bool              there = false;
    rset_status       st = rset_logical_create(&x->local, info, &newer, &to, x->err);

    if (st != RSET_OK)
        return st;
    x->temp = rset_logical_temp_name(&x->local, info->desc.rank, 0);
    if (x->temp == NULL)
        st = rset_kept_no_memory(x->of, x->err);
    if (st == RSET_OK)
        st = write_data(x, to.files[0], &there);
    if (st == RSET_OK && there)
        st = verify_data(x);
    if (st == RSET_OK && there)
        st = finish_data(x, to.files[0]);
    if (rset_logical_close(&to, x->err) != RSET_OK && st == RSET_OK)
        st = x->err->status;
    if (!there && x->temp != NULL) {
        (void)rset_dir_unlink(x->local.dir, x->temp, NULL);
        free(x->temp);
        x->temp = NULL;
    }
    return st;
}
