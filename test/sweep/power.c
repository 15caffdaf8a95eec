/* power.c: see power.h. */
#include "power.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "sweep.h"

enum { FDS = 1024, FILES = 512, PAGE = 4096 };

/* ---- recording ---- */

static power_log      *recording;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void
power_record_to(power_log *log)
{
    log->n = 0;
    log->used = 0;
    log->full = false;
    recording = log;
}

static void
append(const power_op *op, const void *data)
{
    power_log *log = recording;

    pthread_mutex_lock(&lock);
    if (log->n == POWER_OPS || op->len > sizeof log->bytes - log->used) {
        log->full = true;
    } else {
        power_op *to = &log->ops[log->n++];

        *to = *op;
        to->data = log->used;
        if (data != NULL)
            memcpy(log->bytes + log->used, data, op->len);
        log->used += data != NULL ? op->len : 0;
    }
    pthread_mutex_unlock(&lock);
}

static power_kind
kind_of(tap_call call)
{
    switch (call) {
    case TAP_OPEN: return POWER_OPEN;
    case TAP_CREATE: return POWER_CREATE;
    case TAP_CLOSE: return POWER_CLOSE;
    case TAP_PWRITE: return POWER_WRITE;
    case TAP_FTRUNCATE: return POWER_RESIZE;
    case TAP_FSETXATTR: return POWER_MARK;
    case TAP_FSYNC: return POWER_SYNC;
    case TAP_RENAME: return POWER_RENAME;
    case TAP_LINK: return POWER_LINK;
    case TAP_UNLINK: return POWER_UNLINK;
    default: return POWER_TOLD; /* changes nothing that counts */
    }
}

void
power_record(const tap_event *e, long result)
{
    power_op op = {.kind = kind_of(e->call), .rank = e->rank, .fd = e->fd};

    if (op.kind == POWER_TOLD || (result < 0 && op.kind != POWER_CLOSE))
        return;
    if (op.kind == POWER_OPEN || op.kind == POWER_CREATE)
        op.fd = (int)result;
    if (e->name != NULL && e->name[0] != '/' && strcmp(e->name, ".") != 0)
        snprintf(op.name, sizeof op.name, "%s", e->name);
    if (e->to != NULL)
        snprintf(op.to, sizeof op.to, "%s", e->to);
    op.off = (uint64_t)e->off;
    op.len = op.kind == POWER_WRITE ? (size_t)result : op.kind == POWER_MARK ? e->len : 0;
    append(&op, op.len > 0 ? e->data : NULL);
}

void
power_told(int rank)
{
    append(&(power_op){.kind = POWER_TOLD, .rank = rank}, NULL);
}

/* ---- files and names ---- */

typedef struct file {
    uint8_t *data;
    size_t   size;
    uint8_t  mark[8];
    bool     has_mark;
} file;

typedef struct entry {
    int  rank, file; /* file -1: the name is gone */
    char name[POWER_NAME];
} entry;

typedef struct disk {
    file  files[FILES];
    int   nfiles;
    entry entries[FILES];
    int   nentries;
} disk;

static int *
entry_of(disk *d, int rank, const char *name)
{
    entry *e;

    for (int i = 0; i < d->nentries; i++)
        if (d->entries[i].rank == rank && strcmp(d->entries[i].name, name) == 0)
            return &d->entries[i].file;
    assert_true(d->nentries < FILES);
    e = &d->entries[d->nentries++];
    *e = (entry){.rank = rank, .file = -1};
    snprintf(e->name, sizeof e->name, "%s", name);
    return &e->file;
}

static int
new_file(disk *d)
{
    assert_true(d->nfiles < FILES);
    d->files[d->nfiles] = (file){0};
    return d->nfiles++;
}

static void
resize(file *f, size_t size)
{
    if (size > f->size) {
        f->data = realloc(f->data, size);
        assert_non_null(f->data);
        memset(f->data + f->size, 0, size - f->size);
    }
    f->size = size;
}

