/* golden_own.c: see golden_own.h. */
#include "golden_own.h"

#include "golden.h"
#include "image.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

uint8_t *
own_vector(const char *name, size_t *n_out)
{
    return read_file(path_of("%s/../own/%s", vectors(), name), n_out);
}

void
assert_is_own_vector(const uint8_t *bytes, size_t n, const char *name)
{
    size_t   want_n, i = 0;
    uint8_t *want = own_vector(name, &want_n);

    while (i < n && i < want_n && bytes[i] == want[i])
        i++;
    if (n != want_n || i < n)
        fail_msg("%s has %zu bytes, and written were %zu; the first that differs is at %zu", name,
                 want_n, n, i);
    free(want);
}

void
own_content(int rank, uint64_t off, uint8_t *to, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const uint64_t i = off + k;

        to[k] = (uint8_t)(i * 167 + (uint64_t)rank * 59 + (i >> 8) * 13);
    }
}

/* Parity of the first chunk of rank 0, which has 700 bytes, and of the second of rank 2, which has 5000. */
void
own_payload(uint8_t to[OWN_CHUNK], bool changed)
{
    uint8_t other[OWN_CHUNK] = {0};

    memset(to, 0, OWN_CHUNK);
    own_content(0, 0, to, 700);
    own_content(2, OWN_CHUNK, other, 2000);
    for (int i = 0; i < OWN_CHUNK; i++)
        to[i] ^= other[i];
    for (int i = OWN_CHANGED_AT; changed && i < OWN_CHANGED_AT + OWN_CHANGED; i++)
        to[i] ^= 0xff;
}

/* ---- headers ---- */

static void
sum(rset_sums *sums, const uint8_t *bytes, size_t n)
{
    assert_int_equal(rset_sums_init(sums, n, RSET_BLOCK_MIN), 0);
    rset_sums_add(sums, 0, bytes, n);
    rset_sums_finish(sums);
}

static rset_info
info_of(const rset_desc *desc, int content, uint64_t size, const char *path)
{
    rset_info info = {.desc = *desc, .nfiles = 1, .files = calloc(1, sizeof *info.files)};
    uint8_t  *bytes = malloc(size);

    info.host = strdup(path_of("node%d", desc->rank));
    info.files[0] = (rset_file_info){.path = strdup(path),
                                     .has_sums = true,
                                     .attrs = {.atime_secs = UINT64_MAX - 86399,
                                               .atime_nsecs = 42,
                                               .ctime_secs = OWN_TIME - 3,
                                               .ctime_nsecs = 999999999,
                                               .mtime_secs = OWN_TIME - 5,
                                               .mtime_nsecs = 7,
                                               .uid = 1000 + (uint64_t)desc->rank,
                                               .gid = 100,
                                               .mode = 0100640,
                                               .size = size}};
    own_content(content, 0, bytes, size);
    sum(&info.files[0].sums, bytes, size);
    free(bytes);
    return info;
}

rset_desc
own_desc(int rank, uint64_t generation)
{
    return (rset_desc){.scheme = &rset_scheme_xor,
                       .parity = 1,
                       .sets = 1,
                       .member = rank,
                       .members = 3,
                       .rank = rank,
                       .ranks = 3,
                       .generation = generation};
}

static rset_info
member_of_set(int rank, uint64_t generation, uint64_t time)
{
    const rset_desc desc = own_desc(rank, generation);
    rset_info       info =
        info_of(&desc, rank, rank == 0 ? 700 : OWN_SIZE, path_of("/local/ckpt_%d.h5", rank));

    info.stamp = (rset_stamp){.time = time,
                              .job = strdup("4711"),
                              .user = strdup("ann"),
                              .label = strdup("step 7, \xc3\xa9tape")};
    info.together = strdup(path_of("mesh_%d.h5/part_%d.h5", rank, rank));
    return info;
}

rset_header
own_header_of_set(uint64_t generation, uint64_t time, bool changed)
{
    rset_header h = {.member = 1, .chunk = OWN_CHUNK, .ninfos = 2, .has_payload_sums = true};
    uint8_t     payload[OWN_CHUNK];

    h.infos = calloc(2, sizeof *h.infos);
    h.group = calloc(3, sizeof *h.group);
    h.infos[0] = member_of_set(1, generation, time);
    h.infos[1] = member_of_set(0, generation, time);
    for (int i = 0; i < 3; i++)
        h.group[i] = i;
    own_payload(payload, changed);
    sum(&h.payload, payload, sizeof payload);
    return h;
}

rset_header
own_header_of_one_rank(void)
{
    const rset_desc desc = {.scheme = &rset_scheme_single,
                            .sets = 1,
                            .members = 1,
                            .ranks = 1,
                            .generation = OWN_OF_ONE};
    rset_header     h = {.ninfos = 1, .has_payload_sums = true};

    h.infos = calloc(1, sizeof *h.infos);
    h.infos[0] = info_of(&desc, 3, 70000, "/local/one.h5");
    h.infos[0].stamp = (rset_stamp){.time = OWN_TIME, .since = OWN_SINCE};
    sum(&h.payload, NULL, 0);
    return h;
}

