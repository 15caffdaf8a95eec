/* test_format_sizes.c: how large headers become, and what reading them takes (P9). */
#include "format_samples.h"

#include <limits.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* So that the payload's place is known before its checksums are. */
static void
size_does_not_depend_on_checksums(void **state)
{
    rset_header h = sample_header(&rset_scheme_xor, 4, 1, 2, 3);
    size_t      len, zeros;

    (void)state;
    free(sample_pack(&h, &len));
    h.payload.whole = 0;
    memset(h.payload.crc, 0, h.payload.nblocks * sizeof *h.payload.crc);
    for (int i = 0; i < 3; i++) {
        rset_sums *sums = &h.infos[1].files[i].sums;

        sums->whole = 0;
        if (sums->nblocks > 0)
            memset(sums->crc, 0, sums->nblocks * sizeof *sums->crc);
    }
    free(sample_pack(&h, &zeros));
    assert_int_equal(len, zeros);
    rset_header_free(&h);
}

/* Block checksums stay below 1 MiB for files of any size, as long as the files are few enough to be listed. */
static void
header_stays_below_one_mebibyte(void **state)
{
    static const struct {
        const rset_scheme *scheme;
        int                members, parity, nfiles;
    } shapes[] = {{&rset_scheme_xor, 8, 1, 1},
                  {&rset_scheme_rs, 8, 3, 1},
                  {&rset_scheme_rs, 128, 127, 1},
                  {&rset_scheme_partner, 8, 7, 12},
                  {&rset_scheme_single, 1, 0, 500}};
    uint64_t size = ((uint64_t)1 << 62) / 500 - 1;

    (void)state;
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        rset_header h = sample_header(shapes[k].scheme, shapes[k].members, shapes[k].parity, 0,
                                      shapes[k].nfiles);
        size_t      blocks = rset_format_max_blocks(h.ninfos, shapes[k].nfiles), len;
        uint64_t    payload = 0;

        for (int d = 0; d < h.ninfos; d++)
            for (int i = 0; i < shapes[k].nfiles; i++) {
                rset_file_info *file = &h.infos[d].files[i];

                file->attrs.size = size / (uint64_t)shapes[k].members;
                payload += d > 0 ? file->attrs.size : 0;
                rset_sums_free(&file->sums);
                assert_int_equal(rset_sums_init(&file->sums, file->attrs.size,
                                                rset_sums_block_size(file->attrs.size, blocks)),
                                 0);
                assert_true(file->sums.nblocks <= blocks);
            }
        if (h.group != NULL) {
            h.chunk = size / (uint64_t)shapes[k].members;
            payload = h.chunk * (uint64_t)shapes[k].parity;
        }
        rset_sums_free(&h.payload);
        assert_int_equal(rset_sums_init(&h.payload, payload, rset_sums_block_size(payload, blocks)),
                         0);
        free(sample_pack(&h, &len));
        assert_true(len >= 1000 && len < 1024 * 1024);
        rset_header_free(&h);
    }
    assert_int_equal(rset_format_max_blocks(256, 1 << 20), 1);
    assert_int_equal(rset_format_max_blocks(256, INT_MAX), 1);
    assert_int_equal(rset_format_max_blocks(1, 0), RSET_SUMS_BUDGET);
}

/* P9: structs and tree together, for headers as they are and with the smallest of files. */
static void
memory_is_bounded_by_the_input(void **state)
{
    enum { FILES = 20000 };
    rset_header h = sample_header(&rset_scheme_single, 1, 0, 0, FILES), back;
    rset_tree  *tree;
    size_t      len, used;
    uint8_t    *buf;

    (void)state;
    for (int i = 0; i < FILES; i++) {
        rset_file_info *file = &h.infos[0].files[i];

        file->attrs = (rset_attrs){.size = 0};
        file->has_sums = false;
        strcpy(file->path, "f");
    }
    buf = sample_packed(&h, false, &len);
    assert_int_equal(rset_tree_unpack(buf, len, "file", &tree, NULL), RSET_OK);
    assert_int_equal(rset_format_unpack_header(buf, len, "file", 0, &back, NULL), RSET_OK);
    used = malloc_usable_size(tree) + malloc_usable_size(back.infos[0].files);
    for (int i = 0; i < FILES; i++)
        used += malloc_usable_size(back.infos[0].files[i].path) + 16;
    assert_true(used >= len && used <= 4 * len);
    rset_tree_free(tree);
    rset_header_free(&back);
    rset_header_free(&h);
    free(buf);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(size_does_not_depend_on_checksums),
        cmocka_unit_test(header_stays_below_one_mebibyte),
        cmocka_unit_test(memory_is_bounded_by_the_input),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
