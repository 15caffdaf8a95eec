/* test_engine_serial.c: one process alone uses one rank's file, as h5ls does, or a rank whose peers did not come; then all
 * ranks open theirs. What it did must not leave that file old among new ones, nor remove what others need (P2, P11). */
#include "twice.h"
#include "twice_change.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* All have changed their files and closed them, not protected; rank 1's is lost, or its node, or the data and what says
 * that it was changed. Rebuilt serially it is what was protected last: all go there. */
static void
rebuilt_serially_all_go_back(twice *w, int lost)
{
    update_all(w, CHANGES, END_CLOSED);
    if (lost == 1)
        twice_lose_node(w, 1);
    else
        unlink(job_data(&w->job, 1));
    if (lost == 2)
        lose_redundancy(w, 1);
    assert_int_equal(job_recover_serial(&w->job, 1), RSET_OK);
    twice_assert_image(w, &w->new, "node1/ckpt_1.h5", IMAGE_CONTENT);
    twice_assert_recovers_to(w, &w->new);
}

/* ... also when those that have changed theirs are out of its sight. */
static void
out_of_sight_all_go_back(twice *w)
{
    update(w, 3, CHANGES, END_CLOSED);
    unlink(job_data(&w->job, 1));
    hide(w, 3, true);
    if (job_recover_serial(&w->job, 1) == RSET_OK)
        twice_assert_image(w, &w->new, "node1/ckpt_1.h5", IMAGE_CONTENT);
    hide(w, 3, false);
    twice_assert_recovers_to(w, &w->new);
}

/* Rank 1 died while it changed its file, the others closed theirs; its redundancy file is lost on top. */
static void
rolled_back_without_header_all_go_back(twice *w)
{
    for (int r = 0; r < TWICE_RANKS; r++)
        update(w, r, r == 1 ? 2 : CHANGES, r == 1 ? END_KILLED : END_CLOSED);
    lose_redundancy(w, 1);
    assert_int_equal(job_recover_serial(&w->job, 1), RSET_OK);
    twice_assert_recovers_to(w, &w->new);
}

/* A tool changes the file of rank 1 and closes it; before, all ranks had closed theirs in one step, and rank 1's was lost
 * and rebuilt by one process: all together go back. */
static void
edited_after_rebuilt_all_go_back(twice *w, int lost)
{
    image written;

    update_all(w, CHANGES, END_CLOSED);
    if (lost == 1)
        twice_lose_node(w, 1);
    else
        unlink(job_data(&w->job, 1));
    assert_int_equal(job_recover_serial(&w->job, 1), RSET_OK);
    change_label = one_process();
    update(w, 1, 2, END_CLOSED);
    update(w, 1, 3, END_CLOSED);
    change_label = step_of(1);
    written = image_take(w->base);
    assert_int_equal(job_recover_serial(&w->job, 1), RSET_OK);
    twice_assert_image(w, &written, NULL, IMAGE_CONTENT);
    image_free(&written);
    twice_assert_recovers_to(w, &w->new);
}

/* ... but where nobody else has changed anything, what the tool wrote is kept, by all. */
static void
edited_by_a_tool_stays(twice *w, int loss)
{
    image written;

    if (loss == 1)
        unlink(job_data(&w->job, 1));
    if (loss == 2)
        lose_redundancy(w, 3); /* of a file that nobody has touched */
    assert_int_equal(job_recover_serial(&w->job, 1), RSET_OK);
    change_label = one_process();
    update(w, 1, 3, END_CLOSED);
    change_label = one_process();
    update(w, 2, 2, END_CLOSED); /* and another one another file */
    change_label = step_of(1);
    written = image_take(w->base);
    for (int times = 0; times < 2; times++) {
        assert_int_equal(job_recover(&w->job), RSET_OK);
        assert_data_as(w, &written);
        assert_false(w->job.ranks[0].out.protected_);
    }
    image_free(&written);
}

