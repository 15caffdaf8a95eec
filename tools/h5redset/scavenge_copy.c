/* scavenge_copy.c: files that are in the target already; and those that are whole are copied, and compared with what is recorded of them on
 * the way. See scavenge.h. */
#include "exits.h"
#include "files.h"
#include "owner.h"
#include "scavenge.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { AT_ONCE = 4 << 20 };

rset_status
scavenge_open(rset_dir *dir, const char *name, rset_logical *out, rset_err *err)
{
    return rset_logical_open(&(rset_local){.dir = dir, .nfiles = 1, .names = &name}, NULL, out,
                             err);
}

rset_status
scavenge_pour(const rset_logical *from, rset_file *to, rset_sums *sums_out, bool *whole_out,
              rset_err *err)
{
    const uint64_t size = from->start[1];
    uint8_t       *buf = must_alloc(AT_ONCE);
    rset_err       ignored = RSET_ERR_NONE;
    rset_status    st = RSET_OK;

    if (rset_sums_init(sums_out, size, size > 0 ? size : 1) != 0)
        no_memory();
    *whole_out = true;
    for (uint64_t off = 0, len, end; *whole_out && st == RSET_OK && off < size; off += len) {
        off = rset_logical_next_data(from, off, &end);
        len = (size < end ? size : end) - off;
        len = len < AT_ONCE ? len : AT_ONCE;
        *whole_out = rset_logical_read(from, off, buf, (size_t)len, sums_out, &ignored) == RSET_OK;
        if (*whole_out && to != NULL)
            st = rset_file_write(to, off, buf, (size_t)len, err);
    }
    if (*whole_out && st == RSET_OK && to != NULL)
        st = rset_file_resize(to, size, err);
    rset_sums_finish(sums_out);
    free(buf);
    return st;
}

/* ---- what is there ---- */

/* Its size and checksum. False: it cannot be read. */
static bool
sum_up(const rset_logical *file, uint64_t *size_out, uint64_t *crc_out)
{
    bool      whole = false;
    rset_sums sums;

    (void)scavenge_pour(file, NULL, &sums, &whole, NULL);
    *size_out = sums.size;
    *crc_out = sums.whole;
    rset_sums_free(&sums);
    return whole;
}

/* Of a file that nothing is recorded of: is it the one that would be copied? */
static bool
is_same_as_source(const item *it, uint64_t size, uint64_t crc)
{
    rset_dir    *dir = NULL;
    rset_logical file = {0};
    uint64_t     other = 0, sum = 0;
    bool         same = it->m->seen != NULL &&
                rset_dir_open(it->m->seen->dir, false, &dir, NULL) == RSET_OK &&
                scavenge_open(dir, it->m->seen->name, &file, NULL) == RSET_OK &&
                sum_up(&file, &other, &sum) && other == size && sum == crc;

    rset_logical_close(&file, NULL);
    rset_dir_close(dir);
    return same;
}

static void
say_in_the_way(item *it, const char *path, const char *what)
{
    item_fail(it, EXITS_ERROR,
              "%s is there already, and %s; move it away, or replace it with --force", path, what);
}

/* A file that is there stays: it is what would be brought, or it is in the way. */
static void
compare_target(const scavenge *s, item *it, const rset_file_info *file, const rset_logical *there)
{
    const bool  has = file != NULL && file->has_sums;
    const char *path = rset_file_path(there->files[0]);
    uint64_t    size, crc;

    if (!sum_up(there, &size, &crc)) {
        say_in_the_way(it, path, "cannot be read");
    } else if (has ? size == file->sums.size && crc == file->sums.whole
                   : is_same_as_source(it, size, crc)) {
        it->out = (outcome){.how = HOW_KEPT, .verified = has, .size = size, .crc = crc, .from = -1};
        if (it->as_is || file == NULL)
            outcome_as_is(&it->out);
        it->done = true;
    } else if (!s->o->force) {
        say_in_the_way(it, path, "has other content");
    } else if (!rset_file_lock(there->files[0], false)) {
        item_fail(it, EXITS_ERROR,
                  "%s is to be replaced, and a program on %s has it open to change it: close it "
                  "there, and run this again",
                  path, s->j->host);
    }
}

/* Is there a file of that name? What would be brought is kept, and anything else is in the way, unless it may be replaced:
 * it->done in both cases. `file`: what is recorded of it; NULL: nothing. */
