/* Checksums: published check values, fast = base, and sums that do not depend on the order of adding. */
#include "sums.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

enum { LONGEST = 1100, ALIGNMENTS = 17 };

static uint64_t seed = 12345;

static uint64_t
random64(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static uint8_t *
random_bytes(size_t len)
{
    uint8_t *buf = malloc(len > 0 ? len : 1);

    assert_non_null(buf);
    for (size_t i = 0; i < len; i++)
        buf[i] = (uint8_t)(random64() >> 24);
    return buf;
}

/* crc32 from its definition. */
static uint32_t
crc32_base(uint32_t crc, const uint8_t *buf, size_t len)
{
    crc = ~crc;
    for (size_t i = 0; i < len; i++) {
        crc ^= buf[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc & 1) != 0 ? (crc >> 1) ^ 0xedb88320u : crc >> 1;
    }
    return ~crc;
}

/* The truth that all is compared with: byte by byte, from the definition. */
static uint64_t
crc64_base(uint64_t crc, const void *buf, size_t len)
{
    const uint8_t *bytes = buf;

    crc = ~crc;
    for (size_t i = 0; i < len; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc & 1) != 0 ? (crc >> 1) ^ UINT64_C(0xc96c5795d7870f42) : crc >> 1;
    }
    return ~crc;
}

static void
check_values_are_those_of_crc64_xz_and_zlib(void **state)
{
    (void)state;
    assert_true(rset_crc64(0, "123456789", 9) == UINT64_C(0x995dc9bbdf1939fa));
    assert_true(crc64_base(0, "123456789", 9) == UINT64_C(0x995dc9bbdf1939fa));
    assert_true(rset_crc32(0, "123456789", 9) == 0xcbf43926u);
    assert_true(rset_crc64(0, NULL, 0) == 0);
    assert_true(rset_crc32(0, NULL, 0) == 0);
    assert_true(rset_crc64(7, NULL, 0) == 7);
}

static void
fast_equals_base_for_every_length_and_alignment(void **state)
{
    uint8_t *buf = random_bytes(LONGEST + ALIGNMENTS);

    (void)state;
    for (size_t len = 0; len <= LONGEST; len++) {
        const uint8_t *at = buf + len % ALIGNMENTS;
        uint64_t       start = len % 3 == 0 ? 0 : random64();

        assert_true(rset_crc64(start, at, len) == crc64_base(start, at, len));
        assert_true(rset_crc32((uint32_t)start, at, len) == crc32_base((uint32_t)start, at, len));
    }
    free(buf);
}

static void
nothing_outside_the_buffer_is_read(void **state)
{
    size_t   page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *map = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint8_t *begin, *end;

    (void)state;
    assert_true(map != MAP_FAILED);
    begin = map + page;
    end = begin + page;
    assert_int_equal(mprotect(begin, page, PROT_READ | PROT_WRITE), 0);
    for (size_t i = 0; i < page; i++)
        begin[i] = (uint8_t)random64();
    for (size_t len = 1; len <= page; len += len < 600 ? 1 : 97) {
        assert_true(rset_crc64(0, end - len, len) == crc64_base(0, end - len, len));
        assert_true(rset_crc64(0, begin, len) == crc64_base(0, begin, len));
        assert_true(rset_crc32(0, end - len, len) == crc32_base(0, end - len, len));
        assert_true(rset_crc32(0, begin, len) == crc32_base(0, begin, len));
    }
    munmap(map, 3 * page);
}

static void
combine_gives_the_crc_of_the_concatenation(void **state)
{
    uint8_t *buf = random_bytes(70000);

    (void)state;
    for (int i = 0; i < 500; i++) {
        size_t   len = random64() % 70001, cut = random64() % (len + 1);
        uint64_t a = rset_crc64(0, buf, cut), b = rset_crc64(0, buf + cut, len - cut);

        assert_true(rset_crc64_combine(a, b, len - cut) == rset_crc64(0, buf, len));
    }
    free(buf);
}

/* 5 GiB of zeros through the plain CRC, which the tests above compare with its definition. */
static void
zeros_are_added_by_their_number(void **state)
{
    uint8_t *buf = calloc(1, 70000);

    (void)state;
    memcpy(buf, "begin", 5);
    for (size_t len = 5; len < 70000; len = 3 * len + 1) {
        assert_true(rset_crc64_zeros(rset_crc64(0, buf, 5), len - 5) == rset_crc64(0, buf, len));
        assert_true(rset_crc64_zeros(0, len - 5) == rset_crc64(0, buf + 5, len - 5));
    }
    free(buf);
}

