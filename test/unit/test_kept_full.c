/* test_kept_full.c: on the disk of one rank there is no space for what a commit wants to keep of the generation before (keep=N): the
 * commit counts, and what is kept can be had, by what the other ranks have. */
#include "lives.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FULL = 2, BEFORE = 2 }; /* the rank; the generation that is to be kept */

/* On the disk of rank 2 there is no space for what a commit wants to keep: by which of its calls that comes out. */
static struct {
    int  left; /* calls until there is none; 0: there is */
    bool hit;
} full;

static bool
is_full_for(const char *name)
{
    if (full.left == 0 || strncmp(name, "ckpt_2.h5.", 10) != 0 ||
        (strstr(name, ".data") == NULL && strstr(name, ".undo") == NULL))
        return false;
    full.hit = full.hit || --full.left == 0;
    full.left += full.hit && full.left == 0; /* and stays so */
    errno = ENOSPC;
    return full.hit;
}

static int
full_linkat(int from_dir, const char *from, int to_dir, const char *to, int how)
{
    return is_full_for(to) ? -1 : rset_sys_posix.linkat(from_dir, from, to_dir, to, how);
}

static int
full_openat(int dir, const char *name, int how, mode_t mode)
{
    return (how & O_CREAT) != 0 && is_full_for(name) ? -1
                                                     : rset_sys_posix.openat(dir, name, how, mode);
}

/* The commit counts all the same; the generation before is lost to that rank, like whatever one rank has lost, and nothing is left
 * of it there; those before it stay as long as on the others. False: so many calls are not made. */
static bool
commit_on_full_disk(lives_way how, int keep, int at)
{
    rset_sys sys = rset_sys_posix;
    life     w;

    sys.linkat = full_linkat;
    sys.openat = full_openat;
    lives_begin_in_place(&w, &rset_scheme_xor, 1, keep, BEFORE);
    w.update = how == LIVES_IN_PLACE;
    w.stays = true;
    lives_plan_all(&w, how);
    full.left = at;
    full.hit = false;
    rset_sys_use(&sys);
    lives_commit(&w);
    rset_sys_use(&rset_sys_posix);
    full.left = 0;
    for (int n = 0; n < BEFORE + 1; n++)
        for (int r = 0; r < LIVES_RANKS; r++)
            if (lives_is_kept(&w, r, n) != (w.kept[n] && !(full.hit && n == BEFORE && r == FULL)))
                fail_msg("call %d, keep=%d: rank %d, generation %d", at, keep, r, n);
    for (int n = BEFORE + 1; n >= 0; n--)
        if (n == BEFORE + 1 || w.kept[n])
            lives_assert_is(&w, n, 0);
    lives_end(&w);
    return full.hit;
}

static void
no_space_for_what_is_kept(void **state)
{
    (void)state;
    for (int keep = 2; keep <= 3; keep++)
        for (lives_way how = LIVES_OVER; how <= LIVES_IN_PLACE; how++) {
            int at = 1;

            while (commit_on_full_disk(how, keep, at))
                at++;
            assert_true(at > 2);
        }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_space_for_what_is_kept)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
