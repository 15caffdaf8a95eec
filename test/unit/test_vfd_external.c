/* test_vfd_external.c: datasets with external raw storage are recognised (external.h) in the metadata that HDF5 writes, and nothing else is. */
#include "external.h"

#include <fcntl.h>
#include <hdf5.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { IMAGE_MAX = 1 << 20 };

typedef struct image {
    size_t  size;
    uint8_t bytes[IMAGE_MAX];
} image;

/* How a file is made: with datasets, groups and attributes of every kind of storage, and with `files` external files of one dataset. */
typedef struct making {
    H5F_libver_t version;
    size_t       sizes; /* of addresses and lengths */
    int          files;
    bool         ordered; /* the dataset keeps the order in which its attributes are created */
} making;

/* More than eight have storage of their own, which HDF5 2.2 does not make where addresses are short. */
static int
attributes_in(hid_t file)
{
    int n = 12;
#if H5_VERSION_GE(2, 2, 0)
    hid_t  fcpl = H5Fget_create_plist(file);
    size_t addresses = 8, lengths = 8;

    assert_true(H5Pget_sizes(fcpl, &addresses, &lengths) >= 0);
    H5Pclose(fcpl);
    if (addresses < 8 || lengths < 8)
        n = 8;
#else
    (void)file;
#endif
    return n;
}

static void
add_dataset(hid_t file, const char *name, hid_t dcpl, hsize_t n)
{
    const hsize_t max = n, chunk = 7;
    const int     attributes = attributes_in(file);
    hid_t         space = H5Screate_simple(1, &n, &max), set, attr;

    if (H5Pget_layout(dcpl) == H5D_CHUNKED)
        assert_true(H5Pset_chunk(dcpl, 1, &chunk) >= 0);
    set = H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    assert_true(set >= 0);
    for (int i = 0; i < attributes; i++) {
        char text[16];

        snprintf(text, sizeof text, "a%d", i);
        attr = H5Acreate2(set, text, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT);
        assert_true(attr >= 0);
        H5Aclose(attr);
    }
    H5Dclose(set);
    H5Sclose(space);
}

static void
add_others(hid_t file)
{
    static const H5D_layout_t layouts[] = {H5D_COMPACT, H5D_CONTIGUOUS, H5D_CHUNKED};
    char                      name[16];

    for (int i = 0; i < 30; i++) {
        hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), group;

        assert_true(H5Pset_layout(dcpl, layouts[i % 3]) >= 0);
        snprintf(name, sizeof name, "d%d", i);
        add_dataset(file, name, dcpl, (hsize_t)(i + 7));
        snprintf(name, sizeof name, "g%d", i);
        group = H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        assert_true(group >= 0);
        H5Gclose(group);
        H5Pclose(dcpl);
    }
}

static void
add_external(hid_t file, const making *how)
{
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
    char  name[64];

    for (int i = 0; i < how->files; i++) {
        snprintf(name, sizeof name, "/nowhere/with a long name/part %d.raw", i);
        assert_true(H5Pset_external(dcpl, name, 40 * i, 400) >= 0);
    }
    if (how->ordered)
        assert_true(H5Pset_attr_creation_order(dcpl, H5P_CRT_ORDER_TRACKED) >= 0);
    add_dataset(file, "external", dcpl, 10);
    H5Pclose(dcpl);
}

/* What HDF5 has made of it. */
static void
made_by_hdf5(const making *how, image *to)
{
    char    path[] = "/tmp/external.XXXXXX";
    hid_t   fapl = H5Pcreate(H5P_FILE_ACCESS), fcpl = H5Pcreate(H5P_FILE_CREATE), file;
    int     fd = mkstemp(path);
    ssize_t n;

    assert_true(fd >= 0);
    assert_true(H5Pset_fapl_sec2(fapl) >= 0);
    assert_true(H5Pset_libver_bounds(fapl, how->version, H5F_LIBVER_LATEST) >= 0);
    assert_true(H5Pset_sizes(fcpl, how->sizes, how->sizes) >= 0);
    file = H5Fcreate(path, H5F_ACC_TRUNC, fcpl, fapl);
    assert_true(file >= 0);
    add_others(file);
    if (how->files > 0)
        add_external(file, how);
    assert_true(H5Fclose(file) >= 0);
    n = pread(fd, to->bytes, sizeof to->bytes, 0);
    assert_true(n > 0 && n < IMAGE_MAX);
    to->size = (size_t)n;
    close(fd);
    unlink(path);
    H5Pclose(fapl);
    H5Pclose(fcpl);
}

