/* survey_redundancy.c: which of the redundancy files that a survey finds counts: it is read, checked, and compared with what was
 * found before. See survey_internal.h. */
#include "delta.h"
#include "format/tree.h"
#include "survey_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Reads and checks the header of `file`. Any failure but lack of memory, and RSET_USAGE, means: not there; *err has what is to be told. */
static rset_status
read_header(const rset_layered *file, uint64_t size, const char *name, const rset_name *parsed,
            rset_header *header_out, size_t *total_out, rset_err *err)
{
    rset_err    own = RSET_ERR_NONE;
    uint8_t     head[RSET_TREE_HEAD], *buf = NULL;
    size_t      got = 0, total = 0;
    rset_status st = rset_layered_read(file, 0, head, sizeof head, &got, &own);

    if (st == RSET_OK && got < sizeof head)
        st = RSET_DAMAGED;
    if (st == RSET_OK)
        st = rset_tree_total(head, size, name, &total, &own);
    if (st == RSET_OK && (buf = malloc(total)) == NULL)
        st = rset_fail(err, RSET_NOMEM, "%s: no memory for its header", name);
    if (st == RSET_OK)
        st = rset_layered_read(file, 0, buf, total, &got, &own);
    if (st == RSET_OK)
        st = got == total
                 ? rset_format_unpack_header(buf, total, name, parsed->member, header_out, &own)
                 : RSET_DAMAGED;
    if (st == RSET_NOMEM)
        (void)rset_fail(err, RSET_NOMEM, "%s: no memory for its header", name);
    if (st == RSET_USAGE || st == RSET_IO)
        (void)rset_fail_as(err, &own);
    if (st == RSET_OK)
        *total_out = total;
    free(buf);
    return st;
}

/* Does the header say what its file's name says? A file that was copied under another name is
 * somebody else's. */
static bool
names_itself(const rset_header *h, const rset_name *parsed)
{
    const rset_desc *d = &h->infos[0].desc;

    return d->rank == parsed->rank && d->scheme == parsed->scheme && d->set == parsed->set &&
           d->sets == parsed->sets && d->member == parsed->member && d->members == parsed->members;
}

/* A redundancy file that was found, with what is to be laid over it, if anything is. */
typedef struct find {
    const char  *name;  /* as the directory has it */
    char        *base;  /* what lies below, when it is to be laid over that; owned */
    bool         seen;  /* ... and was there */
    bool         alone; /* ... and that is gone, and with it what only it had */
    uint64_t     mark;  /* RSET_MARK_DISTRUSTED, RSET_MARK_REFUSED */
    rset_overlay over;
    rset_header  header;
    size_t       total;
} find;

static void
find_free(find *f)
{
    rset_header_free(&f->header);
    rset_overlay_free(&f->over);
    free(f->base);
}

/* Does an update belong to the header that it has: of its generation, and for a file of its size? */
static bool
is_made_for(const rset_overlay *over, const rset_header *h, size_t payload_at)
{
    return over->generation == h->infos[0].desc.generation &&
           over->size == payload_at + h->payload.size;
}

static rset_status
read_find(rset_dir *dir, const rset_name *parsed, find *f, rset_err *err)
{
    rset_layered file = {0};
    rset_err     own = RSET_ERR_NONE;
    uint64_t     size = f->over.size;
    rset_status  st = rset_layered_open(dir, f->base != NULL ? f->base : f->name, f->name,
                                       f->base != NULL ? &f->over : NULL, &file, &own);

    if (st == RSET_NOMEM)
        return rset_fail(err, st, "%s: no memory to read it", f->name);
    if (st != RSET_OK)
        return rset_fail_as(err, &own);
    if (f->base == NULL)
        st = rset_layered_size(&file, &size, err);
    if (st == RSET_OK)
        st = read_header(&file, size, f->name, parsed, &f->header, &f->total, err);
    f->mark = file.base != NULL ? rset_file_get_mark(file.base) : 0;
    rset_layered_close(&file);
    if (st == RSET_OK && !names_itself(&f->header, parsed))
        st = RSET_DAMAGED;
    if (st == RSET_OK && f->base != NULL && !is_made_for(&f->over, &f->header, f->total))
        st = RSET_DAMAGED;
    return st;
}

