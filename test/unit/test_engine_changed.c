/* test_engine_changed.c: data files that another program has changed since they were protected. What the disk does to a file leaves its
 * time alone; a program that writes it does not. */
#include "commit/newer.h"
#include "engine_damage.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { SIZE = BLOCK + 300, THEN = 1700000000 };

/* At another time than that of the commit, which may have been a moment ago. */
static void
date_it(const char *path)
{
    const struct timespec times[2] = {{.tv_sec = THEN}, {.tv_sec = THEN}};

    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void
change(const char *path, size_t at)
{
    flip_bit(path, at);
    date_it(path);
}

/* Is there what rank 1's file was changed to, with that byte flipped, and dated as it was? */
static bool
is_aside(const world *w, uint64_t number, size_t at)
{
    char        path[4096];
    struct stat sb;
    int         a, b;
    char        now = 0, then = 0;

    snprintf(path, sizeof path, "%s.redset.%016llx.changed", job_data(&w->job, 1),
             (unsigned long long)number);
    if (number == 0 || stat(path, &sb) != 0)
        return false;
    a = open(path, O_RDONLY);
    b = open(job_data(&w->job, 1), O_RDONLY);
    assert_true(a >= 0 && b >= 0);
    assert_true(pread(a, &then, 1, (off_t)at) == 1 && pread(b, &now, 1, (off_t)at) == 1);
    close(a);
    close(b);
    return sb.st_size == SIZE && sb.st_mtim.tv_sec == THEN && now != then;
}

/* XOR covers one file of the set: it comes back, and what it was changed to is put aside. */
static void
covered_is_restored_and_put_aside(world *w)
{
    change(job_data(&w->job, 1), 100);
    assert_int_equal(job_recover(&w->job), RSET_OK);
    assert_data(w);
    assert_true(w->job.ranks[1].out.altered.any);
    assert_false(w->job.ranks[1].out.altered.longer);
    assert_int_equal(w->job.ranks[1].out.altered.when, THEN);
    assert_true(is_aside(w, w->job.ranks[1].out.aside, 100));
}

/* Each of several changes is there afterwards. */
static void
a_second_change_has_a_name_of_its_own(world *w)
{
    uint64_t numbers[2];

    for (unsigned i = 0; i < 2; i++) {
        change(job_data(&w->job, 1), 100 + i);
        assert_int_equal(job_recover(&w->job), RSET_OK);
        assert_data(w);
        numbers[i] = w->job.ranks[1].out.aside;
    }
    assert_true(is_aside(w, numbers[0], 100) && is_aside(w, numbers[1], 101));
}

/* Damage of the disk is repaired as ever, and nothing is put aside. */
static void
damage_is_not_put_aside(world *w)
{
    flip_bit(job_data(&w->job, 1), 100);
    assert_healed(w);
    assert_image(w, &w->image, NULL, IMAGE_CONTENT);
}

/* Another time alone is nothing. */
static void
a_new_time_is_nothing(world *w)
{
    for (int r = 0; r < N; r++)
        date_it(job_data(&w->job, r));
    assert_int_equal(job_recover(&w->job), RSET_OK);
    assert_true(w->job.ranks[0].out.protected_);
    assert_image(w, &w->image, NULL, IMAGE_CONTENT);
}

/* Where all were changed no node was lost, and the way out is said. */
static void
not_covered_is_refused_with_the_way_out(world *w)
{
    for (int r = 0; r < N; r++)
        change(job_data(&w->job, r), 100);
    assert_refused(w);
    assert_non_null(strstr(job_text(&w->job), "changed=keep"));
    assert_non_null(strstr(job_text(&w->job), "No node was lost"));
    assert_non_null(strstr(job_text(&w->job), "2023-11-14 22:13:20 UTC"));
}

static void
only_longer_is_told_apart(world *w)
{
    for (int r = 0; r < N; r++) {
        append_file(job_data(&w->job, r), "more", 4);
        date_it(job_data(&w->job, r));
    }
    assert_refused(w);
    assert_non_null(strstr(job_text(&w->job), "was only made longer by another program"));
}

/* changed=keep: all are opened as they are, whether redundancy covers them or not, and are to be protected so. */
static void
kept_as_they_are(void **state)
{
    (void)state;
    for (int changed = 1; changed <= N; changed += N - 1) {
        world w;
        image before;

        damage_open(&w, xor_kind, SIZE);
        for (int r = 0; r < changed; r++)
            change(job_data(&w.job, r), 100);
        before = image_take(w.base);
        w.job.keep_changed = true;
        assert_int_equal(job_recover(&w.job), RSET_OK);
        assert_int_equal(w.job.ranks[0].out.reason, RSET_REASON_CHANGED_KEPT);
        assert_true(w.job.ranks[0].out.reprotect);
        assert_image(&w, &before, NULL, IMAGE_CONTENT);
        image_free(&before);
        damage_close(&w);
    }
}

/* A rank that has lost its file needs the others' as they were protected. */
static void
what_is_lost_comes_first(world *w)
{
    change(job_data(&w->job, 1), 100);
    assert_int_equal(unlink(job_data(&w->job, 2)), 0);
    w->job.keep_changed = true;
    assert_int_equal(job_recover(&w->job), RSET_OK);
    assert_data(w);
    assert_true(is_aside(w, w->job.ranks[1].out.aside, 100));
}

/* More than redundancy covers, and not by changes alone: changed=keep is not named, since it would not help. */
static void
changed_and_lost(world *w)
{
    change(job_data(&w->job, 1), 100);
    assert_int_equal(unlink(job_data(&w->job, 2)), 0);
    assert_refused(w);
    assert_null(strstr(job_text(&w->job), "changed=keep"));
    assert_non_null(strstr(job_text(&w->job), "the file of rank 1 was changed by another program"));
}

/* The run that protected them has changed all a little, each in another stripe, so that redundancy would cover it. */
static void
small_changes_of_the_own_run_are_opened(world *w)
{
    image before;

    for (int r = 0; r < N; r++)
        change(job_data(&w->job, r), (size_t)r * BLOCK + 100);
    before = image_take(w->base);
    w->job.own_run = true;
    assert_int_equal(job_recover(&w->job), RSET_OK);
    assert_int_equal(w->job.ranks[0].out.reason, RSET_REASON_REWRITTEN);
    assert_true(w->job.ranks[0].out.reprotect);
    assert_image(w, &before, NULL, IMAGE_CONTENT);
    image_free(&before);
}

/* A run that has changed all of its files itself opens them as they are with required=yes, too, and no other program is blamed. */
static void
the_own_run_with_required(world *w)
{
    for (int r = 0; r < N; r++)
        change(job_data(&w->job, r), 100);
    w->job.own_run = w->job.required = true;
    assert_refused(w);
    assert_null(strstr(job_text(&w->job), "another program"));
    assert_non_null(strstr(job_text(&w->job), "changed without this driver"));
    for (int r = 0; r < N; r++) {
        const struct timespec now[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_NOW}};

        assert_int_equal(utimensat(AT_FDCWD, job_data(&w->job, r), now, 0), 0);
    }
    assert_int_equal(job_recover(&w->job), RSET_OK);
    assert_int_equal(w->job.ranks[0].out.reason, RSET_REASON_REWRITTEN);
    assert_true(w->job.ranks[0].out.reprotect);
}

