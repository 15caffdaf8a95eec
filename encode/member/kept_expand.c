/* kept_expand.c: an older generation that only leads back from the next newer one is made whole. See kept.h.
 *
 * Redundancy first, then data, then what led back goes. All is made under temporary names, and compared with what is
 * recorded of it, which what leads back has as well. What is the newest may be changing meanwhile: its bytes are read first,
 * and what its undo journal has is laid over them after that, since whoever changes it fills the journal first. At the end it has to be
 * of the same generation still; else all of it is done once more. */
#include "delta.h"
#include "kept_internal.h"
#include "names/names.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TRIES = 3, POLL_MS = 10, WAIT_MS = 60 * 1000 };

/* What it rests on. */
typedef struct base {
    rset_kept_names names; /* of an older generation; the newest has those of `local` */
    const char     *data[1];
    rset_local      local;
    rset_evidence   ev;
    bool            is_newest; /* and may be changing now */
} base;

/* One that is made whole. */
typedef struct expanding {
    const rset_local *of; /* the file that it is a generation of */
    rset_kept_names   to;
    const char       *data[1];
    rset_local        local; /* the file that it is going to be */
    rset_evidence     ev;
    rset_file        *back; /* what leads back to it; locked */
    rset_undo         undo;
    base             *base;
    char             *fix;  /* its redundancy file, complete under this name; NULL: that is there */
    char             *temp; /* its data file; NULL: not made */
    bool              damaged; /* the data is not what is recorded */
    bool              same;    /* the base was what it is all the time, */
    bool              still;   /* and nobody has changed it meanwhile */
    rset_err         *err;
} expanding;

/* ---- what there is ---- */

static rset_status
base_open(const rset_local *of, uint64_t generation, base *b, rset_err *err)
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
base_close(base *b)
{
    rset_kept_names_free(&b->names);
    rset_evidence_free(&b->ev);
}

static void
expanding_free(expanding *x)
{
    rset_file_close(x->back, NULL);
    rset_undo_free(&x->undo);
    rset_evidence_free(&x->ev);
    rset_kept_names_free(&x->to);
    free(x->fix);
    free(x->temp);
}

/* What does the same needs as long as copying the file takes. */
static rset_status
lock(const expanding *x)
{
    const struct timespec moment = {.tv_nsec = POLL_MS * 1000000L};

    for (int waited = 0; waited < WAIT_MS; waited += POLL_MS) {
        if (rset_file_lock(x->back, true))
            return RSET_OK;
        nanosleep(&moment, NULL);
    }
    return rset_fail(x->err, RSET_IO,
                     "%s: another process has been making this older generation whole for %d "
                     "seconds; try again when it has ended",
                     rset_file_path(x->back), WAIT_MS / 1000);
}

/* *there_out: false where there is nothing more to be done, or nothing that says what it was. */
static rset_status
read_what_leads_back(expanding *x, uint64_t generation, bool *there_out)
{
    rset_err    own = RSET_ERR_NONE;
    rset_status st = rset_file_open_update(x->of->dir, x->to.back, &x->back, &own);

    *there_out = false;
    if (st == RSET_ABSENT || st == RSET_DAMAGED)
        return RSET_OK;
    if (st != RSET_OK)
        return rset_fail(x->err, st, "%s", own.text);
    st = lock(x);
    if (st == RSET_OK)
        st = rset_undo_read(x->back, &x->undo, x->err);
    *there_out = st == RSET_OK && rset_dir_has_file(x->of->dir, x->to.back) &&
                 rset_undo_leads_to(&x->undo, generation, x->undo.head.size);
    return st == RSET_DAMAGED ? RSET_OK : st;
}

/* Without what is recorded of it nobody could tell whether it is right. */
static bool
is_recorded(const expanding *x)
{
    const rset_info *info = &x->ev.header.infos[0];

    return x->ev.has_header && info->desc.generation == x->undo.head.generation &&
           info->nfiles == 1 && info->files[0].has_sums &&
           info->files[0].attrs.size == x->undo.head.size;
}

/* ---- its redundancy ---- */