/* A tool changes one of the files that all ranks had closed in one step: they still are of that step. */
static void
edited_on_top_of_a_step_stays(twice *w)
{
    update_all(w, CHANGES, END_CLOSED);
    change_label = one_process();
    update(w, 1, 2, END_CLOSED);
    change_label = step_of(1);
    assert_left_as_it_is(w);
}

/* Rank 3 was late once, and all went on: what it has closed is one step older than what the others have. */
static void
files_of_two_steps_go_back(twice *w, int anew)
{
    for (int r = 0; r < TWICE_RANKS; r++) {
        change_label = step_of(r == 3 ? 1 : 2);
        if (anew)
            write_shadow(w, r, 3000);
        if (anew)
            put_in_place(w, r);
        else
            update(w, r, CHANGES, END_CLOSED);
    }
    change_label = step_of(1);
    assert_int_equal(job_recover_serial(&w->job, 3), RSET_OK);
    twice_assert_recovers_to(w, &w->new);
}

static bool        began[TWICE_RANKS];
static const char *too_early;

static int
watch_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    const bool data = strstr(to, "redset") == NULL;

    for (int r = 0; data && r < TWICE_RANKS; r++)
        if (!__atomic_load_n(&began[r], __ATOMIC_SEQ_CST))
            too_early = to;
    return rset_sys_posix.renameat(from_dir, from, to_dir, to);
}

/* A write into an undo journal: only its head is written here. */
static ssize_t
watch_pwrite(int fd, const void *buf, size_t len, off_t off)
{
    char    link[64], path[256];
    ssize_t n;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof path - 1);
    path[n < 0 ? 0 : n] = '\0';
    if (strstr(path, ".undo") != NULL)
        __atomic_store_n(&began[atoi(strstr(path, "/node") + 5)], true, __ATOMIC_SEQ_CST);
    return rset_sys_posix.pwrite(fd, buf, len, off);
}

/* Should the job die while all go back, those that are not rolled back yet must not pass for files of one step. */
static void
all_say_that_they_go_back_first(twice *w)
{
    rset_sys table = rset_sys_posix;

    table.renameat = watch_renameat;
    table.pwrite = watch_pwrite;
    for (int r = 0; r < TWICE_RANKS;
         r++) { /* each by a process of its own: kept, but for the loss */
        change_label = one_process();
        write_shadow(w, r, 3000);
        put_in_place(w, r);
    }
    change_label = step_of(1);
    assert_left_as_it_is(w);
    unlink(job_data(&w->job, 1));
    rset_sys_use(&table);
    assert_int_equal(job_recover(&w->job), RSET_OK);
    rset_sys_use(NULL);
    assert_null(too_early);
    assert_data_as(w, &w->new);
}

/* Only its redundancy file is lost of a file that was changed and closed: it is what the program wrote. */
static void
closed_without_header_is_left_alone(twice *w)
{
    image written;

    update_all(w, CHANGES, END_CLOSED);
    lose_redundancy(w, 1);
    written = image_take(w->base);
    assert_int_equal(job_recover_serial(&w->job, 1), RSET_OK);
    twice_assert_image(w, &written, NULL, IMAGE_CONTENT);
    assert_left_as_it_is(w);
    image_free(&written);
}

/* Nobody has changed anything: nothing is left behind. */
static void
rebuilt_serially_is_as_before(twice *w)
{
    unlink(job_data(&w->job, 1));
    assert_int_equal(job_recover_serial(&w->job, 1), RSET_OK);
    twice_assert_image(w, &w->new, NULL, IMAGE_CONTENT);
}

/* A commit was decided on, rank 0 has published; rank 1's own redundancy file is lost. What it has complete is needed
 * when node 2 is lost as well. */
static void
a_commit_keeps_what_it_needs(twice *w)
{
    image written;

    update_all(w, CHANGES, END_KILLED);
    job_die_publishing(&w->job, 1U << 0);
    written = image_take(w->base);
    lose_redundancy(w, 1);
    assert_int_equal(job_recover_serial(&w->job, 1), RSET_OK);
    twice_assert_image(w, &written, "node1/ckpt_1.h5", IMAGE_CONTENT);
    twice_lose_node(w, 2);
    assert_int_equal(job_recover(&w->job), RSET_OK);
    assert_true(w->job.ranks[0].out.protected_);
    assert_data_as(w, &written);
    image_free(&written);
}

