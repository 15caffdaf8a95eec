/* test_engine_commit.c: generations, commits that did not finish, and void marks (P3, P4, P11, B2,
 * B3): what is on disk afterwards is the old or the new state, or the open is refused. */
#include "commit/commit.h"
#include "twice_change.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- B3: mixed generations ---- */

static void
old_copy_of_a_node_is_healed(twice *w, int r)
{
    twice_node_as(w, &w->old, r);
    twice_assert_recovers_to(w, &w->new);
    if (w->kind.parity == 2) {
        twice_node_as(w, &w->old, r);
        twice_lose_node(w, (r + 1) % TWICE_RANKS);
        twice_assert_recovers_to(w, &w->new);
        twice_node_as(w, &w->old, r); /* two against two: the newer */
        twice_node_as(w, &w->old, (r + 2) % TWICE_RANKS);
        twice_assert_recovers_to(w, &w->new);
    }
}

static void
too_many_old_copies_are_refused(twice *w)
{
    twice_node_as(w, &w->old, 0);
    twice_node_as(w, &w->old, 1);
    twice_assert_refused(w);
    twice_node_as(w, &w->new, 1);
    twice_lose_node(w, 1);
    twice_assert_refused(w);
}

/* A file whose redundancy was swapped for that of the other generation is never taken for good. */
static void
old_redundancy_beside_new_data(twice *w, int r)
{
    twice_node_as(w, &w->old, r);
    image_put(&w->new, w->base, path_of("node%d/ckpt_%d.h5", r, r));
    twice_assert_recovers_to(w, &w->new);
}

/* A copy that was made of a node while its file was being changed, one commit ago: its void mark is about that
 * commit. By this one its file is damaged, not changed by the program, and never left as it is. */
static void
old_copy_that_was_void_is_healed(twice *w, int r)
{
    twice_node_as(w, &w->old, r);
    twice_set_void(w, r);
    twice_assert_recovers_to(w, &w->new);
}

/* ---- P11: a commit that did not finish ---- */

/* Rank r before it published: new data, the old redundancy file (void), the new one complete. */
static void
not_published(const twice *w, int r)
{
    const char *name = path_of("%s", job_redundancy(&w->job, r));
    const char *desc = path_of("%s", job_descriptor(&w->job, r));
    const char *base = strstr(name, "/node") + 1, *desc_base = strstr(desc, "/node") + 1;

    twice_node_as(w, &w->new, r);
    assert_int_equal(rename(name, path_of("%s.new", name)), 0);
    assert_int_equal(rename(desc, path_of("%s.new", desc)), 0);
    image_put(&w->old, w->base, base);
    image_put(&w->old, w->base, desc_base);
    twice_set_void(w, r);
}

static void
decided_commit_goes_forward(twice *w, int number)
{
    const unsigned published = (unsigned)number;

    for (int r = 0; r < TWICE_RANKS; r++)
        if ((published >> r & 1) == 0)
            not_published(w, r);
    twice_assert_recovers_to(w, &w->new);
    for (int r = 0; r < TWICE_RANKS; r++) /* and once more with a node lost in between */
        if ((published >> r & 1) == 0)
            not_published(w, r);
    if (published != 1) {
        twice_lose_node(w, 0);
        twice_assert_recovers_to(w, &w->new);
    }
}

/* The first commit of all: whoever has not published has no redundancy file at all. */
static void
decided_first_commit_goes_forward(twice *w, int number)
{
    const unsigned published = (unsigned)number;

    for (int r = 0; r < TWICE_RANKS; r++)
        if ((published >> r & 1) == 0) {
            not_published(w, r);
            remove(path_of("%s.void", job_redundancy(&w->job, r)));
            remove(job_descriptor(&w->job, r));
        }
    twice_assert_recovers_to(w, &w->new);
}

/* A rank died between publishing and removing what that took the place of. */
static void
leftover_of_the_old_generation_is_removed(twice *w)
{
    const char *name;

    name = path_of("%s", job_redundancy(&w->job, 1));
    assert_int_equal(rename(name, path_of("%s.kept", name)), 0);
    image_put(&w->old, w->base, strstr(name, "/node") + 1);
    twice_set_void(w, 1);
    assert_int_equal(rename(path_of("%s.kept", name), name), 0);
    twice_assert_recovers_to(w, &w->new);
}

