/* test_labels.c: two files of a group that are closed without protection (rset_journal_close_all, journal.h): both get a label in their
 * journals, or neither, whichever file call fails. */
#include "commit/change.h"
#include "image.h"
#include "member/undo.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include <cmocka.h>

enum { FILES = 2, HEADS = 1024, PLACE = 512 };

static const rset_label label = {.job = 5, .step = 6, .ranks = 4};

static struct {
    int  left;     /* until a call fails; 0: none does */
    bool is_write; /* pwrite, else fsync */
    bool torn;     /* a part of what is written is there all the same */
} failing;

static ssize_t
failing_pwrite(int fd, const void *buf, size_t n, off_t off)
{
    if (!failing.is_write || failing.left == 0 || --failing.left != 0)
        return rset_sys_posix.pwrite(fd, buf, n, off);
    if (failing.torn)
        (void)rset_sys_posix.pwrite(fd, buf, n / 2, off);
    errno = EIO;
    return -1;
}

static int
failing_fsync(int fd)
{
    if (failing.is_write || failing.left == 0 || --failing.left != 0)
        return rset_sys_posix.fsync(fd);
    errno = EIO;
    return -1;
}

typedef struct one {
    const char   *names[1];
    rset_local    local;
    rset_evidence ev;
    rset_journal *journal;
    uint8_t       before[HEADS]; /* heads of its journal before it is closed */
} one;

static void
begin(one *f, rset_dir *dir, const char *base, const char *name, const char *prefix)
{
    rset_err err = RSET_ERR_NONE;

    f->names[0] = name;
    f->local = (rset_local){
        .dir = dir, .prefix = prefix, .nfiles = 1, .names = f->names, .paths = f->names};
    assert_int_equal(rset_survey_local(&f->local, &f->ev, &err), RSET_OK);
    if (rset_change_begin_first(&f->local, &f->ev, &f->journal, &err) != RSET_OK)
        fail_msg("%s", err.text);
    write_file(path_of("%s/%s", base, name), (const uint8_t *)"abc", 3);
}

static void
read_heads(const one *f, uint8_t heads[HEADS])
{
    rset_err   err = RSET_ERR_NONE;
    rset_file *file = NULL;
    char      *name = rset_name_of(RSET_NAME_UNDO, f->local.prefix, 0);
    size_t     got = 0;

    memset(heads, 0, HEADS);
    assert_int_equal(rset_file_open(f->local.dir, name, &file, &err), RSET_OK);
    assert_int_equal(rset_file_read(file, 0, heads, HEADS, &got, &err), RSET_OK);
    rset_file_close(file, NULL);
    free(name);
}

static bool
is_closed(const one *f)
{
    rset_undo undo;
    rset_err  err = RSET_ERR_NONE;
    bool      is;

    assert_int_equal(rset_undo_load(f->local.dir, f->local.prefix, 0, &undo, &err), RSET_OK);
    assert_true(undo.there);
    is = undo.head.state == RSET_UNDO_CLOSED;
    assert_true(undo.head.label.job == (is ? label.job : 0));
    rset_undo_free(&undo);
    return is;
}

/* Closes two while call number `at` fails; *hit_out: there was one. */
static void
close_both(int at, bool *hit_out)
{
    char         *base = scratch_make();
    rset_dir     *dir = NULL;
    rset_err      err = RSET_ERR_NONE;
    one           f[FILES];
    uint8_t       now[HEADS];
    rset_journal *journals[FILES];
    rset_label    labels[FILES] = {label, label};
    rset_status   st;

    memset(f, 0, sizeof f);
    assert_int_equal(rset_dir_open(base, false, &dir, &err), RSET_OK);
    begin(&f[0], dir, base, "a", "a.");
    begin(&f[1], dir, base, "b", "b.");
    for (int i = 0; i < FILES; i++) {
        journals[i] = f[i].journal;
        read_heads(&f[i], f[i].before);
    }
    failing.left = at;
    st = rset_journal_close_all(journals, labels, FILES, &err);
    *hit_out = failing.left == 0 && at != 0;
    failing.left = 0;
    assert_int_equal(st == RSET_OK, !*hit_out);
    for (int i = 0; i < FILES; i++) {
        assert_int_equal(is_closed(&f[i]), st == RSET_OK);
        rset_evidence_free(&f[i].ev);
    }
    read_heads(
        &f[1],
        now); /* M2: of the one that failed, or came to nothing, the first head is where it was */
    assert_true(st == RSET_OK || memcmp(now + PLACE, f[1].before + PLACE, PLACE) == 0);
    rset_dir_close(dir);
    remove_tree(base);
    free(base);
}

static void
both_or_neither(void **state)
{
    rset_sys sys = rset_sys_posix;
    bool     hit = true;
    int      points = 0;

    (void)state;
    sys.pwrite = failing_pwrite;
    sys.fsync = failing_fsync;
    rset_sys_use(&sys);
    close_both(0, &hit);
    for (int what = 0; what < 3; what++) {
        failing.is_write = what > 0;
        failing.torn = what > 1;
        hit = true;
        for (int at = 1; hit; at++, points += hit)
            close_both(at, &hit);
    }
    rset_sys_use(NULL);
    assert_int_equal(points,
                     4 + 2 + 2); /* each syncs its data and its journal, and writes one head */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_or_neither)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