/* Is the redundancy file of the base the one that what leads back was made of? */
static bool
rests_on_redundancy(const expanding *x, const rset_layered *below)
{
    char      *mine = rset_bare_name(x->ev.over_name), *its = rset_bare_name(x->base->ev.name);
    const bool is =
        mine != NULL && its != NULL &&
        strcmp(mine + strlen(x->local.prefix), its + strlen(x->base->local.prefix)) == 0 &&
        rset_layered_size(below) == x->ev.over.size;

    free(mine);
    free(its);
    return is;
}

static rset_status
write_redundancy(const expanding *x, const rset_layered *below)
{
    const rset_kept_source source = {.file = below, .size = x->ev.over.size};
    rset_file             *redo = NULL, *to = NULL;
    rset_status            st = rset_file_open(x->local.dir, x->ev.over_name, &redo, x->err);

    if (st == RSET_OK)
        st = rset_file_create(x->local.dir, x->fix, &to, x->err);
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
static rset_status
make_redundancy(expanding *x)
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
name_of_base(const base *b)
{
    const uint64_t generation = rset_evidence_generation(&b->ev);

    if (rset_evidence_has_shadow(&b->ev, generation))
        return rset_shadow_name(b->local.prefix, generation);
    return b->ev.undo.aside ? rset_aside_name(b->local.prefix, generation)
                            : strdup(b->local.names[0]);
}

/* *there_out: false where that is lost. */
static rset_status
copy_base(const expanding *x, rset_file *to, bool *there_out)
{
    char        *name = name_of_base(x->base);
    rset_layered from = {0};
    rset_err     own = RSET_ERR_NONE;
    uint64_t     size;
    rset_status  st = name != NULL ? rset_layered_open(x->of->dir, name, NULL, NULL, &from, &own)
                                   : rset_kept_no_memory(x->of, &own);

    free(name);
    *there_out = st == RSET_OK;
    if (st != RSET_OK)
        return st == RSET_ABSENT || st == RSET_DAMAGED ? RSET_OK
                                                       : rset_fail(x->err, st, "%s", own.text);
    size = rset_layered_size(&from);
    size = size < x->undo.head.size ? size : x->undo.head.size;
    st = rset_kept_copy(&(rset_kept_source){.file = &from, .size = size, .may_end = true}, to,
                        x->err);
    rset_layered_close(&from);
    return st;
}

static rset_status
lay_entries(const expanding *x, const rset_undo *undo, rset_file *to)
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
    return st == RSET_OK || st == RSET_ABSENT || st == RSET_DAMAGED
               ? RSET_OK
               : rset_fail(x->err, st, "%s", own.text);
}

/* What the newest was when it was protected, over what it is now. */
static rset_status
lay_journal(const expanding *x, rset_file *to)
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
write_data(const expanding *x, rset_file *to, bool *there_out)
{
    rset_status st = copy_base(x, to, there_out);

    if (st == RSET_OK && x->base->is_newest)
        st = lay_journal(x, to);
    if (st == RSET_OK)
        st = rset_overlay_copy(&x->undo.kept, x->back, to, x->err);
    return st == RSET_OK ? rset_file_resize(to, x->undo.head.size, x->err) : st;
}

static rset_status
verify_data(expanding *x)
{
    const char *const name[] = {x->temp};
    const rset_local  made = {
         .dir = x->local.dir, .prefix = x->local.prefix, .nfiles = 1, .names = name, .paths = name};
    rset_ranges bad = {0};
    rset_status st =
        rset_verify_data(&made, &x->ev.header.infos[0], true, &bad, &x->damaged, x->err);

    rset_ranges_free(&bad);
    return st;
}

/* Like the file that it was. */
static rset_status
finish_data(const expanding *x, rset_file *to)
{
    const rset_file_attrs attrs = rset_recorded_attrs(&x->ev.header.infos[0].files[0].attrs);
    rset_status           st = rset_file_set_attrs(to, &attrs, x->err);

    rset_file_set_mark(to, x->undo.head.generation);
    return st == RSET_OK ? rset_file_sync(to, x->err) : st;
}

