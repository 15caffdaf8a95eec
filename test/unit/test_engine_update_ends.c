/* test_engine_update_ends.c: an update, or an encode, that all ranks have decided on comes to its end: whatever fails in the
 * opens that follow, and when what it was to go into is gone (P2, P11). */
#include "every.h"
#include "failing.h"
#include "member/delta.h"
#include "names/names.h"
#include "updates.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* Recovers from there while a call that looks at something fails once, on that rank, and then without. */
static void
try_each_failure(world *w, int rank, const image *decided, const image *done)
{
    char why[1024];
    bool hit = true;

    for (int at = 1 + every_skip(); hit; at += every_step()) {
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

/* All write, and the job dies when all have an update complete; rank 1 has decided on it. */
static void
die_decided(world *w, int k)
{
    update_open(w, k);
    changing = 0x1f;
    version = 2;
    w->job.change = change;
    job_die_decided(&w->job, 1U << 1);
    w->job.change = NULL;
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

        die_decided(&w, some_kinds[i]);
        decided = image_take(w.base);
        assert_int_equal(job_recover(&w.job), RSET_OK);
        done = image_take(w.base);
        try_each_failure(&w, 1, &decided, &done);
        image_free(&decided);
        image_free(&done);
        update_close(&w);
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
    update_open(&w, 0); /* SINGLE: nobody else could help */
    free(w.job.ranks[3].names[0]);
    w.job.ranks[3].names[0] = NULL;
    w.job.ranks[3].nfiles = 0;
    w.job.update = false;
    assert_int_equal(job_protect(&w.job), RSET_OK);
    before = image_take(w.base);
    job_write_data(&w.job, update_sizes, N, 2);
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
    update_close(&w);
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
    for (int k = 0; k < KINDS; k++) {
        world    w;
        rset_sys sys = rset_sys_posix;

        update_open(&w, k);
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
        assert_int_equal(exists(job_redundancy(&w.job, 1)),
                         k == 0); /* an update of SINGLE is all of it */
        if (job_recover(&w.job) != RSET_OK || !w.job.ranks[0].out.protected_)
            fail_msg("%s: %s", w.what, job_text(&w.job));
        assert_like_an_encode(&w);
        update_close(&w);
    }
}

/* Makes the redundancy file of rank r, which had decided on an update of it before its job died, `by` bytes longer, or shorter. */
static void
resize_base(const world *w, int r, long by)
{
    const char *base = path_of("%s" RSET_SUFFIX_VOID, job_redundancy(&w->job, r));
    struct stat sb;

    assert_int_equal(stat(base, &sb), 0);
    assert_int_equal(truncate(base, sb.st_size + by), 0);
}

/* P2: it takes the update as what it is, and what is not as recorded then is recomputed from the others'; the open comes to an end. */
static void
a_base_of_another_size_is_recomputed(void **state)
{
    static const long by[] = {-1, 1, -700, 50000};

    (void)state;
    for (int k = 0; k < KINDS; k++)
        for (size_t i = 0; i < sizeof by / sizeof *by; i++) {
            world w;

            die_decided(&w, k);
            resize_base(&w, 1, by[i]);
            if (job_recover(&w.job) != RSET_OK || !w.job.ranks[0].out.protected_)
                fail_msg("%s, %ld: %s", w.what, by[i], job_text(&w.job));
            assert_like_an_encode(&w);
            update_close(&w);
        }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_decided_update_stays_decided),
        cmocka_unit_test(a_published_encode_stays_published),
        cmocka_unit_test(a_lost_base_is_recomputed),
        cmocka_unit_test(a_base_of_another_size_is_recomputed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
