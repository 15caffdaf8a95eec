/* test_engine_update.c: encoding only what has changed (update.c, delta.h): what comes of it is what encoding
 * the whole gives, under the same promises (P1, P2, P11). */
#include "common/bytes.h"
#include "failing.h"
#include "image.h"
#include "job.h"
#include "member/delta.h"
#include "member/journal.h"
#include "member/names.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { N = 5, BLOCK = RSET_BLOCK_MIN };

static const struct {
    const rset_scheme *scheme;
    int                parity;
} kinds[] = {{&rset_scheme_single, 0}, {&rset_scheme_partner, 1}, {&rset_scheme_partner, 2},
             {&rset_scheme_xor, 1},    {&rset_scheme_rs, 2},      {&rset_scheme_rs, 3}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const size_t sizes[N] = {12 * BLOCK, 9 * BLOCK + 77, 5 * BLOCK, 0, 3};

typedef struct write_of {
    uint64_t off;
    size_t   len;
} write_of;

/* What ranks write: within a block, across blocks, the end, the same twice, nothing. */
static const struct {
    write_of at[3];
} writes[N] = {{{{10, 5}, {3 * BLOCK - 100, 300}, {11, 2}}},
               {{{9 * BLOCK + 70, 7}, {0, 1}, {9 * BLOCK, 10}}},
               {{{2 * BLOCK, 5000}}},
               {{{0, 0}}},
               {{{1, 1}}}};

typedef struct world {
    char *base;
    job   job;
    char  what[64];
} world;

static void
open_world(world *w, int k)
{
    *w = (world){.base = scratch_make()};
    snprintf(w->what, sizeof w->what, "%s %d", kinds[k].scheme->name, kinds[k].parity);
    job_init(&w->job, w->base, N, kinds[k].scheme, kinds[k].parity, N);
    job_write_data(&w->job, sizes, N, 1);
    assert_int_equal(job_protect(&w->job), RSET_OK);
    w->job.update = true;
}

static void
close_world(world *w)
{
    remove_tree(w->base);
    free(w->base);
    job_free(&w->job);
}

/* ---- what ranks do before they close ---- */

static unsigned changing; /* bit r: rank r writes */
static int      version;  /* what it writes */
static size_t   growing;  /* and so many bytes beyond its end */

static int  rotten = -1; /* number of the entry of rank 0's journal that rots before it is used */
static bool has_rotten;

/* False: it has no entry of that number. */
static bool
rot_entry(const char *journal, int number)
{
    size_t   size, at = RSET_UNDO_ENTRIES;
    uint8_t *bytes = read_file(journal, &size);

    for (; number > 0 && at + RSET_OVERLAY_ENTRY < size; number--)
        at += RSET_OVERLAY_ENTRY + (size_t)rset_get64(bytes + at + 8);
    free(bytes);
    if (at + RSET_OVERLAY_ENTRY >= size)
        return false;
    flip_bit(journal, at);
    return true;
}

static rset_status
change(job *j, int r, rset_local *local)
{
    job_rank     *k = &j->ranks[r];
    rset_journal *journal = NULL;
    rset_file    *file = NULL;
    uint8_t       bytes[8192];
    rset_status   st;

    if ((changing >> r & 1) == 0)
        return RSET_OK;
    st = rset_journal_begin(local, &k->evidence, true, &journal, &k->err);
    if (st == RSET_OK)
        st = rset_file_open_update(local->dir, k->names[0], &file, &k->err);
    for (int i = 0; st == RSET_OK && i < 4; i++) {
        write_of at = i < 3 ? writes[r].at[i] : (write_of){sizes[r], growing};

        fill_random(bytes, at.len, (uint64_t)(version * 100 + i));
        st = rset_journal_save(journal, at.off, at.len, &k->err);
        if (st == RSET_OK && at.len > 0)
            st = rset_file_write(file, at.off, bytes, at.len, &k->err);
    }
    rset_file_close(file, NULL);
    rset_journal_leave(journal);
    if (r == 0 && rotten >= 0)
        has_rotten = rot_entry(path_of("%s/%s" RSET_NAME_JOURNAL, k->dir, k->prefix), rotten);
    return st;
}

static ino_t
inode(const world *w, int r)
{
    struct stat sb;

    assert_int_equal(stat(job_redundancy(&w->job, r), &sb), 0);
    return sb.st_ino;
}

/* The ranks in `ranks` write, and all protect. True: by an update. */
static bool
write_and_protect(world *w, unsigned ranks, int v)
{
    ino_t before[N];
    bool  updated = true;

    for (int r = 0; r < N; r++)
        before[r] = inode(w, r);
    changing = ranks;
    version = v;
    w->job.change = change;
    if (job_protect(&w->job) != RSET_OK)
        fail_msg("%s: %s", w->what, job_text(&w->job));
    w->job.change = NULL;
    for (int r = 0; r < N; r++) {
        if (inode(w, r) != before[r])
            updated = false;
    }
    return updated;
}

/* ---- what must hold then ---- */

static void
evidence_of(const world *w, int r, rset_evidence *ev)
{
    const job_rank *k = &w->job.ranks[r];
    rset_err        err = RSET_ERR_NONE;
    rset_dir       *dir;

    assert_int_equal(rset_dir_open(k->dir, false, &dir, &err), RSET_OK);
    assert_int_equal(rset_survey(dir, k->prefix, k->names[0], ev, &err), RSET_OK);
    rset_dir_close(dir);
}

static void
assert_same_sums(const char *what, const rset_sums *a, const rset_sums *b)
{
    if (a->nblocks != b->nblocks || a->whole != b->whole || rset_sums_differ(a, b, 0) < a->nblocks)
        fail_msg("%s: other checksums than those of an encode", what);
}

/* As if all had been encoded: same checksums, same payload, and nothing else lies around. */
static void
assert_like_an_encode(world *w)
{
    image         updated = image_take(w->base);
    rset_evidence was[N];

    assert_int_equal(updated.n, 3 * N);
    w->job.update = false;
    for (int r = 0; r < N; r++)
        evidence_of(w, r, &was[r]);
    assert_int_equal(job_protect(&w->job), RSET_OK);
    for (int r = 0; r < N; r++) {
        rset_evidence     is;
        size_t            size;
        uint8_t          *bytes = read_file(job_redundancy(&w->job, r), &size);
        const image_file *f =
            image_find(&updated, job_redundancy(&w->job, r) + strlen(w->base) + 1);

        evidence_of(w, r, &is);
        assert_true(was[r].has_header && !was[r].is_void && rset_evidence_described(&was[r]));
        for (int d = 0; d < is.header.ninfos; d++)
            assert_same_sums(w->what, &was[r].header.infos[d].files[0].sums,
                             &is.header.infos[d].files[0].sums);
        assert_same_sums(w->what, &was[r].header.payload, &is.header.payload);
        assert_int_equal(f->size - was[r].payload_at, size - is.payload_at);
        assert_memory_equal(f->data + was[r].payload_at, bytes + is.payload_at,
                            size - is.payload_at);
        free(bytes);
        rset_evidence_free(&is);
        rset_evidence_free(&was[r]);
    }
    image_put(&updated, w->base, NULL);
    image_free(&updated);
    w->job.update = true;
}

static void
assert_heals(world *w)
{
    image all = image_take(w->base);
    char  why[1024];

    for (unsigned mask = 0; mask < 1U << N; mask++) {
        bool lost[JOB_RANKS];

        job_mask(&w->job, mask, lost);
        if (!job_survives(&w->job, lost))
            continue;
        job_lose(&w->job, lost);
        if (job_recover(&w->job) != RSET_OK)
            fail_msg("%s, losses %x: %s", w->what, mask, job_text(&w->job));
        for (int r = 0; r < N; r++) {
            const char *name = path_of("node%d/%s", r, w->job.ranks[r].names[0]);

            if (!image_same(&all, w->base, name, IMAGE_CONTENT, why))
                fail_msg("%s, losses %x: %s", w->what, mask, why);
        }
    }
    image_put(&all, w->base, NULL);
    image_free(&all);
}

/* ---- the tests ---- */

static void
an_update_is_an_encode(void **state)
{
    static const unsigned who[] = {0x1f, 1, 2, 0x14, 0};

    (void)state;
    for (int k = 0; k < KINDS; k++) {
        world w;

        open_world(&w, k);
        for (size_t i = 0; i < sizeof who / sizeof *who; i++) {
            if (!write_and_protect(&w, who[i], (int)i + 2))
                fail_msg("%s: not by an update", w.what);
            assert_like_an_encode(&w);
            if (i % 3 == 0)
                assert_heals(&w);
        }
        close_world(&w);
    }
}

/* What does not fit the redundancy that is there, or would cost more. */
static void
the_rest_is_encoded(void **state)
{
    static uint8_t much[10 * BLOCK];

    (void)state;
    for (int k = 1; k < KINDS; k++) {
        world w;

        open_world(&w, k);
        growing = 100;
        assert_false(write_and_protect(&w, 1, 2));
        growing = 0;
        assert_like_an_encode(&w);
        close_world(&w);
        open_world(&w, k); /* changed without a journal */
        fill_random(much, sizeof much, 5);
        assert_int_equal(
            rename(job_redundancy(&w.job, 1), path_of("%s.void", job_redundancy(&w.job, 1))), 0);
        write_file(job_data(&w.job, 1), much, sizes[1]);
        changing = 0;
        assert_int_equal(job_protect(&w.job), RSET_OK);
        assert_like_an_encode(&w);
        assert_heals(&w);
        close_world(&w);
    }
}

/* P2: what is built on is not what was recorded. Everything is encoded; the bytes that the program has
 * are right. */
static void
rot_is_not_built_on(void **state)
{
    (void)state;
    for (int k = 1; k < KINDS; k++)
        for (int payload = 0; payload < 2; payload++) {
            world         w;
            rset_evidence ev;

            open_world(&w, k);
            evidence_of(&w, 1, &ev);
            if (payload) /* wherever a change of rank 0 arrives */
                for (size_t b = 0; b < ev.header.payload.nblocks; b++)
                    flip_bit(job_redundancy(&w.job, 1), ev.payload_at + b * BLOCK + 2);
            else
                flip_bit(job_data(&w.job, 0), 2 * BLOCK + 9);
            rset_evidence_free(&ev);
            assert_false(write_and_protect(&w, 1, 2));
            assert_like_an_encode(&w);
            assert_heals(&w);
            close_world(&w);
        }
}

/* P11: so does an encode that took the place of an update. */
static void
an_encode_after_all_goes_forward(void **state)
{
    (void)state;
    for (int k = 1; k < KINDS; k++) {
        world w;

        open_world(&w, k);
        flip_bit(job_data(&w.job, 0), 2 * BLOCK + 9); /* what the update would build on */
        changing = 1;
        version = 2;
        w.job.change = change;
        job_die_publishing(&w.job, 1U << 0 | 1U << 1);
        w.job.change = NULL;
        assert_true(exists(job_redundancy(&w.job, 1)));
        if (job_recover(&w.job) != RSET_OK || !w.job.ranks[0].out.protected_)
            fail_msg("%s: %s", w.what, job_text(&w.job));
        assert_like_an_encode(&w);
        close_world(&w);
    }
}

/* P2: an entry of the journal cannot be read any more, and with it those that follow. What they say has
 * changed would be taken for unchanged, and later for damage. */
static void
rot_in_the_journal_hides_no_change(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++)
        for (rotten = 0, has_rotten = true; has_rotten; rotten++) {
            world w;

            open_world(&w, k);
            if (write_and_protect(&w, 1, 2) && has_rotten)
                fail_msg("%s: an update, without entry %d of the journal", w.what, rotten);
            assert_like_an_encode(&w);
            if (!has_rotten)
                assert_true(rotten >= 2);
            close_world(&w);
        }
    rotten = -1;
}

