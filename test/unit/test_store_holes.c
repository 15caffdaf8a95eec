/* Zeros in new files take no space (store.h, rset_file_write), nor what goes back to zeros in a hole (member/overlay.h): what is read is
 * what was written. */
#include "member/overlay.h"
#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char      in[] = "/tmp/test_store_holes.XXXXXX";
static rset_dir *dir;

enum { BLOCK = 64 << 10, BLOCKS = 24 };

static void
reads_as(rset_file *file, const uint8_t *want, size_t len)
{
    uint8_t *is = malloc(len + 1);
    size_t   got = 0;

    assert_int_equal(rset_file_read(file, 0, is, len + 1, &got, NULL), RSET_OK);
    assert_int_equal(got, len);
    assert_memory_equal(is, want, len);
    free(is);
}

static void
zeros_take_no_space(void **state)
{
    uint8_t    *bytes = calloc(BLOCKS, BLOCK);
    rset_file  *file;
    struct stat sb;

    (void)state;
    bytes[5 * BLOCK + 7] = 1;
    bytes[9 * BLOCK - 1] = 1;
    assert_int_equal(rset_file_create(dir, "sparse", NULL, &file, NULL), RSET_OK);
    assert_int_equal(rset_file_write(file, 0, bytes, BLOCKS * BLOCK, NULL), RSET_OK);
    reads_as(file, bytes, BLOCKS * BLOCK);
    assert_int_equal(rset_file_stat(file, &sb, NULL), RSET_OK);
    assert_true(sb.st_blocks > 0 && sb.st_blocks * 512 < 4 * BLOCK);
    memset(bytes, 0, BLOCK * 6);
    assert_int_equal(rset_file_write(file, 0, bytes, BLOCK * 6, NULL),
                     RSET_OK); /* over what is there */
    reads_as(file, bytes, BLOCKS * BLOCK);
    assert_int_equal(rset_file_close(file, NULL), RSET_OK);
    assert_int_equal(rset_file_open_update(dir, "sparse", &file, NULL), RSET_OK);
    memset(bytes, 0, BLOCKS * BLOCK);
    assert_int_equal(rset_file_write(file, 0, bytes, BLOCKS * BLOCK, NULL), RSET_OK);
    reads_as(file, bytes, BLOCKS * BLOCK);
    assert_int_equal(rset_file_close(file, NULL), RSET_OK);
    free(bytes);
}

/* What a journal has of a hole goes back where the disk is full. */
static void
zeros_go_back_into_holes(void **state)
{
    rset_run           run = {.off = BLOCK, .len = 4 * BLOCK, .at = BLOCK / 2};
    const rset_overlay over = {.runs = &run, .n = 1};
    uint8_t           *bytes = calloc(BLOCKS, BLOCK);
    rset_file         *top, *base;
    struct stat        before, after;

    (void)state;
    assert_int_equal(rset_file_create(dir, "sparse", NULL, &base, NULL), RSET_OK);
    assert_int_equal(rset_file_create(dir, "random", NULL, &top, NULL), RSET_OK);
    assert_int_equal(rset_file_resize(base, BLOCKS * BLOCK, NULL), RSET_OK);
    assert_int_equal(rset_file_resize(top, 5 * BLOCK, NULL), RSET_OK);
    assert_int_equal(rset_file_write(base, BLOCK + 9, "new", 3, NULL), RSET_OK);
    assert_int_equal(rset_file_close(base, NULL), RSET_OK);
    assert_int_equal(rset_file_open_update(dir, "sparse", &base, NULL), RSET_OK);
    assert_int_equal(rset_file_stat(base, &before, NULL), RSET_OK);
    assert_int_equal(rset_overlay_copy(&over, top, base, NULL), RSET_OK);
    reads_as(base, bytes, BLOCKS * BLOCK);
    assert_int_equal(rset_file_stat(base, &after, NULL), RSET_OK);
    assert_true(after.st_blocks * 512 < before.st_blocks * 512 + 2 * BLOCK);
    assert_int_equal(rset_file_write(top, run.at + 3 * BLOCK, "old", 3, NULL), RSET_OK);
    memcpy(bytes + 4 * BLOCK, "old", 3);
    assert_int_equal(rset_overlay_copy(&over, top, base, NULL), RSET_OK);
    reads_as(base, bytes, BLOCKS * BLOCK);
    assert_int_equal(rset_file_close(base, NULL), RSET_OK);
    assert_int_equal(rset_file_close(top, NULL), RSET_OK);
    free(bytes);
}