/* All ranks were ready, and whether one has published on a node that is gone nobody can tell: it counts. */
static void
commit_that_all_prepared_goes_forward(twice *w)
{
    for (int r = 0; r < TWICE_RANKS; r++)
        not_published(w, r);
    twice_assert_recovers_to(w, &w->new);
    for (int r = 0; r < TWICE_RANKS; r++)
        assert_false(exists(path_of("%s.new", job_redundancy(&w->job, r))));
}

/* One rank was not ready, so that nobody can have published: the files are what programs closed them as, and not
 * protected until the next close. */
static void
commit_that_one_did_not_prepare_is_discarded(twice *w, int r)
{
    image before;

    update_all(w, CHANGES, END_CLOSED);
    before = image_take(w->base);
    job_die_publishing(&w->job, 0);
    unlink(path_of("%s.new", job_redundancy(&w->job, r)));
    assert_int_equal(job_recover(&w->job), RSET_OK);
    assert_false(w->job.ranks[0].out.protected_);
    assert_string_not_equal(w->job.ranks[0].out.note, "");
    assert_data_as(w, &before);
    assert_int_equal(job_protect(&w->job), RSET_OK); /* the next close cleans up */
    assert_int_equal(job_recover(&w->job), RSET_OK);
    assert_true(w->job.ranks[0].out.protected_);
    for (int i = 0; i < TWICE_RANKS; i++)
        assert_false(exists(path_of("%s.new", job_redundancy(&w->job, i))));
    image_free(&before);
}

/* ---- P3, B2: changed after it was protected ---- */

/* Their undo journals are lost: what redundancy can still tell comes back, anything else is refused. */
static void
changed_files_without_journals_are_rebuilt_or_refused(twice *w)
{
    for (int r = 0; r < TWICE_RANKS; r++)
        twice_set_void(w, r);
    flip_bit(job_data(&w->job, 1), 17);
    flip_bit(job_data(&w->job, 2), 17);
    append_file(job_data(&w->job, 2), "more", 4);
    if (w->kind.scheme == &rset_scheme_xor)
        twice_assert_refused(w);
    else
        twice_assert_recovers_to(w, &w->new);
}

static void
void_but_unchanged_is_protected_again(twice *w, int ranks)
{
    for (int r = 0; r < ranks; r++)
        twice_set_void(w, r);
    twice_assert_recovers_to(w, &w->new);
}

static void
changed_and_lost_is_rolled_back_or_refused(twice *w, int r)
{
    for (int i = 0; i < TWICE_RANKS; i++)
        twice_set_void(w, i);
    flip_bit(job_data(&w->job, (r + 1) % TWICE_RANKS), 3);
    twice_lose_node(w, r);
    if (w->kind.scheme == &rset_scheme_rs) {
        twice_assert_recovers_to(w, &w->new);
    } else if (job_recover(&w->job) == RSET_OK) {
        twice_assert_image(w, &w->new, NULL, IMAGE_CONTENT);
    } else {
        twice_lose_node(w, r);
        twice_assert_refused(w);
    }
}

static void
void_and_missing_is_brought_back(twice *w)
{
    for (int i = 0; i < TWICE_RANKS; i++)
        twice_set_void(w, i);
    unlink(job_data(&w->job, 2));
    twice_assert_recovers_to(w, &w->new);
    twice_set_void(w, 1);
    unlink(job_data(&w->job, 1));
    assert_int_equal(job_recover_serial(&w->job, 1), RSET_OK);
    twice_assert_image(w, &w->new, "node1/ckpt_1.h5", IMAGE_CONTENT);
    twice_assert_recovers_to(w, &w->new);
}

/* A copy of what is published, under the name of what is to be: nothing waits, and it goes. */
static void
copy_of_the_published_is_a_leftover(twice *w)
{
    size_t   size;
    uint8_t *bytes;

    bytes = read_file(job_redundancy(&w->job, 1), &size);
    write_file(path_of("%s.new", job_redundancy(&w->job, 1)), bytes, size);
    free(bytes);
    twice_assert_recovers_to(w, &w->new);
}