static void
combine_works_for_lengths_above_4_gib(void **state)
{
    enum { MIB = 1 << 20 };
    uint8_t *zeros = calloc(1, MIB);
    uint64_t start = rset_crc64(0, "abc", 3), plain = start, tail = 0, length = 0;

    (void)state;
    assert_non_null(zeros);
    while (length < 5 * UINT64_C(1073741824)) {
        plain = rset_crc64(plain, zeros, MIB - 3);
        tail = rset_crc64(tail, zeros, MIB - 3);
        length += MIB - 3;
    }
    assert_true(rset_crc64_combine(start, tail, length) == plain);
    free(zeros);
}

static void
expect_block_sums(const rset_sums *sums, const uint8_t *buf)
{
    for (size_t i = 0; i < sums->nblocks; i++) {
        uint64_t off = i * sums->block;
        uint64_t len = sums->size - off < sums->block ? sums->size - off : sums->block;

        assert_true(sums->crc[i] == crc64_base(0, buf + off, len));
    }
    assert_true(sums->whole == crc64_base(0, buf, sums->size));
}

/* Adds pieces of random lengths in random order. */
static void
add_shuffled(rset_sums *sums, const uint8_t *buf, size_t longest)
{
    size_t  count = 0, *begin = malloc((sums->size + 2) * sizeof *begin);
    size_t *turn = malloc((sums->size + 1) * sizeof *turn);

    assert_non_null(begin);
    assert_non_null(turn);
    for (size_t off = 0; off < sums->size; off += 1 + random64() % longest) {
        turn[count] = count;
        begin[count++] = off;
    }
    begin[count] = sums->size;
    for (size_t i = count; i > 1; i--) {
        size_t j = random64() % i, other = turn[i - 1];

        turn[i - 1] = turn[j];
        turn[j] = other;
    }
    for (size_t i = 0; i < count; i++) {
        size_t piece = turn[i];

        rset_sums_add(sums, begin[piece], buf + begin[piece], begin[piece + 1] - begin[piece]);
    }
    free(turn);
    free(begin);
}

static void
sums_do_not_depend_on_order_or_size_of_the_pieces(void **state)
{
    static const uint64_t blocks[] = {1, 7, 64, 1000, 4096, 9999, 10000, 10001, 1 << 20};
    static const uint64_t sizes[] = {1, 63, 4096, 9999, 10000};
    uint8_t              *buf = random_bytes(10000);

    (void)state;
    for (size_t b = 0; b < sizeof blocks / sizeof blocks[0]; b++) {
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            for (size_t longest = 1; longest <= 20000; longest *= 10) {
                rset_sums sums;

                assert_int_equal(rset_sums_init(&sums, sizes[s], blocks[b]), 0);
                add_shuffled(&sums, buf, longest);
                rset_sums_finish(&sums);
                expect_block_sums(&sums, buf);
                rset_sums_free(&sums);
            }
        }
    }
    free(buf);
}

static void
sums_of_an_empty_file_are_empty_and_its_crc_is_0(void **state)
{
    rset_sums sums;

    (void)state;
    assert_int_equal(rset_sums_init(&sums, 0, 4096), 0);
    rset_sums_add(&sums, 0, "x", 1);
    rset_sums_finish(&sums);
    assert_true(sums.nblocks == 0 && sums.crc == NULL && sums.whole == 0);
    rset_sums_free(&sums);
    rset_sums_free(&sums);
}

/* As if all bytes had been added anew: pieces that begin and end anywhere, over several blocks and the short last one. */
static void
sums_follow_a_change(void **state)
{
    uint8_t  *buf = random_bytes(1100), *difference = random_bytes(1100);
    rset_sums sums, all;

    (void)state;
    sums_of(&sums, buf, 1000, 64);
    for (int i = 0; i < 500; i++) {
        const size_t at = random64() % 1050, len = random64() % (1100 - at + 1);

        for (size_t k = 0; k < len; k++)
            buf[at + k] ^= difference[k];
        rset_sums_change(&sums, at, difference, len);
        sums_of(&all, buf, 1000, 64);
        assert_same_sums(&sums, &all);
        rset_sums_free(&all);
    }
    rset_sums_free(&sums);
    free(difference);
    free(buf);
}

static void
bytes_beyond_the_size_are_ignored(void **state)
{
    uint8_t  *buf = random_bytes(1000);
    rset_sums sums;

    (void)state;
    assert_int_equal(rset_sums_init(&sums, 700, 256), 0);
    rset_sums_add(&sums, 600, buf + 600, 400);
    rset_sums_add(&sums, 700, buf, 300);
    rset_sums_add(&sums, UINT64_MAX, buf, 300);
    rset_sums_add(&sums, 0, buf, 600);
    rset_sums_finish(&sums);
    expect_block_sums(&sums, buf);
    rset_sums_free(&sums);
    free(buf);
}