/* ---- comparing ---- */

static void
assert_same_sums(const rset_sums *a, const rset_sums *b)
{
    assert_true(a->size == b->size && a->block == b->block && a->nblocks == b->nblocks);
    assert_true(a->whole == b->whole && rset_sums_differ(a, b, 0) == a->nblocks);
}

static void
assert_same_text(const char *a, const char *b)
{
    assert_int_equal(a == NULL, b == NULL);
    if (a != NULL)
        assert_string_equal(a, b);
}

void
assert_same_own_desc(const rset_desc *a, const rset_desc *b)
{
    assert_true(a->scheme == b->scheme && a->parity == b->parity);
    assert_true(a->set == b->set && a->sets == b->sets);
    assert_true(a->member == b->member && a->members == b->members);
    assert_true(a->rank == b->rank && a->ranks == b->ranks);
    assert_true(a->generation == b->generation);
}

static void
assert_same_info(const rset_info *a, const rset_info *b)
{
    assert_same_own_desc(&a->desc, &b->desc);
    assert_same_text(a->host, b->host);
    assert_true(a->stamp.time == b->stamp.time && a->stamp.since == b->stamp.since);
    assert_same_text(a->stamp.job, b->stamp.job);
    assert_same_text(a->stamp.user, b->stamp.user);
    assert_same_text(a->stamp.label, b->stamp.label);
    assert_same_text(a->together, b->together);
    assert_true(a->nfiles == 1 && b->nfiles == 1);
    assert_string_equal(a->files[0].path, b->files[0].path);
    assert_memory_equal(&a->files[0].attrs, &b->files[0].attrs, sizeof a->files[0].attrs);
    assert_true(a->files[0].has_sums && b->files[0].has_sums);
    assert_same_sums(&a->files[0].sums, &b->files[0].sums);
}

void
assert_same_own_header(const rset_header *a, const rset_header *b)
{
    assert_true(a->member == b->member && a->chunk == b->chunk && a->ninfos == b->ninfos);
    for (int d = 0; d < a->ninfos; d++)
        assert_same_info(&a->infos[d], &b->infos[d]);
    assert_int_equal(a->group == NULL, b->group == NULL);
    if (a->group != NULL)
        assert_memory_equal(a->group, b->group,
                            (size_t)a->infos[0].desc.members * sizeof *a->group);
    assert_true(a->has_payload_sums && b->has_payload_sums);
    assert_same_sums(&a->payload, &b->payload);
}

/* ---- a directory to write in, on a machine with the boot of the vectors ---- */

static const char boot_id[] = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0\n";
uint64_t          own_boot;

static uint64_t
this_boot(void)
{
    return own_boot;
}

int
own_set_up(void **state)
{
    static const char *const names[] = {OWN_DATA};
    static rset_sys          table;
    own_place               *p = calloc(1, sizeof *p);

    p->base = scratch_make();
    assert_int_equal(rset_dir_open(p->base, false, &p->dir, &p->err), RSET_OK);
    p->local = (rset_local){
        .dir = p->dir, .prefix = OWN_PREFIX, .nfiles = 1, .names = names, .paths = names};
    own_boot = rset_crc64(0, boot_id, strlen(boot_id));
    table = rset_sys_posix;
    table.boot = this_boot;
    rset_sys_use(&table);
    *state = p;
    return 0;
}

int
own_tear_down(void **state)
{
    own_place *p = *state;

    rset_evidence_free(&p->ev);
    rset_sys_use(NULL);
    rset_dir_close(p->dir);
    remove_tree(p->base);
    free(p->base);
    free(p);
    return 0;
}

void
own_must(own_place *p, rset_status st)
{
    if (st != RSET_OK)
        fail_msg("%s", p->err.text);
}

void
own_put(const own_place *p, const char *of, const char *name)
{
    size_t   n;
    uint8_t *bytes = own_vector(path_of("%s/%s", of, name), &n);

    write_file(path_of("%s/%s", p->base, name), bytes, n);
    free(bytes);
}

void
assert_own_wrote(const own_place *p, const char *of, const char *name)
{
    size_t   n;
    uint8_t *bytes = read_file(path_of("%s/%s", p->base, name), &n);

    assert_is_own_vector(bytes, n, path_of("%s/%s", of, name));
    free(bytes);
}

void
own_put_data(const own_place *p, size_t size)
{
    uint8_t *bytes = malloc(size);

    own_content(1, 0, bytes, size);
    write_file(path_of("%s/%s", p->base, OWN_DATA), bytes, size);
    free(bytes);
}

void
own_put_set(own_place *p)
{
    own_put_data(p, OWN_SIZE);
    own_put(p, "set", OWN_DESCRIPTOR);
    own_put(p, "set", OWN_REDUNDANCY);
    own_put(p, "set", OWN_PREFIX "redset.names");
    own_must(p, rset_survey_local(&p->local, &p->ev, &p->err));
    assert_true(p->ev.has_header && p->ev.has_desc && !p->ev.is_void && !p->ev.orphans);
    assert_true(rset_evidence_generation(&p->ev) == OWN_GENERATION);
    assert_int_equal(p->ev.payload_at, OWN_HEADER);
}