/* A commit that rank 3 had not prepared, and a later job that died over a change on top: what is partially written is not what
 * the commit has. */
static void
partially_written_after_a_commit_is_not_opened(twice *w)
{
    change_of c;
    rset_err  err = RSET_ERR_NONE;

    update_all(w, CHANGES, END_CLOSED);
    job_die_publishing(&w->job, 0);
    assert_int_equal(unlink(path_of("%s" RSET_SUFFIX_NEW, job_redundancy(&w->job, 3))), 0);
    w->job.leave_orphans = true; /* as when files are opened for reading */
    assert_int_equal(job_recover(&w->job), RSET_OK);
    w->job.leave_orphans = false;
    change_open(&c, w, 1);
    assert_int_equal(rset_change_begin(&c.local, &c.ev, true, &c.journal, &err), RSET_OK);
    change_bytes(&c, w, 1, 20000, 3000);
    change_close(&c, END_KILLED);
    assert_int_equal(job_recover_serial(&w->job, 1), RSET_LOST);
    twice_assert_recovers_to(w, &w->new);
}

/* ---- a commit that was decided ---- */

/* One rank's share of an update that was decided is not finished. */
static void
die_decided(twice *w, int r)
{
    w->job.update = true;
    update(w, r, CHANGES, END_CLOSED);
    job_die_decided(&w->job, 1U << r);
}

/* P1: with nothing but reading allowed it is not finished, and so the file is not opened. */
static void
readonly_finishes_no_commit(twice *w)
{
    image before;

    die_decided(w, 0);
    before = image_take(w->base);
    w->job.readonly = true;
    assert_int_equal(job_recover_serial(&w->job, 0), RSET_LOST);
    twice_assert_image(w, &before, NULL, IMAGE_UNTOUCHED);
    w->job.readonly = false;
    assert_int_equal(job_recover_serial(&w->job, 0), RSET_OK);
    twice_assert_image(w, &before, "node0/ckpt_0.h5", IMAGE_CONTENT);
    image_free(&before);
}

/* P1: a file that is missing is rebuilt, also where its rank had not finished a commit. */
static void
lost_beside_a_commit_is_rebuilt(twice *w)
{
    image written;

    die_decided(w, 0);
    written = image_take(w->base);
    unlink(job_data(&w->job, 0));
    if (job_recover_serial(&w->job, 0) != RSET_OK)
        assert_int_not_equal(access(job_data(&w->job, 0), F_OK), 0);
    else
        twice_assert_image(w, &written, "node0/ckpt_0.h5", IMAGE_CONTENT);
    image_free(&written);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TWICE_TEST_FOR(rebuilt_serially_all_go_back, EACH_KIND, 0, 3),
        TWICE_TEST(out_of_sight_all_go_back, EACH_KIND),
        TWICE_TEST(rolled_back_without_header_all_go_back, EACH_KIND),
        TWICE_TEST_FOR(edited_after_rebuilt_all_go_back, EACH_KIND, 0, 2),
        TWICE_TEST_FOR(edited_by_a_tool_stays, EACH_KIND, 0, 3),
        TWICE_TEST(edited_on_top_of_a_step_stays, KIND_XOR),
        TWICE_TEST_FOR(files_of_two_steps_go_back, EACH_KIND, 0, 2),
        TWICE_TEST(all_say_that_they_go_back_first, KIND_XOR),
        TWICE_TEST(closed_without_header_is_left_alone, EACH_KIND),
        TWICE_TEST(rebuilt_serially_is_as_before, EACH_KIND),
        TWICE_TEST(a_commit_keeps_what_it_needs, EACH_KIND),
        TWICE_TEST(partially_written_after_a_commit_is_not_opened, KIND_XOR),
        TWICE_TEST(readonly_finishes_no_commit, EACH_KIND),
        TWICE_TEST(lost_beside_a_commit_is_rebuilt, EACH_KIND),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