static void
more_blocks_than_memory_are_refused(void **state)
{
    rset_sums sums;

    (void)state;
    assert_int_equal(rset_sums_init(&sums, UINT64_MAX, 1), -1);
    assert_true(sums.crc == NULL && sums.nblocks == 0);
    rset_sums_free(&sums);
}

/* P2: a survivor that fails its checksum is found, and where. */
static void
differ_finds_each_flipped_bit_in_its_block_p2(void **state)
{
    uint8_t  *buf = random_bytes(1000);
    rset_sums good, bad;

    (void)state;
    assert_int_equal(rset_sums_init(&good, 1000, 64), 0);
    rset_sums_add(&good, 0, buf, 1000);
    rset_sums_finish(&good);
    for (size_t bit = 0; bit < 8000; bit += 13) {
        buf[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(rset_sums_init(&bad, 1000, 64), 0);
        rset_sums_add(&bad, 0, buf, 1000);
        rset_sums_finish(&bad);
        buf[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(rset_sums_differ(&good, &bad, 0), bit / 8 / 64);
        assert_int_equal(rset_sums_differ(&good, &bad, bit / 8 / 64 + 1), good.nblocks);
        assert_true(good.whole != bad.whole);
        rset_sums_free(&bad);
    }
    assert_int_equal(rset_sums_differ(&good, &good, 0), good.nblocks);
    assert_int_equal(rset_sums_differ(&good, &good, 99), good.nblocks);
    rset_sums_free(&good);
    free(buf);
}

static void
differ_looks_at_every_bit_of_a_checksum(void **state)
{
    uint64_t  one[3] = {1, 2, 3}, two[3] = {1, 2, 3};
    rset_sums a = {.size = 3, .block = 1, .nblocks = 3, .crc = one};
    rset_sums b = {.size = 3, .block = 1, .nblocks = 3, .crc = two};

    (void)state;
    for (int bit = 0; bit < 64; bit++) {
        two[2] = 3 ^ UINT64_C(1) << bit;
        assert_int_equal(rset_sums_differ(&a, &b, 0), 2);
    }
}

/* P9: the memory for checksums is bounded whatever the file's size. */
static void
block_size_keeps_the_number_of_blocks_bounded_p9(void **state)
{
    (void)state;
    assert_true(rset_sums_block_size(0, 1) == RSET_BLOCK_MIN);
    assert_true(rset_sums_block_size(RSET_BLOCK_MIN, 1) == RSET_BLOCK_MIN);
    assert_true(rset_sums_block_size(RSET_BLOCK_MIN + 1, 1) == 2 * RSET_BLOCK_MIN);
    for (int i = 0; i < 2000; i++) {
        uint64_t size = random64() >> (1 + random64() % 62), max = 1 + random64() % 5000;
        uint64_t block = rset_sums_block_size(size, max);

        assert_true(block >= RSET_BLOCK_MIN && (block & (block - 1)) == 0);
        assert_true(size / block + (size % block != 0) <= max);
        assert_true(block == RSET_BLOCK_MIN || (size - 1) / (block / 2) + 1 > max);
    }
    assert_true(rset_sums_block_size(UINT64_MAX, 1) == UINT64_C(1) << 63); /* ends */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check_values_are_those_of_crc64_xz_and_zlib),
        cmocka_unit_test(fast_equals_base_for_every_length_and_alignment),
        cmocka_unit_test(nothing_outside_the_buffer_is_read),
        cmocka_unit_test(combine_gives_the_crc_of_the_concatenation),
        cmocka_unit_test(zeros_are_added_by_their_number),
        cmocka_unit_test(combine_works_for_lengths_above_4_gib),
        cmocka_unit_test(sums_do_not_depend_on_order_or_size_of_the_pieces),
        cmocka_unit_test(sums_of_an_empty_file_are_empty_and_its_crc_is_0),
        cmocka_unit_test(sums_follow_a_change),
        cmocka_unit_test(bytes_beyond_the_size_are_ignored),
        cmocka_unit_test(more_blocks_than_memory_are_refused),
        cmocka_unit_test(differ_finds_each_flipped_bit_in_its_block_p2),
        cmocka_unit_test(differ_looks_at_every_bit_of_a_checksum),
        cmocka_unit_test(block_size_keeps_the_number_of_blocks_bounded_p9),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