/* ---- an update that is decided on, and a disk that fails ---- */

/* Recovers from there while a call that looks at something fails once, on that rank, and then without. */
static void
try_each_failure(world *w, int rank, const image *decided, const image *done)
{
    char why[1024];
    bool hit = true;

    for (int at = 1; hit; at++) {
        for (int r = 0; r < N; r++)
            remove_tree(w->job.ranks[r].dir);
        image_put(decided, w->base, NULL);
        (void)failing_run(&w->job, job_recover, FAILING_LOOKS, rank, at, &hit);
        if (job_recover(&w->job) != RSET_OK || !w->job.ranks[0].out.protected_)
            fail_msg("%s, call %d: %s", w->what, at, job_text(&w->job));
        if (!image_same(done, w->base, NULL, IMAGE_CONTENT, why))
            fail_msg("%s, call %d: %s", w->what, at, why);
    }
}

/* P11: whatever becomes of the open in which the disk fails, the next one finds all of the update: also when the
 * only one who had decided could not see it. */
static void
a_decided_update_stays_decided(void **state)
{
    static const int some_kinds[] = {0, 3}; /* SINGLE, XOR: sweep_io tries all */

    (void)state;
    for (size_t i = 0; i < sizeof some_kinds / sizeof *some_kinds; i++) {
        world w;
        image decided, done;

        open_world(&w, some_kinds[i]);
        changing = 0x1f;
        version = 2;
        w.job.change = change;
        job_die_decided(&w.job, 1U << 1);
        w.job.change = NULL;
        decided = image_take(w.base);
        assert_int_equal(job_recover(&w.job), RSET_OK);
        done = image_take(w.base);
        try_each_failure(&w, 1, &decided, &done);
        image_free(&decided);
        image_free(&done);
        close_world(&w);
    }
}

