/* kept_expand.c: an older generation that only leads back from the next newer one is made whole. See kept.h.
 *
 * Redundancy first, then data, then what led back goes. All is made under temporary names, and compared with what is
 * recorded of it, which what leads back has as well (kept_content.c). What is the newest may be changing meanwhile: at the end it has to
 * be of the same generation still; else all of it is done once more. */
#include "common/thread.h"
#include "kept_expand_internal.h"
#include "names/names.h"

#include <stdlib.h>

enum { TRIES = 3, POLL_MS = 10, WAIT_MS = 60 * 1000 };

/* ---- what there is ---- */

static rset_status
base_open(const rset_local *of, uint64_t generation, rset_kept_base *b, rset_err *err)
{
    rset_status st = RSET_OK;

    b->is_newest = generation == 0;
    b->local = *of;
    b->local.shadow = NULL;
    if (!b->is_newest) {
        st = rset_kept_names_of(of, generation, &b->names, err);
        b->data[0] = b->names.data;
        b->local = (rset_local){.dir = of->dir,
                                .prefix = b->names.prefix,
                                .nfiles = 1,
                                .names = b->data,
                                .paths = b->data};
    }
    return st == RSET_OK ? rset_survey_local(&b->local, &b->ev, err) : st;
}

static void
base_close(rset_kept_base *b)
{
    rset_kept_names_free(&b->names);
    rset_evidence_free(&b->ev);
}

static void
expanding_free(rset_kept_expanding *x)
{
    rset_file_close(x->journal, NULL);
    rset_undo_free(&x->undo);
    rset_evidence_free(&x->ev);
    rset_kept_names_free(&x->to);
    free(x->fix);
    free(x->temp);
}

/* What does the same needs as long as copying the file takes. The lock of a journal is another one: it is held by the program that
 * wrote this, until it learns that it has been committed. */
static rset_status
lock(const rset_kept_expanding *x, rset_err *err)
{
    for (int waited = 0; waited < WAIT_MS; waited += POLL_MS) {
        if (rset_file_guard(x->journal))
            return RSET_OK;
        rset_thread_nap(POLL_MS);
    }
    return rset_fail(err, RSET_IO,
                     "%s: another process has been making this older generation whole for %d "
                     "seconds; try again when it has ended",
                     rset_file_path(x->journal), WAIT_MS / 1000);
}

/* *there_out: false where there is nothing more to be done, or nothing that says what it was. */
static rset_status
read_what_leads_back(rset_kept_expanding *x, uint64_t generation, bool *there_out)
{
    rset_err    own = RSET_ERR_NONE;
    rset_status st = rset_file_open_update(x->of->dir, x->to.undo, &x->journal, &own);

    *there_out = false;
    if (st == RSET_ABSENT || st == RSET_DAMAGED)
        return RSET_OK;
    if (st == RSET_OK)
        st = lock(x, &own);
    if (st != RSET_OK)
        return rset_fail_as(x->err, &own);
    st = rset_undo_read(x->journal, &x->undo, &own);
    if (st == RSET_IO || st == RSET_NOMEM) {
        own.status = st == RSET_IO ? RSET_DAMAGED : st;
        return rset_fail_as(x->err, &own);
    }
    if (st != RSET_OK || !rset_undo_leads_to(&x->undo, generation, x->undo.head.size))
        return RSET_OK;
    return rset_dir_find_file(x->of->dir, x->to.undo, NULL, there_out, x->err);
}

/* Without what is recorded of it nobody could tell whether it is right. */
static bool
is_recorded(const rset_kept_expanding *x)
{
    const rset_info *info = x->ev.header.infos;

    return x->ev.has_header && info->desc.generation == x->undo.head.generation &&
           info->nfiles == 1 && info->files[0].has_sums &&
           info->files[0].attrs.size == x->undo.head.size;
}

/* A data file that was put aside is whole where nothing is to be laid over it. */
static bool
is_whole(const rset_kept_expanding *x)
{
    struct stat sb;

    return x->own && x->undo.kept.n == 0 && !x->undo.kept.torn &&
           rset_dir_stat(x->of->dir, x->to.data, &sb, NULL) == RSET_OK &&
           (uint64_t)sb.st_size == x->undo.head.size;
}

/* ---- giving names ---- */

/* Is the base what it was when this began? */
static rset_status
look_again(rset_kept_expanding *x)
{
    const rset_evidence *then = &x->base->ev;
    const uint64_t       generation = rset_evidence_generation(then);
    rset_evidence        now = {0};
    rset_status          st = RSET_OK;

    x->same = x->still = true;
    if (!x->base->is_newest)
        return RSET_OK;
    st = rset_survey_local(&x->base->local, &now, x->err);
    x->same =
        rset_evidence_generation(&now) == generation && now.undo.aside == then->undo.aside &&
        rset_evidence_has_shadow(&now, generation) == rset_evidence_has_shadow(then, generation);
    x->still = x->same && !then->undo.there && !now.undo.there;
    rset_evidence_free(&now);
    return st;
}

static void
discard(const rset_kept_expanding *x)
{
    if (x->fix != NULL)
        (void)rset_dir_unlink(x->local.dir, x->fix, NULL);
    if (x->temp != NULL)
        (void)rset_dir_unlink(x->local.dir, x->temp, NULL);
}

/* From now on it protects the data that is going to be there. */
static rset_status
publish_redundancy(rset_kept_expanding *x)
{
    char       *bare;
    rset_status st = RSET_OK;

    if (x->fix == NULL)
        return RSET_OK;
    bare = rset_bare_name(x->fix);
    st = bare != NULL ? rset_dir_rename(x->local.dir, x->fix, bare, x->err)
                      : rset_kept_no_memory(x->of, x->err);
    free(bare);
    if (st == RSET_OK)
        st = rset_dir_sync(x->local.dir, x->err);
    if (st == RSET_OK)
        st = rset_dir_unlink(x->local.dir, x->ev.over_name, x->err);
    return st == RSET_OK ? rset_survey_local(&x->local, &x->ev, x->err) : st;
}

