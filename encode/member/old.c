/* old.c: reading the way back to what a changed file was (journal.h). */
#include "journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
rset_old_free(rset_old *old)
{
    rset_overlay_free(&old->kept);
    *old = (rset_old){0};
}

/* The journal; *file_out NULL: there is none. */
static rset_status
load_kept(rset_dir *dir, const char *name, rset_file **file_out, rset_overlay *kept, rset_err *err)
{
    rset_err    own = RSET_ERR_NONE;
    rset_status st = rset_overlay_load(dir, name, RSET_JOURNAL_MAGIC, file_out, kept, &own);

    if (st == RSET_IO) /* whoever went on without it could leave a file half changed */
        return rset_fail(err, st,
                         "%s; without this journal nobody can tell what the file was before it was "
                         "changed: check the storage, and open again",
                         own.text);
    return st == RSET_OK ? RSET_OK : rset_fail(err, st, "%s", own.text);
}

/* What lies beside a data file that may lead back. */
typedef struct finding {
    char      *journal, *aside; /* names */
    rset_file *file;            /* the journal; NULL: there is none that can be read */
    rset_old   old;
} finding;

static rset_status
find(rset_dir *dir, const char *prefix, finding *f, rset_err *err)
{
    *f = (finding){.journal = rset_beside_name(prefix, RSET_NAME_JOURNAL),
                   .aside = rset_beside_name(prefix, RSET_NAME_OLD)};
    if (f->journal == NULL || f->aside == NULL)
        return rset_fail(err, RSET_NOMEM, "%s: no memory for its journal", prefix);
    return load_kept(dir, f->journal, &f->file, &f->old.kept, err);
}

static rset_old
release(finding *f)
{
    rset_file_close(f->file, NULL);
    free(f->journal);
    free(f->aside);
    return f->old;
}

rset_status
rset_old_load(rset_dir *dir, const char *prefix, uint64_t generation, uint64_t size, rset_old *out,
              rset_err *err)
{
    finding     f;
    rset_status st = find(dir, prefix, &f, err);
    rset_old   *old = &f.old;

    old->there = f.file != NULL && old->kept.generation == generation && old->kept.size == size;
    if (old->there) {
        old->busy = !rset_file_lock(f.file, false);
        old->replaced = rset_dir_has_file(dir, f.aside);
    }
    /* Who does without a way back leaves none, before the mark is made. */
    if (st == RSET_OK && !old->there) {
        old->spoiled = f.file != NULL ? !old->kept.complete : rset_dir_has_file(dir, f.journal);
        rset_overlay_free(&old->kept);
    }
    *out = release(&f);
    return st;
}

/* Just begun: nothing was written yet, or a power failure has left nothing of it. */
static bool
has_no_head(rset_dir *dir, const char *journal)
{
    static const uint8_t none[RSET_OVERLAY_HEAD];
    uint8_t              head[RSET_OVERLAY_HEAD];
    rset_file           *file = NULL;
    rset_err             ignored = RSET_ERR_NONE;
    size_t               got = 0;
    bool                 is = false;

    if (rset_file_open(dir, journal, &file, &ignored) == RSET_OK)
        is = rset_file_read(file, 0, head, sizeof head, &got, &ignored) == RSET_OK &&
             (got < sizeof head || memcmp(head, none, sizeof head) == 0);
    rset_file_close(file, NULL);
    return is;
}

rset_status
rset_old_load_first(rset_dir *dir, const char *prefix, rset_old *out, rset_err *err)
{
    finding     f;
    rset_status st = find(dir, prefix, &f, err);
    rset_old   *old = &f.old;

    if (st == RSET_OK)
        old->there = f.file != NULL ? old->kept.generation == 0 && old->kept.size == 0
                                    : has_no_head(dir, f.journal);
    old->busy = f.file != NULL && !rset_file_lock(f.file, false);
    old->replaced = old->there && rset_dir_has_file(dir, f.aside);
    if (!old->there) {
        const rset_overlay kept = old->kept;

        old->since = f.file != NULL ? kept.generation : 0;
        rset_overlay_free(&old->kept);
        old->kept.complete = kept.complete;
        old->kept.last = kept.last;
    }
    *out = release(&f);
    return st;
}

rset_status
rset_old_forget(rset_dir *dir, const char *prefix, rset_err *err)
{
    static const char *const names[] = {RSET_NAME_JOURNAL, RSET_NAME_OLD};
    rset_status              first = RSET_OK;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char       *name = rset_beside_name(prefix, names[i]);
        rset_status st = name != NULL ? rset_dir_unlink(dir, name, err)
                                      : rset_fail(err, RSET_NOMEM, "%s: no memory", prefix);

        free(name);
        first = first == RSET_OK ? st : first;
    }
    return first;
}