/* The same for an encode of the whole that two ranks have published, one of them not yet its descriptor: it and
 * the others have what they had published before, void, beside it. One rank has no file at all. */
static void
a_published_encode_stays_published(void **state)
{
    world w;
    image published, done, before;

    (void)state;
    open_world(&w, 0); /* SINGLE: nobody else could help */
    free(w.job.ranks[3].names[0]);
    w.job.ranks[3].names[0] = NULL;
    w.job.ranks[3].nfiles = 0;
    w.job.update = false;
    assert_int_equal(job_protect(&w.job), RSET_OK);
    before = image_take(w.base);
    job_write_data(&w.job, sizes, N, 2);
    assert_int_equal(job_protect(&w.job), RSET_OK);
    done = image_take(w.base);
    for (int r = 0; r < N; r++) {
        const char       *name = job_redundancy(&w.job, r), *desc = job_descriptor(&w.job, r);
        const image_file *old = image_find(&before, name + strlen(w.base) + 1);

        if (r == 2)
            continue;
        if (r != 1)
            assert_int_equal(rename(name, path_of("%s" RSET_SUFFIX_NEW, name)), 0);
        assert_int_equal(rename(desc, path_of("%s" RSET_SUFFIX_NEW, desc)), 0);
        write_file(path_of("%s" RSET_SUFFIX_VOID, name), old->data, old->size);
    }
    published = image_take(w.base);
    for (int rank = 0; rank < 2; rank++)
        try_each_failure(&w, rank, &published, &done);
    image_free(&before);
    image_free(&published);
    image_free(&done);
    close_world(&w);
}