static void
look_there(const scavenge *s, item *it, const rset_file_info *file)
{
    char        *path = scavenge_path(s, it->name);
    rset_err     err = RSET_ERR_NONE;
    rset_dir    *at = NULL;
    rset_logical there = {0};
    rset_status  st;

    owner_pause();
    st = scavenge_enter(s, it->name, false, &at, &err);
    if (st == RSET_OK)
        st = scavenge_open(at, rset_path_base(path), &there, &err);
    owner_resume();
    if (st == RSET_OK)
        compare_target(s, it, file, &there);
    else if (st == RSET_DAMAGED)
        say_in_the_way(it, path, "is no file");
    else if (st != RSET_ABSENT)
        item_fail(it, EXITS_ERROR, "%s", err.text);
    rset_logical_close(&there, NULL);
    if (at != NULL)
        scavenge_leave(s, at);
    free(path);
}

/* ---- one copy ---- */

typedef struct copy {
    scavenge        *s;
    item            *it;
    const rset_info *info; /* NULL: as it is */
    rset_logical     from;
    rset_file       *to;
    rset_sums        sums;
    bool             good; /* it could be read */
} copy;

/* Without checksums the size has to do. */
static bool
is_recorded_size(const copy *c)
{
    rset_err    ignored = RSET_ERR_NONE;
    struct stat sb;

    return c->from.files[0] != NULL && rset_file_stat(c->from.files[0], &sb, &ignored) == RSET_OK &&
           (uint64_t)sb.st_size == c->from.start[1];
}

static bool
is_as_recorded(const copy *c)
{
    const rset_file_info *file = c->info != NULL ? &c->info->files[0] : NULL;

    if (file == NULL)
        return true;
    if (!file->has_sums)
        return is_recorded_size(c);
    return c->sums.size == file->sums.size && c->sums.whole == file->sums.whole;
}

/* As recorded; its permissions as they are. */
static rset_file_attrs
attrs_of(const copy *c)
{
    rset_err        ignored = RSET_ERR_NONE;
    rset_file_attrs is = {.mode = 0600}, a;
    struct stat     sb;

    if (c->from.files[0] != NULL && rset_file_stat(c->from.files[0], &sb, &ignored) == RSET_OK)
        is = rset_file_attrs_of(&sb);
    if (c->info == NULL)
        return is;
    a = rset_recorded_attrs(&c->info->files[0].attrs);
    if (c->from.files[0] != NULL) {
        a.mode = is.mode;
        a.uid = is.uid;
        a.gid = is.gid;
    }
    return a;
}

/* Under a name that nobody takes for a file; complete and synced when it is good. */
static rset_status
write_staged(copy *c, rset_dir *stage, const char *name, rset_err *err)
{
    const rset_file_attrs attrs = attrs_of(c);
    const rset_access     access = rset_file_attrs_access(&attrs);
    rset_err              of_close = RSET_ERR_NONE, ignored = RSET_ERR_NONE;
    rset_status           st, closed;

    c->to = NULL;
    st = rset_file_create(stage, name, &access, &c->to, err);
    if (st == RSET_OK)
        st = scavenge_pour(&c->from, c->to, &c->sums, &c->good, err);
    c->good = c->good && is_as_recorded(c);
    if (st == RSET_OK && c->good) {
        (void)rset_file_set_attrs(c->to, &attrs, &ignored); /* the content is what counts */
        st = rset_file_sync(c->to, err);
    }
    closed = rset_file_close(c->to, &of_close);
    return st == RSET_OK && closed != RSET_OK ? rset_fail_as(err, &of_close) : st;
}

/* The content that `local` means. *good_out: it was what it should be, and has its name in the target. */
static rset_status
copy_content(copy *c, const rset_local *local, bool *good_out, rset_err *err)
{
    rset_err    ignored = RSET_ERR_NONE;
    rset_dir   *stage = NULL;
    char       *dir = must_print("%s/%" PRIu64, c->s->stage, c->it->f->owner);
    rset_status st = RSET_OK;

    *good_out = false;
    if (rset_logical_open(local, c->info, &c->from, &ignored) == RSET_OK) {
        st = scavenge_make(dir, c->it->f->owner, err);
        if (st == RSET_OK)
            st = rset_dir_open(dir, false, &stage, err);
        if (st == RSET_OK)
            st = write_staged(c, stage, "file", err);
        if (st == RSET_OK && c->good)
            st = scavenge_publish(c->s, stage, "file", c->it->name, c->s->o->force, err);
        if (stage != NULL && (st != RSET_OK || !c->good))
            (void)rset_dir_unlink(stage, "file", &ignored);
        *good_out = st == RSET_OK && c->good;
        c->it->out.size = c->sums.size;
        c->it->out.crc = c->sums.whole;
        rset_dir_close(stage);
        rset_logical_close(&c->from, NULL);
    }
    rset_sums_free(&c->sums);
    free(dir);
    return st;
}

