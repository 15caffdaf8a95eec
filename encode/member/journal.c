/* journal.c: see journal.h. */
#include "journal_internal.h"

#include "names/names.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The most that is kept at a time, in bytes. */
enum { ENTRY_MAX = 1 << 20 };

/* ---- beginning ---- */

void
rset_journal_free(rset_journal *j)
{
    if (j == NULL)
        return;
    rset_file_close(j->file, NULL);
    rset_file_close(j->base, NULL);
    free(j->name);
    free(j->data);
    rset_grains_free(&j->grains);
    free(j->buf);
    rset_overlay_free(&j->kept);
    (void)pthread_mutex_destroy(&j->lock);
    free(j);
}

/* The last program to change the file has closed it, or died while it wrote an entry: new entries take the place of what
 * follows the last good one. */
static rset_status
go_on(rset_journal *j, const rset_undo *undo, rset_err *err)
{
    rset_access access;
    rset_status st = rset_file_open_update(j->dir, j->name, &j->file, err);

    if (st == RSET_OK)
        st = rset_journal_lock(j->file, err);
    if (st == RSET_OK && rset_file_access(j->dir, j->data, &access))
        rset_file_follow(j->file, access);
    if (st == RSET_OK)
        st = rset_file_resize(j->file, undo->kept.end, err);
    if (st == RSET_OK)
        st = rset_journal_write_head(j, err);
    return st;
}

rset_status
rset_journal_new(const rset_local *local, const rset_undo_head *head, rset_journal **out,
                 rset_err *err)
{
    rset_journal *j = calloc(1, sizeof *j);
    rset_status   st = RSET_OK;

    if (j == NULL || pthread_mutex_init(&j->lock, NULL) != 0) {
        free(j);
        return rset_fail(err, RSET_NOMEM, "no memory to keep what %s was", local->names[0]);
    }
    j->dir = local->dir;
    j->head = *head;
    j->kept.generation = head->key;
    j->kept.size = head->size;
    j->kept.end = RSET_UNDO_ENTRIES;
    j->name = rset_name_of(RSET_NAME_UNDO, local->prefix, head->generation);
    j->data = strdup(local->shadow != NULL ? local->shadow : local->names[0]);
    if (j->name == NULL || j->data == NULL)
        st = rset_fail(err, RSET_NOMEM, "no memory to keep what %s was", local->names[0]);
    else if (head->generation != 0) /* that of a first one is always looked for */
        st = rset_names_note(local->dir, local->prefix, (const char *const[]){j->name}, 1, err);
    if (st != RSET_OK)
        rset_journal_free(j);
    else
        *out = j;
    return st;
}

/* The void mark is still to come, and with it a sync of the directory, which the journal's name can wait for: until then nothing of the
 * file changes, and each of the two names without the other leads to what is there. */
static bool
is_marked_next(const rset_evidence *ev)
{
    return ev->has_header && !ev->is_void && ev->over_name == NULL;
}

/* Opens the journal with this head: what `undo` has goes on, if that is given. Its name is durable when that, or the mark, is. */
static rset_status
make_journal(const rset_local *local, const rset_evidence *ev, const rset_undo_head *head,
             const rset_undo *undo, rset_journal **out, rset_err *err)
{
    rset_journal *j = NULL;
    rset_status   st = rset_journal_new(local, head, &j, err);

    if (st == RSET_OK && undo != NULL) {
        j->had = undo->head.label;
        j->kept.end = undo->kept.end;
        st = go_on(j, undo, err);
    } else if (st == RSET_OK) {
        st = rset_journal_create(j, local->prefix, err);
    }
    if (st == RSET_OK && !is_marked_next(ev))
        st = rset_dir_sync(local->dir, err);
    if (st != RSET_OK)
        rset_journal_free(j);
    else
        *out = j;
    return st;
}

/* Can the content that the redundancy covers be told from any other, and is it what the file, or its journal, has? Once
 * it changed without being kept it cannot be rolled back. */
static bool
can_go_back(const rset_local *local, const rset_evidence *ev)
{
    const rset_info *info = ev->header.infos;

    return local->nfiles == 1 && ev->has_header && info->nfiles == 1 && info->files[0].has_sums &&
           (!ev->is_void ||
            rset_undo_leads_to(&ev->undo, info->desc.generation, info->files[0].attrs.size));
}