/* What was prepared is gone, and what has the name is of another generation: that is no commit, and the data does not follow. */
static void
what_is_gone_was_not_published(twice *w)
{
    const char *names[1];
    rset_err    err = RSET_ERR_NONE;
    rset_dir   *dir = NULL;

    names[0] = w->job.ranks[0].names[0];
    assert_int_equal(rset_dir_open(w->job.ranks[0].dir, true, &dir, &err), RSET_OK);
    for (int same = 0; same <= 1; same++) {
        const rset_local local = {.dir = dir,
                                  .prefix = w->job.ranks[0].prefix,
                                  .nfiles = 1,
                                  .names = names,
                                  .paths = names};
        char            *name = strdup(strrchr(job_redundancy(&w->job, 0), '/') + 1);
        rset_commit commit = {.generation = w->job.ranks[0].desc.generation + (same == 0 ? 1 : 0),
                              .name = name};

        err = RSET_ERR_NONE;
        assert_int_equal(rset_commit_publish(&local, &commit, &err), same != 0 ? RSET_OK : RSET_IO);
        free(name);
    }
    rset_dir_close(dir);
}

/* ---- while others look ---- */

/* Before the first time, and before a later one, that anybody lists a directory, all files are committed. */
static struct {
    pthread_mutex_t lock;
    const char     *base;
    const image    *first, *later;
    int             lists, nth; /* so many were listed; before that one comes the later commit */
} meanwhile = {.lock = PTHREAD_MUTEX_INITIALIZER};

static DIR *
list_after_commit(int fd)
{
    (void)pthread_mutex_lock(&meanwhile.lock);
    if (meanwhile.lists == 0)
        image_put(meanwhile.first, meanwhile.base, NULL);
    if (meanwhile.lists++ == meanwhile.nth)
        image_put(meanwhile.later, meanwhile.base, NULL);
    (void)pthread_mutex_unlock(&meanwhile.lock);
    return rset_sys_posix.fdopendir(fd);
}

/* Readers of files of which not all is in order ask what others see of these. Each had looked at its own, and then all were committed:
 * what is heard of newer files is about those that are there now, and none is an older copy. */
static void
files_committed_while_readers_ask_are_no_old_copies(twice *w, int nth)
{
    rset_sys    sys = rset_sys_posix;
    image       latest;
    rset_status st;

    job_write_data(&w->job, twice_sizes, TWICE_RANKS, 3);
    assert_int_equal(job_protect(&w->job), RSET_OK);
    latest = image_take(w->base);
    for (int r = 0; r < TWICE_RANKS; r++)
        twice_node_as(w, &w->old, r);
    assert_int_equal(unlink(job_descriptor(&w->job, 2)), 0);
    w->job.reads = w->job.leave_orphans = true;
    meanwhile.base = w->base;
    meanwhile.first = &w->new;
    meanwhile.later = &latest;
    meanwhile.lists = 0;
    meanwhile.nth = nth;
    sys.fdopendir = list_after_commit;
    rset_sys_use(&sys);
    st = job_recover(&w->job);
    rset_sys_use(NULL);
    if (st != RSET_OK && st != RSET_BUSY)
        fail_msg("%s", job_text(&w->job));
    image_free(&latest);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TWICE_TEST(copy_of_the_published_is_a_leftover, EACH_KIND),
        TWICE_TEST(what_is_gone_was_not_published, EACH_KIND),
        TWICE_TEST_FOR(old_copy_of_a_node_is_healed, EACH_KIND, 0, TWICE_RANKS),
        TWICE_TEST(too_many_old_copies_are_refused, KIND_XOR),
        TWICE_TEST_FOR(old_redundancy_beside_new_data, EACH_KIND, 0, TWICE_RANKS),
        TWICE_TEST_FOR(old_copy_that_was_void_is_healed, EACH_KIND, 0, TWICE_RANKS),
        TWICE_TEST_FOR(decided_commit_goes_forward, EACH_KIND, 1, 15),
        TWICE_TEST_FOR(decided_first_commit_goes_forward, EACH_KIND, 1, 15),
        TWICE_TEST(leftover_of_the_old_generation_is_removed, EACH_KIND),
        TWICE_TEST(commit_that_all_prepared_goes_forward, EACH_KIND),
        TWICE_TEST_FOR(commit_that_one_did_not_prepare_is_discarded, EACH_KIND, 0, TWICE_RANKS),
        TWICE_TEST(changed_files_without_journals_are_rebuilt_or_refused, EACH_KIND),
        TWICE_TEST_FOR(void_but_unchanged_is_protected_again, EACH_KIND, 1, TWICE_RANKS + 1),
        TWICE_TEST_FOR(changed_and_lost_is_rolled_back_or_refused, EACH_KIND, 0, TWICE_RANKS),
        TWICE_TEST(void_and_missing_is_brought_back, EACH_KIND),
        TWICE_TEST_FOR(files_committed_while_readers_ask_are_no_old_copies, KIND_XOR | KIND_SINGLE,
                       1, 24),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