/* Complete, but not published. */
static rset_status
take_as_next(find *f, rset_evidence *ev, rset_err *err)
{
    uint64_t generation = f->header.infos[0].desc.generation;

    if (ev->next_name != NULL && !rset_generation_newer(generation, ev->next))
        return RSET_OK;
    free(ev->next_name);
    free(ev->next_together);
    ev->next = generation;
    ev->next_ranks = f->header.infos[0].desc.ranks;
    ev->next_together = f->header.infos[0].together;
    f->header.infos[0].together = NULL;
    ev->next_name = strdup(f->name);
    ev->next_updates = f->base != NULL;
    return ev->next_name != NULL ? RSET_OK : rset_fail(err, RSET_NOMEM, "%s: no memory", f->name);
}

static rset_status
take_as_current(find *f, bool is_void, rset_evidence *ev, rset_err *err)
{
    const char *name = f->base != NULL ? f->base : f->name;

    rset_header_free(&ev->header);
    rset_overlay_free(&ev->over);
    free(ev->name);
    free(ev->over_name);
    ev->header = f->header;
    ev->over = f->over;
    ev->over_name = f->base != NULL ? strdup(f->name) : NULL;
    ev->over_gone = f->alone;
    ev->name = strdup(name);
    ev->has_header = true;
    ev->is_void = is_void;
    ev->distrusted = f->mark != 0;
    ev->refused = (f->mark & RSET_MARK_REFUSED) != 0;
    ev->payload_at = f->total;
    f->header = (rset_header){0};
    f->over = (rset_overlay){0};
    if (ev->name == NULL || (f->base != NULL && ev->over_name == NULL))
        return rset_fail(err, RSET_NOMEM, "%s: no memory", name);
    return RSET_OK;
}

/* A newer redundancy file counts more than the one that was found before. An update of the same generation does, too: it has not been copied
 * into the file that it is laid over. */
static bool
counts_more(const find *f, const rset_evidence *ev)
{
    uint64_t generation = f->header.infos[0].desc.generation;

    return !ev->has_header ||
           rset_generation_newer(generation, ev->header.infos[0].desc.generation) ||
           (f->base != NULL && generation == ev->header.infos[0].desc.generation);
}

/* A redundancy file that cannot be read counts as not there, unless a newer release can read it. But an update that a rank has decided on is
 * an error then (P11): ranks that went back to what was protected last would leave it there, to be found, and to count, the next
 * time. */
static rset_status
taken(rset_status st, rset_name_kind kind, const char *name, const rset_err *own, rset_err *err)
{
    if (st == RSET_NOMEM || st == RSET_USAGE)
        return rset_fail_as(err, own);
    if (st == RSET_IO && kind == RSET_NAME_REDO)
        return rset_fail(err, st,
                         "%s: the update that it holds was decided on, and it cannot be read; "
                         "check the storage, and open again",
                         name);
    return RSET_OK;
}

/* Was it gone when it was to be read, or what it is laid over? */
static bool
has_vanished(const rset_survey_run *s, const find *f, rset_status st)
{
    return st == RSET_ABSENT ||
           (st == RSET_DAMAGED && f->seen && rset_dir_lacks_file(s->dir, f->base));
}

void
rset_survey_note_unread(rset_evidence *ev, const rset_err *own)
{
    if (own->status == RSET_IO)
        rset_note_unread(&ev->unread, own->sys_errno != 0 ? own->sys_errno : EIO);
}

rset_status
rset_survey_redundancy(rset_survey_run *s, const char *name, rset_name_kind kind,
                       const rset_name *parsed, rset_evidence *ev, rset_err *err)
{
    rset_dir   *dir = s->dir;
    find        f = {.name = name};
    rset_err    own = RSET_ERR_NONE;
    bool        waiting = kind == RSET_NAME_NEW, based = false;
    rset_status st = RSET_OK;

    if (kind == RSET_NAME_REDO || (waiting && rset_delta_is(dir, name))) {
        st = rset_delta_load(dir, name, &f.over, &own);
        if (st == RSET_OK && !f.over.complete)
            return RSET_OK;
        if (st == RSET_OK)
            st = rset_delta_base(dir, name, &f.base, &own);
    }
    if (st == RSET_OK && f.base != NULL)
        st = rset_delta_has_base(dir, f.base, &f.over, &f.seen, &based, &own);
    f.alone = f.base != NULL && !based;
    if (st == RSET_OK)
        st = read_find(dir, parsed, &f, &own);
    s->vanished = s->vanished || has_vanished(s, &f, st);
    if (st == RSET_OK && waiting &&
        (s->ahead == 0 || f.header.infos[0].desc.generation != s->ahead))
        st = take_as_next(&f, ev, &own);
    else if (st == RSET_OK && counts_more(&f, ev))
        st = take_as_current(&f, kind == RSET_NAME_VOID, ev, &own);
    find_free(&f);
    rset_survey_note_unread(ev, &own);
    return taken(st, kind, name, &own, err);
}
