/* test_engine_misfits.c: files of a wrong length, or that are no regular files, in the place of data, redundancy files and
 * descriptors (P2): the files come back as they were. */
#include "commit/forget.h"
#include "engine_damage.h"
#include "format_samples.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

typedef void (*damage)(const char *path);

/* Gives a file the time that it had before it was damaged: a disk that fails leaves times alone. */
static void
date_as(const char *path, const struct stat *sb)
{
    assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[]){sb->st_atim, sb->st_mtim}, 0),
                     0);
}

static void
cut_short(const char *path)
{
    struct stat sb;

    assert_int_equal(stat(path, &sb), 0);
    assert_int_equal(truncate(path, sb.st_size - 1), 0);
    date_as(path, &sb);
}

static void
make_longer(const char *path)
{
    struct stat sb;

    assert_int_equal(stat(path, &sb), 0);
    append_file(path, "x", 1);
    date_as(path, &sb);
}

static void
make_empty(const char *path)
{
    struct stat sb;

    assert_int_equal(stat(path, &sb), 0);
    assert_int_equal(truncate(path, 0), 0);
    date_as(path, &sb);
}

static void
make_fifo(const char *path)
{
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
}

static void
make_link(const char *path)
{
    unlink(path);
    assert_int_equal(symlink("/etc/passwd", path), 0);
}

static void
take_away(const char *path)
{
    unlink(path);
}

static const damage damages[] = {cut_short, make_longer, make_empty,
                                 make_fifo, make_link,   take_away};

enum { DAMAGES = sizeof damages / sizeof *damages };

static void
wrong_data_files_heal(world *w, int d)
{
    damages[d](job_data(&w->job, 2));
    assert_healed(w);
}

static void
wrong_redundancy_files_heal(world *w, int d)
{
    damages[d](job_redundancy(&w->job, 2));
    if (damages[d] == make_longer) { /* FORMAT.md 11.20: more at the end is no harm */
        assert_int_equal(job_recover(&w->job), RSET_OK);
        assert_data(w);
        assert_true(w->job.ranks[0].out.protected_);
    } else {
        assert_healed(w);
    }
}

/* Sets a file's length; what is added is a hole. */
static void
set_length(const char *path, off_t length)
{
    struct stat sb;

    assert_int_equal(stat(path, &sb), 0);
    assert_int_equal(truncate(path, length), 0);
    date_as(path, &sb);
}

/* What an open has called protected the next one leaves as it is. */
static void
check_settled(world *w)
{
    image after;

    if (job_recover(&w->job) != RSET_OK || !w->job.ranks[0].out.protected_)
        return;
    assert_data(w);
    after = image_take(w->base);
    if (job_recover(&w->job) != RSET_OK || !w->job.ranks[0].out.protected_)
        fail_msg("%s: the second open: %s", w->what, job_text(&w->job));
    assert_image(w, &after, NULL, IMAGE_UNTOUCHED);
    image_free(&after);
}

/* Alone, and while the files of another rank come back. */
static void
redundancy_of_any_length_settles(world *w)
{
    static const off_t off[] = {-1, -300, -4096, 1, 4096, 337662};
    enum { LENGTHS = sizeof off / sizeof *off, CONTENTS = 3 };

    for (int i = 0; i < LENGTHS * CONTENTS * 2; i++) {
        const int         n = i / CONTENTS % LENGTHS;
        const bool        lost = i >= LENGTHS * CONTENTS;
        const char *const path = job_redundancy(&w->job, 2);
        struct stat       sb;

        w->job.content = (rset_content)(i % CONTENTS);
        snprintf(w->what, sizeof w->what, "%s %d, redundancy %+d bytes, content %d%s",
                 w->kind.scheme->name, w->kind.parity, (int)off[n], (int)w->job.content,
                 lost ? ", a node lost" : "");
        assert_int_equal(stat(path, &sb), 0);
        set_length(path, sb.st_size + off[n] > 0 ? sb.st_size + off[n] : 0);
        if (lost) {
            remove_tree(w->job.ranks[0].dir);
            mkdir(w->job.ranks[0].dir, 0777);
        }
        check_settled(w);
        remove_tree(w->base);
        image_put(&w->image, w->base, NULL);
    }
}

static void
lost_descriptors_come_back(world *w, int d)
{
    damages[d](job_descriptor(&w->job, 2));
    damages[d](job_descriptor(&w->job, 3));
    assert_healed(w);
}

static void
directory_in_place_of_data_is_an_error(world *w)
{
    unlink(job_data(&w->job, 1));
    assert_int_equal(mkdir(job_data(&w->job, 1), 0777), 0);
    assert_int_not_equal(job_recover(&w->job), RSET_OK);
    rmdir(job_data(&w->job, 1));
    assert_healed(w);
}