/* Redundancy file, void while its data changes, that is gone when its rank decides on an update. */
static char vanishing[256];

static int
vanish_when_decided(int from_dir, const char *from, int to_dir, const char *to)
{
    size_t n = strlen(vanishing) - strlen(RSET_SUFFIX_VOID);

    if (strncmp(to, vanishing, n) == 0 && strcmp(to + n, RSET_SUFFIX_REDO) == 0)
        (void)unlinkat(to_dir, vanishing, 0);
    return rset_sys_posix.renameat(from_dir, from, to_dir, to);
}

/* P2: what an update was to go into is gone when all ranks have decided on it, on one of them. The others have
 * theirs, and it is recomputed from them as any redundancy file that is lost. */
static void
a_lost_base_is_recomputed(void **state)
{
    (void)state;
    for (int k = 1; k < KINDS; k++) {
        world    w;
        rset_sys sys = rset_sys_posix;

        open_world(&w, k);
        snprintf(vanishing, sizeof vanishing, "%s" RSET_SUFFIX_VOID,
                 strrchr(job_redundancy(&w.job, 1), '/') + 1);
        sys.renameat = vanish_when_decided;
        rset_sys_use(&sys);
        changing = 0x1f;
        version = 2;
        w.job.change = change;
        assert_int_equal(job_protect(&w.job), RSET_OK);
        w.job.change = NULL;
        rset_sys_use(NULL);
        assert_false(exists(job_redundancy(&w.job, 1)));
        if (job_recover(&w.job) != RSET_OK || !w.job.ranks[0].out.protected_)
            fail_msg("%s: %s", w.what, job_text(&w.job));
        assert_like_an_encode(&w);
        close_world(&w);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_update_is_an_encode),
        cmocka_unit_test(the_rest_is_encoded),
        cmocka_unit_test(rot_is_not_built_on),
        cmocka_unit_test(an_encode_after_all_goes_forward),
        cmocka_unit_test(rot_in_the_journal_hides_no_change),
        cmocka_unit_test(a_decided_update_stays_decided),
        cmocka_unit_test(a_published_encode_stays_published),
        cmocka_unit_test(a_lost_base_is_recomputed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
