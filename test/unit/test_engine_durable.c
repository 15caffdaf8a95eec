/* test_engine_durable.c: what is renamed was made durable before, what was renamed is made durable before
 * anyone says so, and nobody publishes before all are complete (P3, P11). A power failure cannot be had
 * here, so the order of the calls that it depends on is watched. */
#include "member/journal.h"
#include "twice.h"
#include "twice_change.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

enum { SEEN = 128 };

/* What was written, or renamed in, and not synced since; and what was synced at all. */
typedef struct seen {
    dev_t dev;
    ino_t ino;
    bool  dirty, synced;
} seen;

static struct {
    pthread_mutex_t lock;
    seen            at[SEEN];
    int             n, renames;
    bool            encode; /* no rename as long as any rank has something unsynced */
    char            why[1024];
} watched = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local bool slow;

static void
complain(const char *what, const char *name)
{
    if (watched.why[0] == '\0')
        snprintf(watched.why, sizeof watched.why, "%s %s", name, what);
}

static seen *
find(const struct stat *sb)
{
    seen *s = watched.at;

    while (s < watched.at + watched.n && (s->dev != sb->st_dev || s->ino != sb->st_ino))
        s++;
    if (s == watched.at + watched.n) {
        watched.n += watched.n < SEEN - 1;
        *s = (seen){.dev = sb->st_dev, .ino = sb->st_ino};
    }
    return s;
}

static void
written(int fd)
{
    struct stat sb;

    if (rset_sys_posix.fstat(fd, &sb) != 0)
        return;
    pthread_mutex_lock(&watched.lock);
    find(&sb)->dirty = true;
    pthread_mutex_unlock(&watched.lock);
}

/* One that lists the redundancy file already: nothing rests on what is added to it. */
static bool
is_names_file(const void *buf, size_t len)
{
    return len > 8 && memcmp(buf, "RSETNAM3", 8) == 0;
}

static ssize_t
watch_pwrite(int fd, const void *buf, size_t len, off_t off)
{
    if (!is_names_file(buf, len))
        written(fd);
    return rset_sys_posix.pwrite(fd, buf, len, off);
}

static int
watch_ftruncate(int fd, off_t len)
{
    written(fd);
    return rset_sys_posix.ftruncate(fd, len);
}

static int
watch_fsync(int fd)
{
    const struct timespec nap = {.tv_nsec = 30000000};
    struct stat           sb;

    if (slow)
        nanosleep(&nap, NULL); /* whoever does not wait for this rank is well ahead of it */
    if (rset_sys_posix.fstat(fd, &sb) == 0) {
        pthread_mutex_lock(&watched.lock);
        find(&sb)->dirty = false;
        find(&sb)->synced = true;
        pthread_mutex_unlock(&watched.lock);
    }
    return rset_sys_posix.fsync(fd);
}

static bool
is_shadow(const char *name)
{
    return strstr(name, ".h5.redset.") != NULL && strstr(name, ".new") != NULL;
}

static int
watch_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    const bool  publishes = !is_shadow(to); /* else it is a shadow file that is prepared */
    struct stat file, dir;
    int         rc;

    pthread_mutex_lock(&watched.lock);
    if (rset_sys_posix.fstatat(from_dir, from, &file, 0) == 0 && find(&file)->dirty)
        complain("was renamed before it was synced", from);
    for (int i = 0; publishes && watched.encode && watched.renames == 0 && i < watched.n; i++)
        if (watched.at[i].dirty)
            complain("was published before all ranks were complete", from);
    if (publishes && is_shadow(from) && rset_sys_posix.fstat(to_dir, &dir) == 0 &&
        find(&dir)->dirty)
        complain("got its name before its redundancy had", from);
    watched.renames += publishes;
    rc = rset_sys_posix.renameat(from_dir, from, to_dir, to);
    if (rset_sys_posix.fstat(to_dir, &dir) == 0)
        find(&dir)->dirty = true;
    pthread_mutex_unlock(&watched.lock);
    return rc;
}

static void
arm(int rank, void *arg)
{
    (void)arg;
    slow = rank == TWICE_RANKS - 1;
}

static void
watch_begin(twice *w, bool encode)
{
    static rset_sys table;

    table = rset_sys_posix;
    table.pwrite = watch_pwrite;
    table.ftruncate = watch_ftruncate;
    table.fsync = watch_fsync;
    table.renameat = watch_renameat;
    watched.n = watched.renames = 0;
    watched.encode = encode;
    watched.why[0] = '\0';
    w->job.before = arm;
    rset_sys_use(&table);
}

/* Everything that was renamed is durable now. */
static void
watch_end(twice *w, const char *what)
{
    rset_sys_use(NULL);
    w->job.before = NULL;
    assert_true(watched.n < SEEN - 1);
    if (watched.why[0] != '\0')
        fail_msg("%s, %s: %s", w->what, what, watched.why);
    assert_int_not_equal(watched.renames, 0);
    for (int i = 0; i < watched.n; i++)
        if (watched.at[i].dirty)
            fail_msg("%s, %s: something written or renamed was never synced", w->what, what);
}

static bool
was_synced(const char *path)
{
    struct stat sb;

    return stat(path, &sb) == 0 && find(&sb)->synced;
}

static void
an_encode_is_durable_before_it_counts(twice *w)
{
    job_write_data(&w->job, twice_sizes, TWICE_RANKS, 3);
    watch_begin(w, true);
    assert_int_equal(job_protect(&w->job), RSET_OK);
    watch_end(w, "encode");
    for (int r = 0; r < TWICE_RANKS; r++) { /* what the application wrote as well */
        assert_true(was_synced(job_data(&w->job, r)));
        assert_true(was_synced(job_redundancy(&w->job, r)));
        assert_true(was_synced(job_descriptor(&w->job, r)));
        assert_true(was_synced(w->job.ranks[r].dir));
    }
}

