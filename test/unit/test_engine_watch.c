/* test_engine_watch.c: who wants to be told that files are rebuilt (rset_rebuild_watch) is told before, by one rank for all, how
 * many bytes of how many ranks. */
#include "twice.h"
#include "twice_change.h"

#include "common/crc64.h"
#include "names/names.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* What was told, by threads for ranks. */
typedef struct told {
    pthread_mutex_t lock;
    const twice    *w;
    int             times, there; /* how often; files that were there when it was */
    rset_rebuilding last;
    char            name[256];
} told;

static void
begins(void *arg, const rset_rebuilding *what)
{
    told *t = arg;

    pthread_mutex_lock(&t->lock);
    t->times++;
    t->there = 0;
    for (int r = 0; r < TWICE_RANKS; r++)
        t->there += access(job_data(&t->w->job, r), F_OK) == 0;
    t->last = *what;
    snprintf(t->name, sizeof t->name, "%s", what->name);
    pthread_mutex_unlock(&t->lock);
}

static rset_status
recover(twice *w, told *t, rset_rebuild_watch *watch)
{
    *t = (told){.lock = PTHREAD_MUTEX_INITIALIZER, .w = w};
    *watch = (rset_rebuild_watch){begins, t};
    w->job.watch = watch;
    return job_recover(&w->job);
}

static uint64_t
data_of(int r)
{
    return twice_sizes[r];
}

static uint64_t
redundancy_of(const twice *w, int r)
{
    return w->job.ranks[r].evidence.header.payload.size;
}

/* Data and redundancy of both, by the lower one, while both are missing still. */
static void
two_lost_nodes_are_told_once(twice *w)
{
    told               t;
    rset_rebuild_watch watch;

    twice_lose_node(w, 1);
    twice_lose_node(w, 3);
    assert_int_equal(recover(w, &t, &watch), RSET_OK);
    assert_int_equal(t.times, 1);
    assert_int_equal(t.there, 2);
    assert_int_equal(t.last.rank, 1);
    assert_int_equal(t.last.ranks, 2);
    assert_string_equal(t.name, "ckpt_1.h5");
    assert_true(t.last.lost && redundancy_of(w, 1) > 0);
    assert_int_equal(t.last.bytes,
                     data_of(1) + data_of(3) + redundancy_of(w, 1) + redundancy_of(w, 3));
}

static void
nothing_to_rebuild_is_not_told(twice *w)
{
    told               t;
    rset_rebuild_watch watch;

    assert_int_equal(recover(w, &t, &watch), RSET_OK);
    assert_int_equal(t.times, 0);
    for (int r = 0; r < TWICE_RANKS; r++)
        update(w, r, 2, END_KILLED); /* is rolled back */
    assert_int_equal(recover(w, &t, &watch), RSET_OK);
    assert_int_equal(t.times, 0);
    twice_lose_node(w, 0);
    twice_lose_node(w, 2);
    assert_int_equal(recover(w, &t, &watch), RSET_LOST);
    assert_int_equal(t.times, 0);
}

static void
damage_and_lost_redundancy_are_told_apart(twice *w)
{
    told               t;
    rset_rebuild_watch watch;

    flip_bit(job_data(&w->job, 2), 5);
    assert_int_equal(recover(w, &t, &watch), RSET_OK);
    assert_int_equal(t.times, 1);
    assert_true(t.last.damaged && !t.last.lost);
    assert_int_equal(t.last.rank, 2);
    assert_int_equal(t.last.bytes, data_of(2));
    hide(w, 3, true);
    assert_int_equal(recover(w, &t, &watch), RSET_OK);
    assert_int_equal(t.times, 1);
    assert_true(!t.last.damaged && !t.last.lost);
    assert_int_equal(t.last.bytes, redundancy_of(w, 3));
}

/* Nothing fits beside the damaged file. */
static ssize_t
full_pwrite(int fd, const void *buf, size_t len, off_t off)
{
    char          link[64], path[4096];
    const ssize_t n = (snprintf(link, sizeof link, "/proc/self/fd/%d", fd),
                       readlink(link, path, sizeof path - 1));

    path[n > 0 ? n : 0] = '\0';
    if (strstr(path, RSET_SUFFIX_FIX) == NULL)
        return rset_sys_posix.pwrite(fd, buf, len, off);
    errno = ENOSPC;
    return -1;
}

/* First the whole file; then, as there is no room for that, what is bad of it, which is written over it. */
static void
only_bad_blocks_are_told_where_there_is_no_room(twice *w)
{
    enum { SIZE = 5 * RSET_BLOCK_MIN };
    static const size_t size = SIZE;
    rset_sys            table = rset_sys_posix;
    told                t;
    rset_rebuild_watch  watch;

    w->job.extra = true;
    job_write_data(&w->job, &size, 1, 3);
    assert_int_equal(job_protect(&w->job), RSET_OK);
    flip_bit(job_data(&w->job, 2), 3 * RSET_BLOCK_MIN + 5);
    table.pwrite = full_pwrite;
    rset_sys_use(&table);
    assert_int_equal(recover(w, &t, &watch), RSET_OK);
    rset_sys_use(NULL);
    assert_int_equal(t.times, 2);
    assert_int_equal(t.last.bytes, RSET_BLOCK_MIN);
}

/* One process alone tells it of the one file that it opens. */
static void
a_serial_rebuild_is_told(twice *w)
{
    told               t = {.lock = PTHREAD_MUTEX_INITIALIZER, .w = w};
    rset_rebuild_watch watch = {begins, &t};

    unlink(job_data(&w->job, 1));
    w->job.watch = &watch;
    assert_int_equal(job_recover_serial(&w->job, 1), RSET_OK);
    assert_int_equal(t.times, 1);
    assert_int_equal(t.there, 3);
    assert_true(t.last.lost);
    assert_int_equal(t.last.rank, 1);
    assert_int_equal(t.last.ranks, 1);
    assert_int_equal(t.last.bytes, data_of(1));
    assert_int_equal(job_recover_serial(&w->job, 1), RSET_OK);
    assert_int_equal(t.times, 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TWICE_TEST(two_lost_nodes_are_told_once, KIND_RS),
        TWICE_TEST(nothing_to_rebuild_is_not_told, KIND_XOR),
        TWICE_TEST(damage_and_lost_redundancy_are_told_apart, KIND_XOR),
        TWICE_TEST(only_bad_blocks_are_told_where_there_is_no_room, KIND_XOR),
        TWICE_TEST(a_serial_rebuild_is_told, KIND_XOR),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