/* ---- one file ---- */

/* Where the content may be. */
typedef struct source {
    scavenge_how     how;    /* it comes to the target, if it is there */
    const char      *shadow; /* as of a rset_local, as the next */
    const rset_undo *undo;
} source;

static rset_status
copy_recorded(scavenge *s, item *it, const files *f, const rset_info *info, rset_err *err)
{
    const uint64_t   generation = info->desc.generation;
    const rset_undo *undo = &f->evidence.undo;
    copy             c = {.s = s, .it = it, .info = info};
    source           from[3];
    char            *shadow = NULL;
    bool             good = false;
    int              n = 0;
    rset_status st = rset_evidence_shadow_name(&f->evidence, f->prefix, generation, &shadow, err);

    if (shadow != NULL)
        from[n++] = (source){.how = HOW_FINISHED, .shadow = shadow};
    if (info->files[0].has_sums && rset_undo_leads_to(undo, generation, info->files[0].attrs.size))
        from[n++] = (source){.how = HOW_ROLLED_BACK, .undo = undo};
    from[n++] = (source){.how = HOW_COPIED};
    for (int i = 0; st == RSET_OK && !good && i < n; i++) {
        rset_local at = f->local;

        at.shadow = from[i].shadow;
        at.undo = from[i].undo;
        st = copy_content(&c, &at, &good, err);
        it->out.how = from[i].how;
    }
    free(shadow);
    it->out.verified = good && info->files[0].has_sums;
    it->done = good;
    return st;
}

static rset_status
copy_as_is(scavenge *s, item *it, const files *f, rset_err *err)
{
    copy        c = {.s = s, .it = it};
    bool        good = false;
    rset_status st = copy_content(&c, &f->local, &good, err);

    if (st == RSET_OK && good) {
        it->out.how = HOW_AS_IS;
        outcome_as_is(&it->out);
    } else if (st == RSET_OK) {
        item_fail(it, EXITS_ERROR, "cannot be read");
    }
    it->done = true;
    return st;
}

/* What the target does not take, it takes of no other file either; unless a program has what is there open. */
static void
note_failure(scavenge *s, item *it, rset_status st, const rset_err *err)
{
    item_fail(it, EXITS_ERROR, "%s", err->text);
    if (st != RSET_BUSY)
        it->out.broken = s->broken = true;
}

/* From where it was seen; `info` NULL: nothing is recorded of it. */
static rset_status
copy_from(scavenge *s, item *it, const sighting *seen, const rset_info *info, rset_err *err)
{
    rset_err    ignored = RSET_ERR_NONE;
    files       f = {0};
    rset_status st = RSET_OK;

    if (files_open_seen(seen, &f, &ignored) == RSET_OK && f.n == 1)
        st = info != NULL ? copy_recorded(s, it, &f, info, err) : copy_as_is(s, it, &f, err);
    if (it->done)
        it->out.from = seen - s->c->sightings->at;
    files_close(&f);
    return st;
}

/* A file that lies where nothing says that it should: its content tells whether it is this one. */
static rset_status
copy_found(scavenge *s, item *it, const rset_info *info, rset_err *err)
{
    rset_status st = RSET_OK;

    for (const sighting *found = NULL; st == RSET_OK && !it->done && info->files[0].has_sums &&
                                       (found = scavenge_next(s, it, found)) != NULL;)
        if (found->by == s->j->rank)
            st = copy_from(s, it, found, info, err);
    return st;
}

void
scavenge_copy(scavenge *s, item *it)
{
    const rset_info *info = scavenge_recorded(it);
    rset_err         err = RSET_ERR_NONE;
    rset_status      st = RSET_OK;

    if (info != NULL && info->nfiles != 1)
        item_fail(it, EXITS_ERROR, "several files were protected as one, by another program");
    else
        look_there(s, it, info != NULL ? &info->files[0] : NULL);
    if (!it->done && it->m->seen != NULL)
        st = copy_from(s, it, it->m->seen, info, &err);
    else if (!it->done && info != NULL)
        st = copy_found(s, it, info, &err);
    if (st != RSET_OK)
        note_failure(s, it, st, &err);
}
