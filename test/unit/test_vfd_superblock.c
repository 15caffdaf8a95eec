/* test_vfd_superblock.c: what is known of superblocks (superblock.h), against those that HDF5 writes. */
#include "superblock.h"

#include <hdf5.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* The first bytes of a file that HDF5 has written and closed, of that format and size of addresses. */
static size_t
made_by_hdf5(H5F_libver_t version, size_t addresses, uint8_t *to)
{
    char    path[] = "/tmp/superblock.XXXXXX";
    hid_t   fapl = H5Pcreate(H5P_FILE_ACCESS), fcpl = H5Pcreate(H5P_FILE_CREATE), file;
    ssize_t n;
    int     fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_true(H5Pset_fapl_sec2(fapl) >= 0);
    assert_true(H5Pset_libver_bounds(fapl, version, H5F_LIBVER_LATEST) >= 0);
    assert_true(H5Pset_sizes(fcpl, addresses, addresses) >= 0);
    file = H5Fcreate(path, H5F_ACC_TRUNC, fcpl, fapl);
    assert_true(file >= 0 && H5Fclose(file) >= 0);
    n = pread(fd, to, 96, 0);
    close(fd);
    unlink(path);
    H5Pclose(fapl);
    H5Pclose(fcpl);
    return n > 0 ? (size_t)n : 0;
}

static void
cleared_flags_are_as_hdf5_leaves_them(void **state)
{
    static const H5F_libver_t versions[] = {H5F_LIBVER_EARLIEST, H5F_LIBVER_V18, H5F_LIBVER_V110};
    static const size_t       addresses[] = {4, 8};

    (void)state;
    for (size_t v = 0; v < 3; v++)
        for (size_t a = 0; a < 2; a++) {
            uint8_t want[96], have[96];
            size_t  size = made_by_hdf5(versions[v], addresses[a], want);

            assert_int_equal(want[8], v == 0 ? 0 : v + 1); /* three versions of superblock */
            assert_true(rset_superblock_is(want, size));
            memcpy(have, want, size);
            assert_false(rset_superblock_clear_flags(have));
            have[v == 0 ? 20 : 11] = 5;
            assert_true(rset_superblock_same_but_flags(have, want, size));
            assert_true(rset_superblock_clear_flags(have));
            assert_memory_equal(have, want, size);
            have[v == 0 ? 24 : 10] ^= 1;
            assert_false(rset_superblock_same_but_flags(have, want, size));
        }
}

static void
anything_else_is_none(void **state)
{
    uint8_t sb[96], bad[96];
    size_t  size = made_by_hdf5(H5F_LIBVER_V110, 8, sb);

    (void)state;
    assert_false(rset_superblock_is(sb, 23));
    assert_false(rset_superblock_is(sb, RSET_SUPERBLOCK_MAX + 1));
    for (size_t i = 0; i < 9; i++) {
        memcpy(bad, sb, size);
        bad[i] ^= 0x40;
        assert_false(rset_superblock_is(bad, size));
    }
    memcpy(bad, sb, size);
    bad[9] = 255; /* the checksum would lie beyond what was given */
    assert_false(rset_superblock_is(bad, size));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cleared_flags_are_as_hdf5_leaves_them),
        cmocka_unit_test(anything_else_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
