/* journal.c: keeping old content before it changes (journal.h). */
#include "journal.h"

#include "beside.h"

#include <stdlib.h>
#include <string.h>

/* What is kept at a time, and the most parts that are counted: 8 MiB of bits. */
enum { GRAIN_MIN = 4096, GRAINS_MAX = 1 << 26, ENTRY_MAX = 1 << 20 };

struct rset_journal {
    rset_dir    *dir;
    rset_file   *file; /* written; locked */
    rset_file   *base; /* the data file, read; NULL: all of the old file was put aside */
    char        *name;
    char        *data; /* name of the data file */
    rset_overlay head; /* its runs are not noted */
    uint64_t     grain;
    uint8_t     *kept; /* one bit per grain of the old content: is in the journal */
    uint8_t     *buf;
};

/* ---- which parts are kept ---- */

static bool
is_kept(const rset_journal *j, uint64_t grain)
{
    return (j->kept[grain / 8] & (1u << (grain % 8))) != 0;
}

static void
note_kept(rset_journal *j, uint64_t grain)
{
    j->kept[grain / 8] |= (uint8_t)(1u << (grain % 8));
}

static rset_status
make_bits(rset_journal *j, const rset_old *old, rset_err *err)
{
    for (j->grain = GRAIN_MIN; j->head.size / j->grain >= GRAINS_MAX; j->grain *= 2)
        continue;
    j->kept = calloc((size_t)(j->head.size / j->grain / 8) + 1, 1);
    j->buf = malloc(ENTRY_MAX + RSET_OVERLAY_ENTRY);
    if (j->kept == NULL || j->buf == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory to keep what %s was", j->name);
    for (size_t i = 0; i < old->kept.n;
         i++) /* entries begin and end with grains, or with the file */
        for (uint64_t at = old->kept.runs[i].off;
             at < old->kept.runs[i].off + old->kept.runs[i].len; at += j->grain)
            note_kept(j, at / j->grain);
    return RSET_OK;
}

/* ---- beginning ---- */

static rset_status
lock(rset_journal *j, rset_err *err)
{
    if (rset_file_lock(j->file, true))
        return RSET_OK;
    return rset_fail(err, RSET_IO,
                     "%s: the file that this belongs to is being changed by another process; "
                     "wait until it has closed it",
                     rset_file_path(j->file));
}

/* The last program to change the file may have closed it, or died while it wrote the last entry: new
 * entries take the place of what follows the last good one. */
static rset_status
continue_journal(rset_journal *j, const rset_old *old, rset_err *err)
{
    rset_status st = rset_file_open_update(j->dir, j->name, &j->file, err);

    if (st == RSET_OK)
        st = lock(j, err);
    if (st == RSET_OK)
        st = rset_file_resize(j->file, old->kept.end, err);
    j->head.end = old->kept.end;
    return st;
}

static rset_status
new_journal(rset_journal *j, const char *aside, rset_err *err)
{
    rset_status st = rset_dir_unlink(j->dir, aside, err); /* what another journal led back from */

    if (st == RSET_OK)
        st = rset_file_create(j->dir, j->name, &j->file, err);
    if (st == RSET_OK)
        st = lock(j, err);
    return st == RSET_OK ? rset_overlay_begin(j->file, RSET_JOURNAL_MAGIC, &j->head, err) : st;
}

static void
journal_free(rset_journal *j)
{
    rset_file_close(j->file, NULL);
    rset_file_close(j->base, NULL);
    free(j->name);
    free(j->data);
    free(j->kept);
    free(j->buf);
    free(j);
}

/* Is a file changed that one process alone brought back, or took back? One that is created is nobody's old one. */
static bool
changes_apart(const rset_local *local, const rset_evidence *ev)
{
    const bool brought_back = rset_evidence_cut(ev) && (ev->has_header || ev->old.since != 0);

    return local->beside == NULL && (rset_evidence_apart(ev) || brought_back);
}

/* One that leads back to `size` bytes of a generation, which `old` may have begun already. */
static rset_status
make_journal(const rset_local *local, uint64_t generation, uint64_t size, const rset_old *old,
             rset_journal **out, rset_err *err)
{
    rset_journal *j = calloc(1, sizeof *j);
    char         *aside = rset_beside_name(local->prefix, RSET_NAME_OLD);
    rset_status   st = RSET_OK;

    if (j != NULL) {
        j->dir = local->dir;
        j->head.generation = generation;
        j->head.size = size;
        j->name = rset_beside_name(local->prefix, RSET_NAME_JOURNAL);
        j->data = strdup(local->names[0]);
    }
    if (j == NULL || j->name == NULL || j->data == NULL || aside == NULL)
        st = rset_fail(err, RSET_NOMEM, "no memory to keep what %s was", local->names[0]);
    if (st == RSET_OK)
        st = old->there && old->kept.end > 0 ? continue_journal(j, old, err)
                                             : new_journal(j, aside, err);
    free(aside);
    if (st != RSET_OK && j != NULL)
        journal_free(j);
    else
        *out = j;
    return st;
}

static rset_status
open_journal(const rset_local *local, const rset_evidence *ev, rset_journal **out, rset_err *err)
{
    const rset_info *info = &ev->header.infos[0];
    rset_journal    *j = NULL;
    rset_status      st =
        make_journal(local, info->desc.generation, info->files[0].attrs.size, &ev->old, &j, err);

    if (st != RSET_OK)
        return st;
    if (changes_apart(local, ev))
        j->head.last = RSET_JOURNAL_APART;
    if (!ev->old.replaced)
        st = make_bits(j, &ev->old, err);
    if (st == RSET_OK && !ev->old.replaced && local->beside == NULL)
        st = rset_file_open(j->dir, local->names[0], &j->base, err);
    if (st == RSET_OK)
        st = rset_file_sync(j->file, err);
    if (st != RSET_OK)
        journal_free(j);
    else
        *out = j;
    return st;
}

rset_status
rset_journal_begin_first(const rset_local *local, rset_evidence *ev, rset_journal **out,
                         rset_err *err)
{
    rset_journal *j = NULL;
    rset_err      ignored = RSET_ERR_NONE;
    rset_status   st = make_journal(local, 0, 0, &ev->old, &j, err);

    if (st == RSET_OK && changes_apart(local, ev))
        j->head.last = RSET_JOURNAL_APART;
    if (st == RSET_OK && ev->old.there) /* it goes on, and is not closed any more */
        st = rset_file_sync(j->file, err);
    if (st == RSET_OK)
        st = rset_dir_sync(local->dir, err);
    if (st != RSET_OK && j != NULL)
        journal_free(j);
    /* One that was begun in vain would be taken for that of a dead job. */
    if (st != RSET_OK && !ev->old.there)
        (void)rset_old_forget(local->dir, local->prefix, &ignored);
    if (st != RSET_OK)
        return st;
    *out = j;
    ev->unfinished = true;
    return RSET_OK;
}

rset_status
rset_journal_leave(const rset_local *local, uint64_t generation, uint64_t size, rset_err *err)
{
    const rset_old none = {0};
    rset_journal  *j = NULL;
    rset_status    st = make_journal(local, generation, size, &none, &j, err);

    if (st == RSET_OK)
        st = rset_file_sync(j->file, err);
    if (j != NULL)
        journal_free(j);
    return st;
}

/* Without checksums the old content could not be told from any other (P2); once it changed without being
 * kept there is no way back to it. */
static bool
has_way_back(const rset_local *local, const rset_evidence *ev)
{
    const rset_info *info = &ev->header.infos[0];

    return local->nfiles == 1 && ev->has_header && info->nfiles == 1 && info->files[0].has_sums &&
           (!ev->is_void || ev->old.there);
}

rset_status
rset_journal_begin(const rset_local *local, rset_evidence *ev, bool keep, rset_journal **out,
                   rset_err *err)
{
    rset_journal *j = NULL;
    rset_status   st = RSET_OK;

    *out = NULL;
    /* There is protection, but it could not be read. It can perhaps now, and has to be marked void: else the changed
     * file is taken for damaged. */
    if (rset_evidence_asks(ev) && !ev->has_header && local->nfiles > 0)
        st = rset_survey_again(local->dir, local->prefix, local->names[0], ev, err);
    if (st == RSET_OK && keep && !ev->has_header &&
        (ev->old.there || ev->old.since != 0)) /* it is not complete any more */
        return rset_journal_begin_first(local, ev, out, err);
    if (st != RSET_OK)
        return st;
    if (keep && has_way_back(local, ev))
        st = open_journal(local, ev, &j, err);
    else if (ev->has_header || ev->old.since != 0) /* one begun in vain would say: unchanged */
        st = rset_old_forget(local->dir, local->prefix, err);
    if (st == RSET_OK)
        st = rset_set_void(local->dir, ev, true, err);
    if (st != RSET_OK && j != NULL)
        journal_free(j);
    else
        *out = j;
    return st;
}

/* ---- keeping ---- */

/* Keeps `len` bytes at `off`. */
static rset_status
keep(rset_journal *j, uint64_t off, size_t len, rset_err *err)
{
    size_t      got = 0;
    rset_status st = rset_file_read(j->base, off, j->buf + RSET_OVERLAY_ENTRY, len, &got, err);

    if (st == RSET_OK && got < len)
        st = rset_fail(err, RSET_IO, "%s: is shorter than when it was protected",
                       rset_file_path(j->base));
    if (st != RSET_OK)
        return st;
    return rset_overlay_append(j->file, &j->head, off, j->buf, len, err);
}

rset_status
rset_journal_save(rset_journal *j, uint64_t off, uint64_t len, rset_err *err)
{
    uint64_t    grain, until;
    rset_status st = RSET_OK;

    if (j == NULL || j->base == NULL || len == 0 || off >= j->head.size)
        return RSET_OK;
    until = (len < j->head.size - off ? off + len : j->head.size);
    for (grain = off / j->grain; st == RSET_OK && grain * j->grain < until;) {
        uint64_t from = grain * j->grain, to;

        if (is_kept(j, grain)) {
            grain++;
            continue;
        }
        for (to = from; to < until && to - from + j->grain <= ENTRY_MAX && !is_kept(j, grain);
             grain++)
            to += j->grain;
        to = to < j->head.size ? to : j->head.size;
        st = keep(j, from, (size_t)(to - from), err);
        for (uint64_t g = from / j->grain; st == RSET_OK && g * j->grain < to; g++)
            note_kept(j, g);
    }
    return st;
}

/* ---- ending ---- */

/* A file that counts as closed is not torn by a power failure: it is on disk. */
static rset_status
sync_data(rset_dir *dir, const char *name, rset_err *err)
{
    rset_err    own = RSET_ERR_NONE;
    rset_file  *file = NULL;
    rset_status st = rset_file_open(dir, name, &file, &own);

    if (st == RSET_OK)
        st = rset_file_sync(file, &own);
    rset_file_close(file, NULL);
    if (st == RSET_OK || st == RSET_ABSENT) /* put aside, and the new one is on disk */
        return RSET_OK;
    return rset_fail(err, st, "%s", own.text);
}

rset_status
rset_journal_end(rset_journal *j, rset_journal_fate fate, rset_err *err)
{
    rset_status st = RSET_OK;

    if (j == NULL)
        return RSET_OK;
    if (fate == RSET_JOURNAL_CLOSED && j->head.generation != 0)
        st = sync_data(j->dir, j->data, err);
    if (fate == RSET_JOURNAL_CLOSED && st == RSET_OK)
        st = rset_overlay_complete(j->file, &j->head, err);
    if (fate == RSET_JOURNAL_DROP)
        st = rset_dir_unlink(j->dir, j->name, err);
    if (fate == RSET_JOURNAL_DROP && st == RSET_OK)
        st = rset_dir_sync(j->dir, err); /* nothing more is kept from now on */
    journal_free(j);
    return st;
}

/* The journal that is there, to change how it ends. */
static rset_status
open_again(const rset_local *local, rset_file **out, rset_err *err)
{
    char       *name = rset_beside_name(local->prefix, RSET_NAME_JOURNAL);
    rset_status st = name != NULL ? rset_file_open_update(local->dir, name, out, err)
                                  : rset_fail(err, RSET_NOMEM, "%s: no memory", local->prefix);

    free(name);
    return st;
}

rset_status
rset_journal_unclose(const rset_local *local, rset_old *old, rset_err *err)
{
    rset_file  *file = NULL;
    rset_status st = RSET_OK;

    if (old->there && old->kept.complete)
        st = open_again(local, &file, err);
    if (st == RSET_OK && file != NULL)
        st = rset_file_resize(file, old->kept.end, err);
    if (st == RSET_OK && file != NULL)
        st = rset_file_sync(file, err);
    if (rset_file_close(file, err) != RSET_OK && st == RSET_OK)
        st = err->status;
    old->kept.complete = old->kept.complete && st != RSET_OK;
    return st;
}

rset_status
rset_journal_end_sign(const rset_local *local, const rset_evidence *ev, rset_err *err)
{
    rset_overlay head = {.generation = ev->old.kept.generation, .end = ev->old.kept.end};
    rset_file   *file = NULL;
    rset_status  st = RSET_OK;

    if (ev->begun || ev->old.there)
        st = open_again(local, &file, err);
    if (st == RSET_OK && file != NULL && rset_file_lock(file, true))
        st = ev->begun ? rset_old_forget(local->dir, local->prefix, err)
                       : rset_overlay_complete(file, &head, err);
    if (rset_file_close(file, err) != RSET_OK && st == RSET_OK)
        st = err->status;
    return st;
}

/* The old file is put aside, unless what is there is not the old one either: then the journal leads back
 * from the one that was put aside first. */
static rset_status
put_aside(const rset_local *local, const rset_evidence *ev, rset_err *err)
{
    char       *aside = rset_beside_name(local->prefix, RSET_NAME_OLD);
    rset_status st;

    if (aside == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory to put %s aside", local->names[0]);
    st = ev->old.replaced ? RSET_OK : rset_dir_rename(local->dir, local->names[0], aside, err);
    free(aside);
    return st == RSET_ABSENT ? RSET_OK : st;
}

/* What is to be put aside may be one commit behind, and what it should be wait beside. */
static rset_status
catch_up(const rset_local *local, rset_evidence *ev, rset_err *err)
{
    rset_local  plain = *local;
    const char *at = NULL;
    char       *waiting = rset_beside_name(local->prefix, RSET_NAME_WAITING);
    rset_status st = RSET_OK;
    bool        waits = waiting != NULL && rset_dir_has_file(local->dir, waiting);

    plain.beside = NULL;
    if (waiting == NULL)
        st = rset_fail(err, RSET_NOMEM, "%s: no memory", local->prefix);
    else if (waits || (rset_evidence_asks(ev) && !ev->has_header))
        st = rset_survey_again(local->dir, local->prefix, local->names[0], ev, err);
    if (st == RSET_OK && waits)
        st = rset_beside_find(&plain, ev, &at, err);
    if (st == RSET_OK && at != NULL && strcmp(at, RSET_NAME_WAITING) == 0)
        st = rset_beside_publish(&plain, at, err);
    free(waiting);
    return st;
}

rset_status
rset_put_in_place(const rset_local *local, rset_evidence *ev, rset_journal_fate fate, rset_err *err)
{
    rset_journal *j = NULL;
    rset_err      ignored = RSET_ERR_NONE;
    struct stat   sb;
    rset_status   st = rset_dir_stat(local->dir, local->beside, &sb, &ignored);

    if (st == RSET_ABSENT) /* this rank had published already when another failed */
        return RSET_OK;
    ignored = RSET_ERR_NONE;
    st = catch_up(local, ev, &ignored);
    if (st == RSET_OK && !ev->has_header && ev->next_name != NULL)
        return rset_fail(
            err, RSET_IO,
            "%s: what has this name may be protected, in a commit that other ranks have "
            "finished; the new file stays beside it",
            local->names[0]);
    if (st == RSET_OK)
        st = rset_journal_begin(local, ev, true, &j, &ignored);
    if ((st != RSET_OK || j == NULL) &&
        fate == RSET_JOURNAL_LEAVE) { /* it shall go back: then the old one stays */
        (void)rset_dir_unlink(local->dir, local->beside, NULL);
        return rset_fail(err, st != RSET_OK ? st : RSET_IO, "%s",
                         st != RSET_OK ? ignored.text : "there would be no way back from it");
    }
    if (st != RSET_OK) /* then without: the program's file matters more than a way back from it */
        st = rset_journal_begin(local, ev, false, &j, err);
    if (st == RSET_OK && j != NULL)
        st = sync_data(local->dir, local->beside, err);
    if (st == RSET_OK && j != NULL)
        st = put_aside(local, ev, err);
    if (rset_journal_end(j, fate, err) != RSET_OK && st == RSET_OK)
        st = err->status;
    if (st == RSET_OK)
        st = rset_dir_rename(local->dir, local->beside, local->names[0], err);
    if (st == RSET_OK)
        st = rset_dir_sync(local->dir, err);
    return st;
}
