/* soak_damage.c: see soak_damage.h. */
#include "soak_damage.h"

#include "common/crc64.h"

#include "soak_random.h"
#include "soak_story.h"
#include "sweep.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void note(soak_damage *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void
note(soak_damage *d, const char *fmt, ...)
{
    size_t  used = strlen(d->what);
    va_list args;

    va_start(args, fmt);
    vsnprintf(d->what + used, sizeof d->what - used, fmt, args);
    va_end(args);
}

/* Mostly one node, now and then any number of them. */
static void
lose_nodes(const soak_world *w, const image *past, soak_damage *d)
{
    uint64_t n = soak_chance(65) ? 1 : soak_chance(60) ? 2 : 1 + soak_random((uint64_t)w->job.n);

    (void)past;
    sweep_tally("nodes lost");
    for (; n > 0; n--) {
        int r = (int)soak_random((uint64_t)w->job.n);

        soak_lose(w, r);
        d->touched[r] = true;
        note(d, " lost %d", r);
    }
}

/* Redundancy and descriptor file, in whatever state. */
static void
delete_redundancy(const soak_world *w, const image *past, soak_damage *d)
{
    static const char *const suffixes[] = {"", ".void", ".new", ".fix"};
    int                      r = (int)soak_random((uint64_t)w->job.n);

    (void)past;
    sweep_tally("redundancy deleted");
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        unlink(path_of("%s%s", job_redundancy(&w->job, r), suffixes[i]));
        unlink(path_of("%s%s", job_descriptor(&w->job, r), suffixes[i]));
    }
    d->touched[r] = true;
    note(d, " bare %d", r);
}

/* Some file of some rank, with at least one byte; NULL if the first that is met is none. */
static const char *
some_file(const soak_world *w, const image *now, size_t *size_out, soak_damage *d)
{
    const image_file *f;

    if (now->n == 0)
        return NULL;
    f = &now->at[soak_random(now->n)];
    if (f->size == 0)
        return NULL;
    d->touched[atoi(f->path + strlen("node"))] = true;
    *size_out = f->size;
    return path_of("%s/%s", w->base, f->path);
}

static void
flip_bits(const soak_world *w, const image *past, soak_damage *d)
{
    image now = image_take(w->base);

    (void)past;
    sweep_tally("bits flipped");
    for (uint64_t n = 1 + soak_random(3); n > 0; n--) {
        size_t      size, at;
        const char *path = some_file(w, &now, &size, d);

        if (path == NULL)
            continue;
        at = soak_random(soak_chance(40) && size > 600 ? 600 : size);
        flip_bit(path, at);
        note(d, " flip %s:%zu", path + strlen(w->base) + 1, at);
    }
    image_free(&now);
}

static void
cut_short(const soak_world *w, const image *past, soak_damage *d)
{
    image       now = image_take(w->base);
    size_t      size, to;
    const char *path = some_file(w, &now, &size, d);

    (void)past;
    sweep_tally("files cut short or removed");
    if (path != NULL && soak_chance(30)) {
        unlink(path);
        note(d, " removed %s", path + strlen(w->base) + 1);
    } else if (path != NULL) {
        to = soak_random(size);
        if (truncate(path, (off_t)to) == 0)
            note(d, " cut %s:%zu", path + strlen(w->base) + 1, to);
    }
    image_free(&now);
}

/* Mostly of one node; now and then of so many that what they have is what counts. */
static void
bring_back_copies(const soak_world *w, const image *past, soak_damage *d)
{
    uint64_t n = soak_chance(75) ? 1 : 1 + soak_random(2 * (uint64_t)w->job.n);

    for (; past->n > 0 && n > 0; n--) {
        int r = (int)soak_random((uint64_t)w->job.n);

        sweep_tally("old copies of nodes");
        soak_lose(w, r);
        image_put(past, w->base, path_of("node%d", r));
        d->touched[r] = d->old_copy = true;
        note(d, " old copy %d", r);
    }
}

/* Two ranks are started on each other's nodes. */
static void
exchange_nodes(const soak_world *w, const image *past, soak_damage *d)
{
    const int   a = (int)soak_random((uint64_t)w->job.n), b = (int)soak_random((uint64_t)w->job.n);
    const char *aside = path_of("%s/aside", w->base);
    const char *of_a = w->job.ranks[a].dir, *of_b = w->job.ranks[b].dir;

    (void)past;
    sweep_tally("nodes exchanged");
    if (a == b || rename(of_a, aside) != 0 || rename(of_b, of_a) != 0 || rename(aside, of_b) != 0)
        return;
    d->touched[a] = d->touched[b] = true;
    note(d, " exchanged %d %d", a, b);
}

uint64_t
soak_content(const uint8_t *at, size_t n)
{
    return rset_crc64(0, at, n) | 1;
}

/* Some bytes are other ones, or there are more of them; its time is later than what any encode has recorded. */
static void
change_file(const soak_world *w, const image *past, soak_damage *d)
{
    const int   r = (int)soak_random((uint64_t)w->job.n);
    const char *path = job_data(&w->job, r);
    uint8_t     bytes[64], *now;
    size_t      size;
    int         fd = open(path, O_RDWR | O_CLOEXEC);
    struct stat sb;

    (void)past;
    if (fd < 0)
        return;
    sweep_tally("files changed by another program");
    fill_random(bytes, sizeof bytes, soak_random(UINT64_MAX));
    assert_int_equal(fstat(fd, &sb), 0);
    assert_int_equal(pwrite(fd, bytes, sizeof bytes, (off_t)soak_random((uint64_t)sb.st_size + 1)),
                     sizeof bytes);
    sb.st_mtim.tv_sec += 1 + (time_t)soak_random(1000);
    assert_int_equal(futimens(fd, (struct timespec[]){sb.st_atim, sb.st_mtim}), 0);
    close(fd);
    now = read_file(path, &size);
    d->wrote[r] = d->quiet && !d->touched[r] ? soak_content(now, size) : 0;
    free(now);
    d->touched[r] = true;
    note(d, " changed %d", r);
}

void
soak_damage_some(const soak_world *w, const image *past, soak_damage *d)
{
    static void (*const kinds[])(const soak_world *, const image *, soak_damage *) = {
        lose_nodes, flip_bits,      bring_back_copies, delete_redundancy,
        cut_short,  exchange_nodes, change_file};
    static const int weights[] = {32, 20, 12, 9, 7, 11, 9};
    const size_t     before = strlen(d->what);

    kinds[soak_pick(weights, sizeof weights / sizeof *weights)](w, past, d);
    soak_story_note("  damage:%s", d->what + before);
}