static void
put(file *f, uint64_t off, const void *data, size_t len)
{
    if (off + len > f->size)
        resize(f, (size_t)off + len);
    if (len > 0)
        memcpy(f->data + off, data, len);
}

static void
disk_free(disk *d)
{
    for (int i = 0; i < d->nfiles; i++)
        free(d->files[i].data);
    *d = (disk){0};
}

static bool
is_data(const scene *s, int rank, const char *name)
{
    return strcmp(name, s->job.ranks[rank].names[0]) == 0;
}

/* All of the start that is sure. What is not is in the log, see power_begin. */
static void
disk_start(disk *d, const scene *s)
{
    *d = (disk){0};
    for (size_t i = 0; i < s->start.n; i++) {
        const image_file *f = &s->start.at[i];
        const char       *name = strchr(f->path, '/') + 1;
        int               rank = atoi(f->path + strlen("node"));
        int               number = new_file(d);
        file             *to = &d->files[number];

        if (s->unsynced && is_data(s, rank, name)) {
            put(to, 0, s->old.data[rank], s->old.size[rank]);
            *entry_of(d, rank, name) = s->old.data[rank] != NULL ? number : -1;
        } else {
            put(to, 0, f->data, f->size);
            *entry_of(d, rank, name) = number;
        }
        memcpy(to->mark, f->mark, sizeof to->mark);
        to->has_mark = f->has_mark;
    }
}

/* ---- which file a call is about ---- */

static bool
is_named(power_kind kind)
{
    return kind == POWER_CREATE || kind == POWER_RENAME || kind == POWER_LINK ||
           kind == POWER_UNLINK;
}

/* Names as they are while nothing is lost. */
static void
find_file(disk *d, int *by_fd, power_op *op)
{
    op->file = -1;
    switch (op->kind) {
    case POWER_OPEN:
        op->file = op->name[0] != '\0' ? *entry_of(d, op->rank, op->name) : -1;
        by_fd[op->fd] = op->file;
        break;
    case POWER_CREATE:
        op->file = new_file(d);
        *entry_of(d, op->rank, op->name) = op->file;
        by_fd[op->fd] = op->file;
        break;
    case POWER_RENAME:
        op->file = *entry_of(d, op->rank, op->name);
        *entry_of(d, op->rank, op->name) = -1;
        *entry_of(d, op->rank, op->to) = op->file;
        break;
    case POWER_LINK:
        op->file = *entry_of(d, op->rank, op->name);
        *entry_of(d, op->rank, op->to) = op->file;
        break;
    case POWER_UNLINK: *entry_of(d, op->rank, op->name) = -1; break;
    case POWER_TOLD: break;
    default: op->file = by_fd[op->fd];
    }
}

/* The application's write of rank r's data file. */
static void
unsynced_write(const scene *s, int r)
{
    const char *name = s->job.ranks[r].names[0];
    power_op    op = {.rank = r};

    snprintf(op.name, sizeof op.name, "%s", name);
    op.fd = FDS - 1 - r;
    op.kind = s->old.data[r] == NULL ? POWER_CREATE : POWER_OPEN;
    append(&op, NULL);
    op.kind = POWER_WRITE;
    op.len = s->new.size[r];
    append(&op, s->new.data[r]);
}

void
power_begin(power_log *log, const scene *s)
{
    disk d;
    int  by_fd[FDS], n = log->n;

    recording = log;
    for (int r = 0; s->unsynced && r < SCENE_RANKS; r++)
        unsynced_write(s, r);
    if (log->full)
        fail_msg("%s: too many calls to record", scene_name(s));
    if (log->n > n) { /* to the front */
        power_op *moved = malloc((size_t)n * sizeof *moved);

        assert_non_null(moved);
        memcpy(moved, log->ops, (size_t)n * sizeof *moved);
        memmove(log->ops, log->ops + n, (size_t)(log->n - n) * sizeof *moved);
        memcpy(log->ops + (log->n - n), moved, (size_t)n * sizeof *moved);
        free(moved);
    }
    disk_start(&d, s);
    for (int i = 0; i < log->n; i++)
        find_file(&d, by_fd, &log->ops[i]);
    disk_free(&d);
}