static void
each_way(void (*test)(const making *how))
{
    static const H5F_libver_t versions[] = {H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST};
    static const size_t       sizes[] = {4, 8};

    for (size_t v = 0; v < 2; v++)
        for (size_t s = 0; s < 2; s++)
            for (int ordered = 0; ordered < 2; ordered++)
                test(&(making){.version = versions[v], .sizes = sizes[s], .ordered = ordered == 1});
}

static image *
new_image(void)
{
    image *to = malloc(sizeof *to);

    assert_non_null(to);
    return to;
}

static void
is_seen(const making *how)
{
    static const int files[] = {1, 2, 3, 8, 40};
    image           *with = new_image();
    making           one = *how;

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        one.files = files[i];
        made_by_hdf5(&one, with);
        assert_true(rset_external_is_in(with->bytes, with->size));
    }
    free(with);
}

static void
external_files_are_seen(void **state)
{
    (void)state;
    each_way(is_seen);
}

static void
is_not_seen(const making *how)
{
    image *without = new_image();

    made_by_hdf5(how, without);
    assert_false(rset_external_is_in(without->bytes, without->size));
    free(without);
}

static void
a_file_without_is_not_taken_for_one(void **state)
{
    (void)state;
    each_way(is_not_seen);
}

/* Wherever the buffer begins and ends, nothing beyond it is read (the sanitizers see to that); and what is cut off is not seen. */
static void
may_be_cut(const making *how)
{
    image *with = new_image();
    making one = *how;
    size_t from = 0, to;

    one.files = 2;
    made_by_hdf5(&one, with);
    to = with->size;
    while (rset_external_is_in(with->bytes + from + 1, with->size - from - 1))
        from++;
    while (rset_external_is_in(with->bytes + from, to - from - 1))
        to--;
    assert_true(to - from >= 8 + 4 + 6 * one.sizes && to - from <= 24 + 8 + 6 * one.sizes);
    for (size_t n = 0; n <= to - from; n++) {
        uint8_t *copy = malloc(n + 1); /* of its own size, but for 0 */

        assert_non_null(copy);
        memcpy(copy, with->bytes + from, n);
        assert_int_equal(rset_external_is_in(copy, n), n == to - from);
        free(copy);
    }
    free(with);
}

static void
no_byte_beyond_the_buffer_counts(void **state)
{
    (void)state;
    each_way(may_be_cut);
}

/* Whatever byte of what says so differs in its fixed part, it is something else. */
static void
what_differs_is_none(void **state)
{
    uint8_t message[8 + 40] = {7, 0, 40, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 200, 1};

    (void)state;
    message[8 + 16] = 8; /* the first name */
    assert_true(rset_external_is_in(message, sizeof message));
    for (size_t i = 0; i < 16; i++)
        for (int bit = 0; bit < 8; bit++) {
            message[i] ^= (uint8_t)(1 << bit);
            assert_false(rset_external_is_in(message, sizeof message));
            message[i] ^= (uint8_t)(1 << bit);
        }
    memset(message + 16, 0, 8);
    assert_false(rset_external_is_in(message, sizeof message));
    memset(message + 16, 0xff, 8);
    assert_false(rset_external_is_in(message, sizeof message));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(external_files_are_seen),
        cmocka_unit_test(a_file_without_is_not_taken_for_one),
        cmocka_unit_test(no_byte_beyond_the_buffer_counts),
        cmocka_unit_test(what_differs_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