/* P11: a shadow file gets its name when what says so is durable: else a power failure leaves new files, and
 * nothing that knows of them. */
static void
a_new_file_comes_after_its_redundancy(twice *w)
{
    for (int r = 0; r < TWICE_RANKS; r++) {
        write_file(shadow_of(w, r), "new", 3);
        w->job.ranks[r].shadow =
            rset_name_of(RSET_NAME_SHADOW, w->job.ranks[r].prefix, SHADOW_GENERATION);
        assert_non_null(w->job.ranks[r].shadow);
    }
    watch_begin(w, true);
    assert_int_equal(job_protect(&w->job), RSET_OK);
    watch_end(w, "encode of shadow files");
}

static void
a_rebuild_is_durable_before_it_counts(twice *w, int r)
{
    twice_lose_node(w, r);
    watch_begin(w, false);
    assert_int_equal(job_recover(&w->job), RSET_OK);
    watch_end(w, "rebuild");
    assert_true(was_synced(job_data(&w->job, r)));
    twice_assert_image(w, &w->new, NULL, IMAGE_CONTENT);
}

/* P3: what says that protection is void is on disk before the first byte changes. */
static void
a_void_mark_is_durable(void **state)
{
    (void)state;
    for (int keep = 0; keep < 2; keep++)
        for (int r = 0; r < TWICE_RANKS; r++) {
            twice         w;
            rset_err      err = RSET_ERR_NONE;
            rset_dir     *dir;
            rset_evidence ev;
            rset_journal *journal;
            job_rank     *k;
            rset_local    local;

            twice_open(&w, twice_kinds[1]);
            k = &w.job.ranks[r];
            assert_int_equal(rset_dir_open(k->dir, false, &dir, &err), RSET_OK);
            local = (rset_local){.dir = dir,
                                 .prefix = k->prefix,
                                 .nfiles = 1,
                                 .names = (const char *const *)k->names,
                                 .paths = (const char *const *)k->names};
            assert_int_equal(rset_survey(dir, k->prefix, k->names[0], &ev, &err), RSET_OK);
            watch_begin(&w, false);
            assert_int_equal(rset_change_begin(&local, &ev, keep != 0, &journal, &err), RSET_OK);
            watch_end(&w, "void mark");
            assert_true(was_synced(k->dir));
            assert_true(exists(path_of("%s.void", job_redundancy(&w.job, r))));
            assert_non_null(journal);
            assert_int_equal(rset_journal_leads_back(journal), keep);
            rset_journal_leave(journal);
            rset_evidence_free(&ev);
            rset_dir_close(dir);
            twice_close(&w);
        }
}

/* What counts as closed, although nobody could protect it, is not torn by a power failure. */
static void
what_was_closed_is_durable(twice *w, int shadow)
{
    watch_begin(w, false);
    if (shadow) {
        write_shadow(w, 1, 3000);
        put_in_place(w, 1);
    } else {
        update(w, 1, CHANGES, END_CLOSED);
    }
    rset_sys_use(NULL);
    assert_true(was_synced(job_data(&w->job, 1)));
}

/* ---- no more than that ---- */

static int syncs;

static int
count_fsync(int fd)
{
    syncs++;
    return rset_sys_posix.fsync(fd);
}

static int
syncs_until_now(void)
{
    const int n = syncs;

    syncs = 0;
    return n;
}

/* A loop of many small files costs what its syncs cost (docs/performance.md). */
static void
one_rank_syncs_no_more_than_it_has_to(void **state)
{
    static const size_t size[] = {5000};
    rset_sys            table = rset_sys_posix;
    char               *base = scratch_make();
    job                 j;
    rset_local          local;
    rset_evidence       ev = {0};
    rset_journal       *journal = NULL;
    rset_dir           *dir = NULL;
    rset_err            err = RSET_ERR_NONE;

    (void)state;
    table.fsync = count_fsync;
    job_init(&j, base, 1, &rset_scheme_single, 0, 1);
    job_write_data(&j, size, 1, 1);
    rset_sys_use(&table);
    (void)syncs_until_now();
    assert_int_equal(job_protect(&j), RSET_OK);
    assert_int_equal(syncs_until_now(),
                     5); /* names file, data, descriptor, redundancy; the names */
    assert_int_equal(rset_dir_open(j.ranks[0].dir, false, &dir, &err), RSET_OK);
    local = (rset_local){.dir = dir,
                         .prefix = j.ranks[0].prefix,
                         .nfiles = 1,
                         .names = (const char *const *)j.ranks[0].names,
                         .paths = (const char *const *)j.ranks[0].names};
    assert_int_equal(rset_survey_local(&local, &ev, &err), RSET_OK);
    assert_int_equal(rset_change_begin(&local, &ev, true, &journal, &err), RSET_OK);
    assert_int_equal(syncs_until_now(), 2); /* the journal; its name and the void mark */
    rset_sys_use(NULL);
    rset_journal_leave(journal);
    rset_evidence_free(&ev);
    rset_dir_close(dir);
    job_free(&j);
    remove_tree(base);
    free(base);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rank_syncs_no_more_than_it_has_to),
        TWICE_TEST(an_encode_is_durable_before_it_counts, EACH_KIND),
        TWICE_TEST(a_new_file_comes_after_its_redundancy, KIND_XOR),
        TWICE_TEST_FOR(a_rebuild_is_durable_before_it_counts, EACH_KIND, 0, TWICE_RANKS),
        cmocka_unit_test(a_void_mark_is_durable),
        TWICE_TEST_FOR(what_was_closed_is_durable, KIND_XOR, 0, 2),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