static rset_status
make_data(expanding *x)
{
    const rset_info *info = &x->ev.header.infos[0];
    rset_logical     to;
    bool             there = false;
    rset_status      st = rset_logical_create(&x->local, info, &to, x->err);

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

/* ---- giving names ---- */

/* Is the base what it was when this began? */
static rset_status
look_again(expanding *x)
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
discard(const expanding *x)
{
    if (x->fix != NULL)
        (void)rset_dir_unlink(x->local.dir, x->fix, NULL);
    if (x->temp != NULL)
        (void)rset_dir_unlink(x->local.dir, x->temp, NULL);
}

/* From now on it protects the data that is going to be there. */
static rset_status
publish_redundancy(expanding *x)
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
publish_data(expanding *x)
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
    return st == RSET_OK ? rset_dir_unlink(x->of->dir, x->to.back, x->err) : st;
}

/* *again_out: the newest has become another one meanwhile, or was perhaps just rolled back. */
static rset_status
publish(expanding *x, bool last, bool *again_out)
{
    rset_status st = look_again(x);

    *again_out = st == RSET_OK && !last && (!x->same || (x->damaged && !x->still));
    if (st != RSET_OK || *again_out || !x->same) {
        discard(x);
        return st;
    }
    st = publish_redundancy(x);
    return st == RSET_OK ? publish_data(x) : st;
}

/* ---- the whole ---- */

static rset_status
make(expanding *x, bool last, bool *again_out)
{
    rset_status st = make_redundancy(x);

    if (st == RSET_OK)
        st = make_data(x);
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
    base        b = {0};
    expanding   x = {.of = of, .base = &b, .err = err};
    bool        there = false;
    rset_status st = rset_kept_names_of(of, generation, &x.to, err);

    x.data[0] = x.to.data;
    x.local = (rset_local){
        .dir = of->dir, .prefix = x.to.prefix, .nfiles = 1, .names = x.data, .paths = x.data};
    if (st == RSET_OK)
        st = read_what_leads_back(&x, generation, &there);
    if (st == RSET_OK && there)
        st = rset_survey_local(&x.local, &x.ev, err);
    if (st == RSET_OK && there)
        st = base_open(of, next, &b, err);
    if (st == RSET_OK && there && rset_dir_has_file(of->dir, x.to.data))
        st = rset_dir_unlink(of->dir, x.to.back, err); /* it was made whole, and that was all */
    else if (st == RSET_OK && there && is_recorded(&x))
        st = make(&x, last, again_out);
    base_close(&b);
    expanding_free(&x);
    return st;
}

/* All that it rests on first; `list`: all older generations, newest first. */
static rset_status
expand_down_to(const rset_local *of, const uint64_t *list, size_t at, bool last, bool *again_out,
               rset_err *err)
{
    size_t      from = at;
    rset_status st = RSET_OK;

    while (from > 0 && rset_kept_is_back(of, list[from - 1]))
        from--;
    for (size_t i = from; st == RSET_OK && i <= at && !*again_out; i++)
        if (rset_kept_is_back(of, list[i]))
            st = expand(of, list[i], i > 0 ? list[i - 1] : 0, last, again_out, err);
    return st;
}

static rset_status
expand_once(const rset_local *of, uint64_t generation, bool last, bool *again_out, rset_err *err)
{
    rset_evidence ev = {0};
    uint64_t     *list = NULL;
    size_t        n = 0, newer = 0, at;
    rset_status   st = rset_survey_local(of, &ev, err);

    *again_out = false;
    if (st == RSET_OK)
        st = rset_kept_list(of, &list, &n, err);
    while (newer < n && ev.has_header &&
           !rset_generation_newer(rset_evidence_generation(&ev), list[newer]))
        newer++; /* left by a commit that did not come to be */
    for (at = newer; at < n && list[at] != generation;)
        at++;
    if (st == RSET_OK && at < n)
        st = expand_down_to(of, list + newer, at - newer, last, again_out, err);
    free(list);
    rset_evidence_free(&ev);
    return st;
}

rset_status
rset_kept_expand(const rset_local *local, uint64_t generation, rset_err *err)
{
    bool        again = rset_kept_is_back(local, generation);
    rset_status st = RSET_OK;

    for (int i = 1; st == RSET_OK && again && i <= TRIES; i++)
        st = expand_once(local, generation, i == TRIES, &again, err);
    return st;
}
