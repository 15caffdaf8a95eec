/* test_store_access.c: who may read and write a file of ours: at most who may use what its content comes from. */
#include "image.h"
#include "store_scene.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static mode_t
both(uint32_t a, uint32_t a_gid, uint32_t b, uint32_t b_gid)
{
    return rset_access_both((rset_access){a, a_gid}, (rset_access){b, b_gid}).mode;
}

static void
what_both_permit(void **state)
{
    (void)state;
    assert_int_equal(both(0664, 1, 0640, 1), 0640);
    assert_int_equal(both(0664, 1, 0640, 2), 0600);
    assert_int_equal(both(0664, 1, 0644, 2), 0644);
    assert_int_equal(both(0604, 1, 0644, 2), 0604);
    assert_int_equal(both(0644, 1, 0604, 2), 0600); /* whom it keeps out nobody can tell */
    assert_int_equal(both(0660, 1, 0777, RSET_NO_GID), 0660);
    assert_int_equal(rset_access_both(RSET_ACCESS_ALL, (rset_access){0640, 7}).gid, 7);
}

static mode_t created_with, most;

static int
watched_openat(int dirfd, const char *name, int flags, mode_t mode)
{
    if ((flags & O_CREAT) != 0)
        created_with = mode;
    return rset_sys_posix.openat(dirfd, name, flags, mode);
}

static int
watched_fchmod(int fd, mode_t mode)
{
    most |= mode;
    return rset_sys_posix.fchmod(fd, mode);
}

/* The umask takes nothing away: what does not follow the origin is open to all. */
static struct stat
created_like(const rset_access *origin, const rset_file_attrs *attrs)
{
    const mode_t mask = umask(0);
    rset_sys     sys = rset_sys_posix;
    rset_file   *file = NULL;
    rset_err     err = RSET_ERR_NONE;
    struct stat  sb;

    sys.openat = watched_openat;
    sys.fchmod = watched_fchmod;
    rset_sys_use(&sys);
    most = 0;
    assert_int_equal(rset_file_create(dir, "f", origin, &file, &err), RSET_OK);
    if (attrs != NULL)
        assert_int_equal(rset_file_set_attrs(file, attrs, &err), RSET_OK);
    assert_int_equal(rset_file_stat(file, &sb, &err), RSET_OK);
    assert_int_equal(rset_file_close(file, &err), RSET_OK);
    rset_sys_use(NULL);
    (void)umask(mask);
    most |= created_with;
    return sb;
}

static void
a_file_is_never_more_open_than_its_origin(void **state)
{
    static const uint32_t modes[] = {0600, 0640, 0660, 0604, 0644, 0666, 0755, 0400, 0000};

    (void)state;
    assert_int_equal(created_like(NULL, NULL).st_mode & 0777, 0666);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        for (unsigned other = 0; other < 2; other++) {
            const rset_access     origin = {modes[i], getegid() + other * 4321};
            const rset_file_attrs open_to_all = {.mode = 0100777, .gid = origin.gid};
            const bool   group = other == 0 || geteuid() == 0; /* the directory is root's own */
            const mode_t ours = 0600 | (origin.mode & 0064);   /* never what everybody can write */
            const mode_t any = 0600 | (origin.mode >> 3 & origin.mode & 4) * 011;
            struct stat  sb = created_like(&origin, NULL);

            assert_int_equal(sb.st_mode & 0777, group ? ours : any);
            assert_int_equal(created_with, any);
            assert_int_equal(most & ~ours & 0777, 0);
            sb = created_like(&origin, &open_to_all);
            assert_int_equal(sb.st_mode & ~origin.mode & 0077, 0);
            assert_int_equal(most & ~origin.mode & 0077, 0);
        }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(what_both_permit),
        IN_DIRECTORY(a_file_is_never_more_open_than_its_origin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