/* The header of that rank has the number of another format, and is right else (FORMAT-extensions.md 1). */
static void
give_another_number(const world *w, int rank)
{
    static const cut  number = {"VFD", "2", NULL};
    const char *const path = job_redundancy(&w->job, rank);
    rset_err          err = RSET_ERR_NONE;
    struct stat       sb;
    size_t            n, total, packed;
    uint8_t          *bytes = read_file(path, &n), *header;

    assert_int_equal(stat(path, &sb), 0);
    assert_int_equal(rset_tree_total(bytes, n, path, &total, &err), RSET_OK);
    header = cut_buffer(bytes, total, &number, &packed);
    assert_int_equal(packed, total);
    memcpy(bytes, header, total);
    write_file(path, bytes, n);
    date_as(path, &sb);
    free(header);
    free(bytes);
}

/* What only a newer release can read is not lost: on all ranks the files are refused, and nothing is changed, be it one header or all. */
static void
files_of_a_newer_release_are_refused(world *w)
{
    for (int n = 0; n < 2; n++) {
        image before;

        for (int r = n == 0 ? 2 : 0; r < (n == 0 ? 3 : N); r++)
            give_another_number(w, r);
        before = image_take(w->base);
        assert_int_equal(job_recover(&w->job), RSET_USAGE);
        assert_non_null(strstr(job_text(&w->job), "was written by a newer release of redset"));
        assert_int_not_equal(job_protect(&w->job), RSET_OK);
        assert_image(w, &before, NULL, IMAGE_UNTOUCHED);
        image_free(&before);
    }
}

/* Names that a release from before the extensions had a number gave to what it left (FORMAT-extensions.md 10). */
static const char *const former[] = {"redset.journal",
                                     "redset.journal.begun",
                                     "redset.0000073004ba5e51.journal",
                                     "redset.0000073004ba5e51.back",
                                     "redset.0000073004ba5e51.shadow",
                                     "redset.0000073004ba5e51.old",
                                     "redset.0000073004ba5e51.kept",
                                     ".delta"};

enum { FORMER = sizeof former / sizeof *former };

static void
assert_nothing_is_removed(const char *path, const char *base)
{
    rset_local local = {.nfiles = 1, .names = &base, .paths = &base};
    char      *prefix = rset_join_names(base, ".");
    rset_err   err = RSET_ERR_NONE;

    local.prefix = prefix;
    assert_int_equal(rset_dir_open(path, false, &local.dir, &err), RSET_OK);
    assert_int_equal(rset_unprotect(&local, &err), RSET_USAGE);
    assert_int_equal(rset_forget_others(&local, NULL, &err), RSET_USAGE);
    rset_dir_close(local.dir);
    free(prefix);
}

/* Nothing is a content of the files as it would be without it: on all ranks they are refused, and nothing is changed. The names file
 * of such a release says nothing to this one. */
static void
what_an_earlier_release_has_left_is_refused(world *w, int n)
{
    const char *const data = job_data(&w->job, 2);
    char             *left = NULL, *list = NULL;
    image             before;

    assert_true(asprintf(&left, former[n][0] == '.' ? "%s%s" : "%s.%s",
                         former[n][0] == '.' ? job_redundancy(&w->job, 2) : data, former[n]) > 0);
    assert_true(asprintf(&list, "%s.redset.names", data) > 0);
    write_file(left, "RSETJRN2", 8);
    write_file(list, n % 2 == 0 ? "RSETNAM1" : "RSETNAM2", 8);
    before = image_take(w->base);
    assert_int_equal(job_recover(&w->job), RSET_USAGE);
    assert_non_null(strstr(job_text(&w->job), left));
    assert_non_null(strstr(job_text(&w->job), "was left by an earlier release of redset"));
    assert_int_not_equal(job_protect(&w->job), RSET_OK);
    assert_nothing_is_removed(w->job.ranks[2].dir, strrchr(data, '/') + 1);
    assert_image(w, &before, NULL, IMAGE_UNTOUCHED);
    image_free(&before);
    free(left);
    free(list);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        DAMAGE_TEST_FOR(wrong_data_files_heal, EACH_BUT_SINGLE, BLOCK + 300, 0, DAMAGES),
        DAMAGE_TEST_FOR(wrong_redundancy_files_heal, EACH_BUT_SINGLE, BLOCK + 300, 0, DAMAGES),
        DAMAGE_TEST(redundancy_of_any_length_settles, EACH_KIND, BLOCK + 300),
        DAMAGE_TEST_FOR(lost_descriptors_come_back, EACH_KIND, 300, 0, DAMAGES),
        DAMAGE_TEST(files_of_a_newer_release_are_refused, EACH_BUT_SINGLE, 3000),
        DAMAGE_TEST_FOR(what_an_earlier_release_has_left_is_refused, EACH_BUT_SINGLE, 3000, 0,
                        FORMER),
        DAMAGE_TEST(directory_in_place_of_data_is_an_error, KIND_XOR, 3000),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