/* What is not as recorded is there only together with the void mark: so nobody takes it for right. */
static rset_status
publish_data(rset_kept_expanding *x)
{
    rset_status st = RSET_OK;

    if (x->temp == NULL || (x->damaged && x->ev.over_name != NULL)) {
        discard(x);
        return RSET_OK;
    }
    if (x->damaged)
        st = rset_set_void(x->local.dir, &x->ev, true, x->err);
    if (st == RSET_OK)
        st = rset_dir_rename(x->local.dir, x->temp, x->to.data, x->err);
    if (st == RSET_OK)
        st = rset_dir_sync(x->local.dir, x->err);
    return st == RSET_OK ? rset_dir_unlink(x->of->dir, x->to.undo, x->err) : st;
}

/* *again_out: the newest has become another one meanwhile, or was perhaps just rolled back. */
static rset_status
publish(rset_kept_expanding *x, bool last, bool *again_out)
{
    rset_status st = look_again(x);

    *again_out = st == RSET_OK && !last && (!x->same || (x->damaged && !x->still));
    if (st == RSET_OK && last && !x->same)
        st = rset_fail(x->err, RSET_BUSY,
                       "%s: has been committed again each time that an older generation of it was "
                       "made whole; try again when that is not so",
                       rset_local_name(x->of));
    if (st != RSET_OK || *again_out) {
        discard(x);
        return st;
    }
    st = publish_redundancy(x);
    return st == RSET_OK ? publish_data(x) : st;
}

/* ---- the whole ---- */

static rset_status
make(rset_kept_expanding *x, bool last, bool *again_out)
{
    rset_status st = rset_kept_make_redundancy(x);

    if (st == RSET_OK)
        st = rset_kept_make_data(x);
    if (st != RSET_OK) {
        discard(x);
        return st;
    }
    return publish(x, last, again_out);
}

/* `next`: the generation that it rests on; 0: the newest. */
static rset_status
expand(const rset_local *of, uint64_t generation, uint64_t next, bool last, bool *again_out,
       rset_err *err)
{
    rset_kept_base      b = {0};
    rset_kept_expanding x = {.of = of, .base = &b, .err = err};
    bool                there = false;
    rset_status         st = rset_kept_names_of(of, generation, &x.to, err);

    x.data[0] = x.to.data;
    x.local = (rset_local){
        .dir = of->dir, .prefix = x.to.prefix, .nfiles = 1, .names = x.data, .paths = x.data};
    if (st == RSET_OK)
        st = read_what_leads_back(&x, generation, &there);
    if (st == RSET_OK && there)
        st = rset_survey_local(&x.local, &x.ev, err);
    if (st == RSET_OK && there)
        st = base_open(of, next, &b, err);
    if (st == RSET_OK && there)
        st = rset_dir_find_file(of->dir, x.to.data, NULL, &x.own, err);
    if (st == RSET_OK && there && is_whole(&x))
        st = rset_dir_unlink(of->dir, x.to.undo, err);
    else if (st == RSET_OK && there && is_recorded(&x))
        st = make(&x, last, again_out);
    base_close(&b);
    expanding_free(&x);
    return st;
}

/* All that it rests on first; `list`: older generations that are there, newest first. */
static rset_status
expand_down_to(const rset_local *of, const uint64_t *list, size_t at, bool last, bool *again_out,
               rset_err *err)
{
    size_t         from = at;
    rset_kept_form form = RSET_KEPT_BACK;
    rset_status    st = RSET_OK;

    while (st == RSET_OK && from > 0 && form == RSET_KEPT_BACK) {
        st = rset_kept_find(of, list[from - 1], &form, err);
        from -= form == RSET_KEPT_BACK;
    }
    for (size_t i = from; st == RSET_OK && i <= at && !*again_out; i++) {
        st = rset_kept_find(of, list[i], &form, err);
        if (st == RSET_OK && form == RSET_KEPT_BACK)
            st = expand(of, list[i], i > 0 ? list[i - 1] : 0, last, again_out, err);
    }
    return st;
}

static rset_status
expand_once(const rset_local *of, uint64_t generation, bool last, bool *again_out, rset_err *err)
{
    rset_evidence ev = {0};
    size_t        n = 0;
    rset_status   st = rset_survey_local(of, &ev, err);

    *again_out = false;
    /* A generation that is as new as the newest was left by a commit that did not come to be: it is passed over. */
    for (size_t i = 0; i < ev.nkept && !rset_generation_newer(generation, ev.kept[i]); i++)
        if ((!ev.has_header || rset_generation_newer(rset_evidence_generation(&ev), ev.kept[i])) &&
            rset_kept_is_there(of, ev.kept[i]))
            ev.kept[n++] = ev.kept[i];
    if (st == RSET_OK && n > 0 && ev.kept[n - 1] == generation)
        st = expand_down_to(of, ev.kept, n - 1, last, again_out, err);
    rset_evidence_free(&ev);
    return st;
}

rset_status
rset_kept_expand(const rset_local *local, uint64_t generation, rset_err *err)
{
    rset_kept_form form;
    rset_status    st = rset_kept_find(local, generation, &form, err);
    bool           again = form == RSET_KEPT_BACK;

    for (int i = 1; st == RSET_OK && again && i <= TRIES; i++)
        st = expand_once(local, generation, i == TRIES, &again, err);
    return st;
}