/* Whatever is written into a new file in which order, it reads as that. */
static void
zeros_are_written_over(void **state)
{
    uint8_t *bytes = malloc(BLOCKS * BLOCK), *part = malloc(BLOCKS * BLOCK);

    (void)state;
    srand(1);
    for (int round = 0; round < 200; round++) {
        size_t     len = 0;
        rset_file *file;

        memset(bytes, 0, BLOCKS * BLOCK);
        assert_int_equal(rset_file_create(dir, "random", NULL, &file, NULL), RSET_OK);
        for (int i = 0; i < (round % 10 == 0 ? 300 : 6); i++) {
            const size_t off = round % 10 == 0 ? (size_t)rand() % ((BLOCKS - 9) * BLOCK)
                                               : (size_t)rand() % (BLOCKS - 9) * (BLOCK / 2) *
                                                     (size_t)(1 + rand() % 2);
            const size_t n = (size_t)rand() % (round % 10 == 0 ? 99 : 8 * BLOCK);

            memset(part, rand() % 2, n);
            if (rand() % 20 == 0) {
                assert_int_equal(rset_file_resize(file, off, NULL), RSET_OK);
                memset(bytes + off, 0, BLOCKS * BLOCK - off);
                len = off;
            }
            assert_int_equal(rset_file_write(file, off, part, n, NULL), RSET_OK);
            memcpy(bytes + off, part, n);
            len = n > 0 && off + n > len ? off + n : len;
            reads_as(file, bytes, len);
        }
        assert_int_equal(rset_file_close(file, NULL), RSET_OK);
    }
    free(bytes);
    free(part);
}

/* Goes through a file with what is laid over it by rset_layered_next_data: what that skips are zeros, and the end is reached. */
static void
check_skips(const rset_layered *l, const uint8_t *want, size_t len)
{
    uint8_t *part = malloc(len);
    uint64_t end;

    for (uint64_t off = 0; off < len;) {
        const uint64_t next = rset_layered_next_data(l, off, &end);
        size_t         n, got = 0;

        assert_true(next >= off && next <= len && end > next);
        for (; off < next; off++)
            assert_int_equal(want[off], 0);
        n = (size_t)((end < len ? end : len) - next);
        assert_int_equal(rset_layered_read(l, next, part, n, &got, NULL), RSET_OK);
        assert_int_equal(got, n);
        if (n > 0)
            assert_memory_equal(part, want + next, n);
        off = next + n;
    }
    assert_int_equal(rset_layered_next_data(l, len, &end), len);
    free(part);
}

/* At random: data in a file of holes, and runs, of zeros too, laid over that. */
static void
holes_can_be_skipped(void **state)
{
    enum { RUNS = 4, LEN = BLOCKS * BLOCK };
    uint8_t *bytes = malloc(LEN);

    (void)state;
    srand(2);
    for (int round = 0; round < 100; round++) {
        rset_run     runs[RUNS];
        rset_overlay over = {.runs = runs, .n = RUNS};
        rset_file   *top, *base;

        memset(bytes, 0, LEN);
        assert_int_equal(rset_file_create(dir, "sparse", NULL, &base, NULL), RSET_OK);
        assert_int_equal(rset_file_create(dir, "random", NULL, &top, NULL), RSET_OK);
        assert_int_equal(rset_file_resize(base, LEN, NULL), RSET_OK);
        for (int i = 0; i < round % 5; i++) {
            const size_t off = (size_t)rand() % (LEN - BLOCK), n = 1 + (size_t)rand() % BLOCK;

            memset(bytes + off, 1 + i, n);
            assert_int_equal(rset_file_write(base, off, bytes + off, n, NULL), RSET_OK);
        }
        check_skips(&(rset_layered){.base = base}, bytes, LEN);
        for (int i = 0; i < RUNS; i++) { /* one in each part of the file, or up to the next part */
            const size_t from = (size_t)i * (LEN / RUNS), most = LEN / RUNS;
            const size_t skip = round % 3 == 0 ? 0 : (size_t)rand() % (most / 2);

            runs[i] = (rset_run){from + skip, round % 4 == 0 ? most - skip : most / 3, from + skip};
            memset(bytes + runs[i].off, i % 2 == 0 ? 0 : 99, (size_t)runs[i].len);
            assert_int_equal(
                rset_file_write(top, runs[i].at, bytes + runs[i].off, (size_t)runs[i].len, NULL),
                RSET_OK);
        }
        assert_int_equal(rset_file_resize(top, LEN, NULL), RSET_OK);
        check_skips(&(rset_layered){base, top, &over}, bytes, LEN);
        assert_int_equal(rset_file_close(base, NULL), RSET_OK);
        assert_int_equal(rset_file_close(top, NULL), RSET_OK);
    }
    free(bytes);
}

static int
begin(void **state)
{
    (void)state;
    return mkdtemp(in) == NULL || rset_dir_open(in, false, &dir, NULL) != RSET_OK;
}

static int
end(void **state)
{
    (void)state;
    (void)rset_dir_unlink(dir, "sparse", NULL);
    (void)rset_dir_unlink(dir, "random", NULL);
    rset_dir_close(dir);
    return rmdir(in);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zeros_take_no_space),
        cmocka_unit_test(zeros_are_written_over),
        cmocka_unit_test(zeros_go_back_into_holes),
        cmocka_unit_test(holes_can_be_skipped),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
