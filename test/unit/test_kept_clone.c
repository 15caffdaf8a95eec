/* test_kept_clone.c: on a file system that lets files share their bytes (FICLONE), what is kept of older generations is not copied; and is
 * the same. Such a file system is played here: what shares bytes is a copy that no engine has made. */
#include "lives.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static int    clones;   /* that were made */
static size_t written;  /* bytes, while what is kept is made whole */
static bool   refusing; /* the file system has clones, and cannot make this one */

static int
play_clone(int to, int from)
{
    struct stat sb;
    char       *bytes;
    bool        ok;

    errno = ENOSPC;
    if (refusing || fstat(from, &sb) != 0)
        return -1;
    bytes = malloc((size_t)sb.st_size + 1);
    ok = bytes != NULL && pread(from, bytes, (size_t)sb.st_size, 0) == sb.st_size &&
         pwrite(to, bytes, (size_t)sb.st_size, 0) == sb.st_size;
    free(bytes);
    clones += ok;
    return ok ? 0 : -1;
}

static ssize_t
note_write(int fd, const void *buf, size_t len, off_t off)
{
    written += len;
    return rset_sys_posix.pwrite(fd, buf, len, off);
}

static int
no_link(int from_dir, const char *from, int to_dir, const char *to, int how)
{
    (void)from_dir, (void)from, (void)to_dir, (void)to, (void)how;
    errno = EPERM;
    return -1;
}

/* Changed in place for some commits, or created over, and what is kept is made whole. */
static void
live(lives_way how, bool links)
{
    rset_sys sys = rset_sys_posix;
    life     w;

    srand(1); /* the same life each time */
    sys.clone = play_clone;
    sys.pwrite = note_write;
    if (!links)
        sys.linkat = no_link;
    rset_sys_use(&sys);
    lives_begin_in_place(&w, &rset_scheme_xor, 1, 3, 2);
    lives_plan_all(&w, how);
    lives_commit(&w);
    lives_assert_kept(&w);
    written = 0;
    for (int n = 0; n < w.commits - 1; n++)
        for (int r = 0; w.kept[n] && r < LIVES_RANKS; r++)
            lives_make_whole(&w, r, n);
    rset_sys_use(NULL);
    lives_assert_all(&w, 0);
    lives_end(&w);
}

static void
nothing_is_copied_where_bytes_can_be_shared(void **state)
{
    (void)state;
    for (lives_way how = LIVES_OVER; how <= LIVES_IN_PLACE; how++)
        for (int links = 0; links < 2; links++) {
            size_t copied;

            clones = 0;
            refusing = true;
            live(how, links != 0);
            copied = written;
            assert_int_equal(clones, 0);
            refusing = false;
            live(how, links != 0);
            assert_true(clones > 0);
            assert_true(copied > written); /* only what had changed */
        }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_copied_where_bytes_can_be_shared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
