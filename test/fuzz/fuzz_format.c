/* fuzz_format.c: any bytes as header, descriptor file, info and file name.
 *
 *   clang -std=c11 -D_GNU_SOURCE -g -O1 -fsanitize=fuzzer,address,undefined -Iencode \
 *       test/fuzz/fuzz_format.c encode/{tree,tree_pack,format,format_info,format_desc,format_name}.c \
 *       encode/{err,crc64,gf256}.c encode/scheme*.c -lisal -o fuzz_format
 *   ./fuzz_format CORPUS        where CORPUS has the .redset files of test/golden/vectors
 *
 * Length and checksum of the container are made to fit first, so that the fuzzer reaches what is
 * behind them. What is accepted must be written again, and then read and written as the same bytes. */
#include "common/crc64.h"
#include "format/format.h"
#include "format/tree.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool holds)
{
    if (!holds)
        abort();
}

static void
seal(uint8_t *buf, size_t len)
{
    static const uint8_t head[RSET_TREE_HEAD] = {0x95, 0x1f, 0xc3, 0xf5, 0, 1, 0, 1, 0, 0,
                                                 0,    0,    0,    0,    0, 0, 0, 0, 0, 1};
    uint32_t             crc;

    memcpy(buf, head, sizeof head);
    for (int i = 0; i < 8; i++)
        buf[8 + i] = (uint8_t)((uint64_t)len >> (56 - 8 * i));
    crc = rset_crc32(0, buf, len - 4);
    for (int i = 0; i < 4; i++)
        buf[len - 4 + (size_t)i] = (uint8_t)(crc >> (24 - 8 * i));
}

/* Two packed forms are the same; releases both. */
static void
must_equal(uint8_t *a, size_t len_a, uint8_t *b, size_t len_b)
{
    must(len_a == len_b && memcmp(a, b, len_a) == 0);
    free(a);
    free(b);
}

static void
header(const uint8_t *buf, size_t len, int member)
{
    rset_header h, again;
    uint8_t    *one, *two;
    size_t      len1, len2;

    if (rset_format_unpack_header(buf, len, "fuzz", member, &h, NULL) != RSET_OK)
        return;
    must(rset_format_pack_header(&h, true, &one, &len1, NULL) == RSET_OK);
    must(rset_format_unpack_header(one, len1, "fuzz", h.member, &again, NULL) == RSET_OK);
    must(rset_format_pack_header(&again, true, &two, &len2, NULL) == RSET_OK);
    must_equal(one, len1, two, len2);
    rset_header_free(&h);
    rset_header_free(&again);
}

static void
info(const uint8_t *buf, size_t len)
{
    rset_info i, again;
    uint8_t  *one, *two;
    size_t    len1, len2;

    if (rset_format_unpack_info(buf, len, "fuzz", &i, NULL) != RSET_OK)
        return;
    must(rset_format_pack_info(&i, true, &one, &len1, NULL) == RSET_OK);
    must(rset_info_copy(&i, &again, NULL) == RSET_OK);
    must(rset_format_pack_info(&again, true, &two, &len2, NULL) == RSET_OK);
    must_equal(one, len1, two, len2);
    rset_info_free(&i);
    rset_info_free(&again);
}

static void
descs(const uint8_t *buf, size_t len, int rank)
{
    rset_descs d, again;
    uint8_t   *one, *two;
    size_t     len1, len2;

    if (rset_format_unpack_descs(buf, len, "fuzz", rank, &d, NULL) != RSET_OK)
        return;
    if (d.at[0].rank == rank) { /* else it need not be one member's file */
        must(rset_format_pack_descs(d.at, d.n, true, &one, &len1, NULL) == RSET_OK);
        must(rset_format_unpack_descs(one, len1, "fuzz", rank, &again, NULL) == RSET_OK);
        must(d.n == again.n);
        must(rset_format_pack_descs(again.at, again.n, true, &two, &len2, NULL) == RSET_OK);
        must_equal(one, len1, two, len2);
        free(again.at);
    }
    free(d.at);
}

static void
name(const uint8_t *data, size_t size)
{
    char     *text = malloc(size + 1), *prefix, *again;
    rset_name n;
    rset_desc d;

    must(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    if (rset_format_parse_name(text, &n)) {
        prefix = strndup(text, n.prefix_len);
        d = (rset_desc){.scheme = n.scheme,
                        .set = n.set,
                        .sets = n.sets,
                        .member = n.member,
                        .members = n.members,
                        .rank = n.rank};
        again = n.scheme == NULL ? rset_format_desc_name(prefix, n.rank)
                                 : rset_format_redundancy_name(prefix, &d);
        must(strcmp(again, text) == 0);
        free(again);
        free(prefix);
    }
    free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int      member = size == 0 ? -1 : data[0] % 9 - 1; /* the magic, 0x95, is member 4 */
    uint8_t *buf;

    name(data, size);
    if (size < RSET_TREE_HEAD + 8)
        return 0;
    header(data, size, -1); /* as it is: bytes may follow */
    buf = malloc(size);
    must(buf != NULL);
    memcpy(buf, data, size);
    seal(buf, size);
    for (int m = -1; m < 4; m++)
        header(buf, size, m);
    header(buf, size, member);
    info(buf, size);
    for (int rank = 0; rank < 4; rank++)
        descs(buf, size, rank);
    free(buf);
    return 0;
}