/* ---- states ---- */

static bool
is_sure(const power_log *log, int i, int n)
{
    const power_op *op = &log->ops[i];

    for (int j = i + 1; j < n; j++) {
        const power_op *sync = &log->ops[j];

        if (sync->kind == POWER_SYNC && sync->rank == op->rank &&
            sync->file == (is_named(op->kind) ? -1 : op->file))
            return true;
    }
    return false;
}

static void
put_pages(file *f, const power_op *op, const uint8_t *data)
{
    for (size_t at = 0; at < op->len; at += PAGE)
        if (sweep_random(2) != 0)
            put(f, op->off + at, data + at, op->len - at < PAGE ? op->len - at : PAGE);
}

static void
apply(disk *d, const power_log *log, const power_op *op, power_fate how)
{
    file          *f = op->file >= 0 ? &d->files[op->file] : NULL;
    const uint8_t *data = log->bytes + op->data;

    switch (op->kind) {
    case POWER_CREATE: *entry_of(d, op->rank, op->name) = op->file; break;
    case POWER_RENAME:
        *entry_of(d, op->rank, op->name) = -1;
        *entry_of(d, op->rank, op->to) = op->file;
        break;
    case POWER_LINK: *entry_of(d, op->rank, op->to) = op->file; break;
    case POWER_UNLINK: *entry_of(d, op->rank, op->name) = -1; break;
    case POWER_RESIZE: resize(f, (size_t)op->off); break;
    case POWER_MARK:
        memcpy(f->mark, data, sizeof f->mark);
        f->has_mark = true;
        break;
    case POWER_WRITE:
        if (how == POWER_PAGES)
            put_pages(f, op, data);
        else
            put(f, op->off, data, op->len);
        break;
    default: break;
    }
}

static nlink_t
count_names(const disk *d, int number)
{
    nlink_t n = 0;

    for (int i = 0; i < d->nentries; i++)
        n += d->entries[i].file == number;
    return n;
}

static image
to_image(const disk *d)
{
    image img = {.at = calloc((size_t)d->nentries + 1, sizeof *img.at)};

    assert_non_null(img.at);
    for (int i = 0; i < d->nentries; i++) {
        const entry *e = &d->entries[i];
        const file  *f = e->file >= 0 ? &d->files[e->file] : NULL;
        image_file  *to = &img.at[img.n];

        if (f == NULL)
            continue;
        assert_true(asprintf(&to->path, "node%d/%s", e->rank, e->name) > 0);
        to->data = malloc(f->size + 1);
        assert_non_null(to->data);
        if (f->size > 0)
            memcpy(to->data, f->data, f->size);
        to->size = f->size;
        to->st = (struct stat){.st_mode = S_IFREG | 0644,
                               .st_ino = (ino_t)e->file + 1,
                               .st_nlink = count_names(d, e->file)};
        memcpy(to->mark, f->mark, sizeof to->mark);
        to->has_mark = f->has_mark;
        img.n++;
    }
    return img;
}

image
power_state(const power_log *log, const scene *s, int n, power_fate (*fate)(const power_op *op))
{
    disk  d;
    image img;

    disk_start(&d, s);
    for (int i = 0; i < n; i++) {
        const power_op *op = &log->ops[i];
        power_fate      how;

        if (op->kind == POWER_CREATE) /* numbered as when it was recorded */
            assert_int_equal(new_file(&d), op->file);
        how = is_sure(log, i, n) ? POWER_KEPT : fate(op);
        if (how != POWER_LOST)
            apply(&d, log, op, how);
    }
    img = to_image(&d);
    disk_free(&d);
    return img;
}

bool
power_was_told(const power_log *log, int n)
{
    for (int i = 0; i < n; i++)
        if (log->ops[i].kind == POWER_TOLD)
            return true;
    return false;
}
