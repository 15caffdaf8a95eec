/* where.c: see where.h. */
#include "where.h"

#include "common/crc64.h"
#include "store/store.h"

#include <string.h>

enum { PARTS = 256 };

/* The parts of a directory's path. */
typedef struct parts {
    const char *at[PARTS];
    size_t      len[PARTS];
    int         n; /* -1: the path is not absolute, or has too many */
} parts;

static parts
parts_of(const char *path, size_t len)
{
    const char *end = path + len;
    parts       p = {.n = path[0] == '/' ? 0 : -1};

    while (p.n >= 0 && path < end) {
        const char *slash = memchr(path, '/', (size_t)(end - path));
        const char *stop = slash != NULL ? slash : end;

        if (stop > path && p.n == PARTS) {
            p.n = -1;
        } else if (stop > path) {
            p.at[p.n] = path;
            p.len[p.n++] = (size_t)(stop - path);
        }
        path = stop + 1;
    }
    return p;
}

/* Of a file's path. */
static parts
dir_parts(const char *path)
{
    return parts_of(path, (size_t)(rset_path_base(path) - path));
}

static bool
is_same(const parts *a, int i, const parts *b, int k)
{
    return a->len[i] == b->len[k] && memcmp(a->at[i], b->at[k], a->len[i]) == 0;
}

static int
alike_head(const parts *a, const parts *b)
{
    int n = 0;

    while (n < a->n && n < b->n && is_same(a, n, b, n))
        n++;
    return n;
}

static int
alike_tail(const parts *a, const parts *b)
{
    int n = 0;

    while (n < a->n && n < b->n && is_same(a, a->n - 1 - n, b, b->n - 1 - n))
        n++;
    return n;
}

static uint64_t
hash_of(const parts *p, int head, int tail)
{
    uint64_t hash = 1;

    for (int i = 0; i < p->n; i++)
        if (i < head || i >= p->n - tail)
            hash = rset_crc64(rset_crc64(hash, p->at[i], p->len[i]), "/", 1);
    return hash;
}

static void
add(rset_where *w, const parts *p, int head, int tail, int count)
{
    w->form[w->n++] = (rset_where_form){.hash = hash_of(p, head, tail),
                                        .head = (int16_t)head,
                                        .tail = (int16_t)tail,
                                        .parts = (int16_t)count};
}

rset_where
rset_where_of(const rset_header *header, int k, const char *dir)
{
    const char *path = header->infos[k].nfiles > 0 ? header->infos[k].files[0].path : "";
    const parts own = dir_parts(path);
    parts       now = {.n = -1};
    rset_where  w = {0};
    int         head = own.n, tail = own.n, alike;

    if (own.n < 0)
        return w;
    for (int i = 0; i < header->ninfos; i++) {
        const parts other =
            dir_parts(header->infos[i].nfiles > 0 ? header->infos[i].files[0].path : path);
        const int h = alike_head(&own, &other), t = alike_tail(&own, &other);

        head = h < head ? h : head;
        tail = t < tail ? t : tail;
    }
    tail = tail > own.n - head ? own.n - head : tail;
    add(&w, &own, head, tail, own.n);
    if (dir != NULL && dir[0] == '/')
        now = parts_of(dir, strlen(dir));
    if (now.n < 0)
        return w;
    /* Seen through another path, or brought there: what differed between ranks still does. */
    if (now.n >= own.n)
        add(&w, &now, head + now.n - own.n, tail, now.n);
    alike = alike_tail(&own, &now);
    if (head + tail == own.n &&
        (alike < own.n || now.n > own.n)) /* the end tells them apart, if it has stayed */
        add(&w, &now, 0, alike, -1);
    return w;
}

static bool
has_form(const parts *p, const rset_where_form *f)
{
    return p->n >= 0 && f->head >= 0 && f->tail >= 0 && f->head <= p->n &&
           f->tail <= p->n - f->head && (f->parts < 0 || f->parts == p->n) &&
           hash_of(p, f->head, f->tail) == f->hash;
}

bool
rset_where_fits(const rset_where *where, const char *dir, const char *path)
{
    const parts recorded = dir_parts(path);
    const parts opened = dir != NULL ? parts_of(dir, strlen(dir)) : (parts){.n = -1};
    bool        fits = where->n <= 0 || (recorded.n < 0 && opened.n < 0);

    for (int i = 0; !fits && i < where->n && i < RSET_WHERE_FORMS; i++)
        fits = has_form(&recorded, &where->form[i]) || has_form(&opened, &where->form[i]);
    return fits;
}