/* The journal that is there, if it is of what the redundancy file records, or of a file that has none. */
static const rset_undo *
journal_of(const rset_evidence *ev)
{
    if (!ev->undo.there ||
        (ev->has_header && ((ev->undo.head.flags & RSET_UNDO_FIRST) != 0 ||
                            ev->undo.head.generation != rset_evidence_generation(ev))))
        return NULL;
    return &ev->undo;
}

/* The head of the journal of a file that is about to change; `how`: RSET_UNDO_KEPT or _ASIDE, or 0 where the old bytes are
 * not kept. */
static rset_undo_head
head_of(const rset_local *local, const rset_evidence *ev, unsigned how)
{
    const rset_undo *undo = journal_of(ev);
    rset_undo_head   head = {.flags = RSET_UNDO_FIRST};

    if (undo != NULL) {
        head = undo->head;
    } else if (ev->has_header) {
        head.generation = head.key = rset_evidence_generation(ev);
        head.size = ev->header.infos[0].nfiles > 0 ? ev->header.infos[0].files[0].attrs.size : 0;
        head.flags = can_go_back(local, ev) ? how : 0;
    }
    if (how == RSET_UNDO_ASIDE && (head.flags & RSET_UNDO_KEPT) != 0)
        head.flags |= RSET_UNDO_ASIDE;
    if (how == 0)
        head.flags &= RSET_UNDO_FIRST;
    head.state = RSET_UNDO_OPEN;
    head.label = (rset_label){0};
    return head;
}