static bool
is_there(rset_dir *dir, const char *name, uint64_t number)
{
    char text[64];

    snprintf(text, sizeof text, "%s.redset.%016llx.changed", name, (unsigned long long)number);
    return rset_dir_has_file(dir, text) && rset_changed_is(dir, text);
}

/* A file gets another name, under which one was put aside as well; and once more, as after a crash. */
static void
goes_along_with_the_file(world *w)
{
    rset_err          err = RSET_ERR_NONE;
    const char *const names[2] = {"one", "two"};
    const char *const prefixes[2] = {"one.", "two."};
    rset_local        local[2];
    rset_dir         *dir = NULL;
    uint64_t          number = 0;

    assert_int_equal(rset_dir_open(w->base, false, &dir, &err), RSET_OK);
    for (int i = 0; i < 2; i++) {
        char path[4096];

        snprintf(path, sizeof path, "%s/%s", w->base, names[i]);
        fclose(fopen(path, "w"));
        local[i] = (rset_local){.dir = dir, .prefix = prefixes[i], .nfiles = 1, .names = &names[i]};
        assert_int_equal(rset_changed_put(&local[i], 7, &number, &err), RSET_OK);
        assert_int_equal(number, 7);
    }
    for (int again = 0; again < 2; again++) {
        assert_int_equal(rset_changed_follow(&local[0], &local[1], &err), RSET_OK);
        assert_false(is_there(dir, "one", 7));
        assert_true(is_there(dir, "two", 7) && is_there(dir, "two", 8) && !is_there(dir, "two", 9));
    }
    rset_dir_close(dir);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        DAMAGE_TEST(covered_is_restored_and_put_aside, KIND_XOR, SIZE),
        DAMAGE_TEST(a_second_change_has_a_name_of_its_own, KIND_XOR, SIZE),
        DAMAGE_TEST(damage_is_not_put_aside, KIND_XOR, SIZE),
        DAMAGE_TEST(a_new_time_is_nothing, KIND_XOR, SIZE),
        DAMAGE_TEST(not_covered_is_refused_with_the_way_out, KIND_XOR, SIZE),
        DAMAGE_TEST(only_longer_is_told_apart, KIND_XOR, SIZE),
        cmocka_unit_test(kept_as_they_are),
        DAMAGE_TEST(what_is_lost_comes_first, KIND_RS2, SIZE),
        DAMAGE_TEST(changed_and_lost, KIND_XOR, SIZE),
        DAMAGE_TEST(small_changes_of_the_own_run_are_opened, KIND_XOR, (size_t)N * BLOCK),
        DAMAGE_TEST(the_own_run_with_required, KIND_XOR, (size_t)N * BLOCK),
        DAMAGE_TEST(goes_along_with_the_file, KIND_XOR, SIZE),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