rset_status
rset_journal_read_base(rset_journal *j, const rset_overlay *kept, rset_err *err)
{
    static const rset_overlay none = {0};

    if ((j->head.flags & ~(unsigned)RSET_UNDO_NEXT) != RSET_UNDO_KEPT)
        return RSET_OK;
    j->buf = malloc(ENTRY_MAX + RSET_OVERLAY_ENTRY);
    if (!rset_grains_make(&j->grains, j->head.size, kept != NULL ? kept : &none) || j->buf == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory to keep what %s was", j->data);
    return rset_file_open(j->dir, j->data, &j->base, err);
}

rset_status
rset_journal_open(const rset_local *local, const rset_evidence *ev, unsigned how,
                  rset_journal **out, rset_err *err)
{
    const rset_undo     *undo = journal_of(ev);
    const rset_undo_head head = head_of(local, ev, how);
    rset_journal        *j = NULL;
    rset_status          st = make_journal(local, ev, &head, undo, &j, err);

    if (st == RSET_OK)
        st = rset_journal_read_base(j, undo != NULL ? &ev->undo.kept : NULL, err);
    if (st != RSET_OK)
        rset_journal_free(j);
    else
        *out = j;
    return st;
}

bool
rset_journal_leads_back(const rset_journal *j)
{
    return j != NULL && (j->head.flags & (RSET_UNDO_KEPT | RSET_UNDO_ASIDE)) != 0 &&
           (j->head.flags & RSET_UNDO_FIRST) == 0;
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
    if (st == RSET_OK && j->noted &&
        !rset_overlay_note(&j->kept, (rset_run){off, len, j->kept.end + RSET_OVERLAY_ENTRY}))
        st = rset_fail(err, RSET_NOMEM, "%s: no memory to keep what it was", j->data);
    if (st != RSET_OK)
        return st;
    st = rset_overlay_append(j->file, &j->kept, off, j->buf, len, err);
    if (st != RSET_OK && j->noted)
        j->kept.n--;
    j->sorted = false;
    return st;
}

static rset_status
save(rset_journal *j, uint64_t off, uint64_t len, rset_err *err)
{
    const uint64_t each = j->grains.each;
    uint64_t       grain, until;
    rset_status    st = RSET_OK;

    if (j->base == NULL || len == 0 || off >= j->head.size)
        return RSET_OK;
    until = (len < j->head.size - off ? off + len : j->head.size);
    for (grain = off / each; st == RSET_OK && grain * each < until;) {
        uint64_t from = grain * each, to;

        if (rset_grains_is_kept(&j->grains, grain)) {
            grain++;
            continue;
        }
        for (to = from;
             to < until && to - from + each <= ENTRY_MAX && !rset_grains_is_kept(&j->grains, grain);
             grain++)
            to += each;
        to = to < j->head.size ? to : j->head.size;
        st = keep(j, from, (size_t)(to - from), err);
        if (st == RSET_OK)
            rset_grains_note_kept(&j->grains, from, to);
    }
    if (st == RSET_OK)
        rset_grains_note_written(&j->grains, off, until);
    assert(st != RSET_OK || rset_grains_is_kept(&j->grains, off / each)); /* M1 */
    return st;
}

rset_status
rset_journal_save(rset_journal *j, uint64_t off, uint64_t len, rset_err *err)
{
    rset_status st;

    if (j == NULL)
        return RSET_OK;
    (void)pthread_mutex_lock(&j->lock);
    st = save(j, off, len, err);
    (void)pthread_mutex_unlock(&j->lock);
    return st;
}

bool
rset_journal_has_written(rset_journal *j, uint64_t from, uint64_t to)
{
    bool all;

    if (j == NULL)
        return false;
    (void)pthread_mutex_lock(&j->lock);
    all = j->base != NULL && to <= j->head.size && rset_grains_are_written(&j->grains, from, to);
    (void)pthread_mutex_unlock(&j->lock);
    return all;
}

rset_status
rset_journal_give_up(rset_journal *j, rset_err *err)
{
    rset_err    ignored = RSET_ERR_NONE;
    rset_status st;

    if (j == NULL)
        return RSET_OK;
    (void)pthread_mutex_lock(&j->lock);
    rset_file_close(j->base, NULL);
    j->base = NULL;
    j->head.flags &= RSET_UNDO_FIRST | RSET_UNDO_NEXT;
    st = rset_journal_write_head(j, j->noted ? err : &ignored);
    if (st != RSET_OK &&
        !j->noted) { /* then none at all; but a next one is what says that the file changes */
        st = rset_dir_unlink(j->dir, j->name, err);
        st = st == RSET_OK ? rset_dir_sync(j->dir, err) : st;
    }
    (void)pthread_mutex_unlock(&j->lock);
    return st;
}

/* ---- ending ---- */

/* A file that counts as closed is not torn by a power failure: it is on disk. */
static rset_status
sync_data(const rset_journal *j, uint64_t *size_out, rset_err *err)
{
    rset_file  *file = NULL;
    struct stat sb = {0};
    rset_status st = rset_file_open(j->dir, j->data, &file, err);

    if (st == RSET_OK)
        st = rset_file_sync(file, err);
    if (st == RSET_OK)
        st = rset_file_stat(file, &sb, err);
    rset_file_close(file, NULL);
    *size_out = (uint64_t)sb.st_size;
    return st;
}

static void
take_label(rset_journal *j)
{
    rset_err ignored = RSET_ERR_NONE;

    j->head.state = RSET_UNDO_OPEN;
    j->head.label = (rset_label){0};
    (void)rset_journal_write_head(j, &ignored);
}

/* Where it fails, the head may be on disk all the same: that goes, in its place, and the one before it counts (M2). */
static rset_status
give_label(rset_journal *j, const rset_label *label, rset_err *err)
{
    rset_status st = sync_data(j, &j->head.closed, err);

    if (st != RSET_OK)
        return st;
    j->head.state = RSET_UNDO_CLOSED;
    j->head.label = label->ranks == 1 && j->had.ranks > 1 ? j->had : *label;
    st = rset_journal_write_head(j, err);
    if (st != RSET_OK) {
        j->head.sequence--;
        take_label(j);
    }
    return st;
}

rset_status
rset_journal_close_all(rset_journal *const *journals, const rset_label *labels, int n,
                       rset_err *err)
{
    rset_status st = RSET_OK;
    int         labelled = 0;

    for (; st == RSET_OK && labelled < n; labelled++)
        if (journals[labelled] != NULL)
            st = give_label(journals[labelled], &labels[labelled], err);
    for (int i = 0; st != RSET_OK && i < labelled - 1; i++)
        if (journals[i] != NULL)
            take_label(journals[i]);
    for (int i = 0; i < n; i++)
        rset_journal_free(journals[i]);
    return st;
}

rset_status
rset_journal_close(rset_journal *journal, const rset_label *label, rset_err *err)
{
    return rset_journal_close_all(&journal, label, 1, err);
}

void
rset_journal_leave(rset_journal *j)
{
    rset_journal_free(j);
}
