/* test_golden_undo.c: undo journals among the vectors of test/golden/own, which are made from FORMAT-extensions.md without the engine. The
 * engine reads in them what the document says, writes the same values as the same bytes, and gives each to the file that needs it. */
#include "commit/change.h"
#include "common/bytes.h"
#include "golden_own.h"
#include "image.h"
#include "names/claim.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <cmocka.h>

#define NAMES      OWN_PREFIX "redset.names"
#define UNDO       OWN_PREFIX "redset.000003ab12cd34ef.undo"
#define UNDO_NEXT  OWN_PREFIX "redset.0000041020304051.undo"
#define UNDO_FIRST OWN_PREFIX "redset.0000000000000000.undo"

#define STEP                                                                                       \
    {                                                                                              \
        UINT64_C(0x1122334455667788), 41, 3                                                        \
    }

enum { ENTRY = RSET_OVERLAY_ENTRY };

static const rset_label step = STEP;

/* ---- the random number that a test wants ---- */

static uint64_t nonce;

ssize_t __wrap_getrandom(void *buf, size_t n, unsigned flags);
ssize_t
__wrap_getrandom(void *buf, size_t n, unsigned flags)
{
    (void)flags;
    assert_int_equal(n, sizeof nonce);
    memcpy(buf, &nonce, n);
    return (ssize_t)n;
}

/* ---- what is in the vectors ---- */

enum { REST = OWN_SIZE - 4096, FIRST_AT = RSET_UNDO_ENTRIES + ENTRY };

typedef struct journal {
    const char    *of, *name;
    uint64_t       generation; /* which its name says */
    int            nheads, nruns;
    rset_undo_head heads[2]; /* the last one counts */
    rset_run       runs[2];  /* in the order in which they were written */
} journal;

/* clang-format off */
static const journal undo_open = {
    "undo_open", UNDO, OWN_GENERATION, 1, 2,
    {{1, RSET_UNDO_OPEN, RSET_UNDO_KEPT, OWN_GENERATION, OWN_SIZE, {0}, 0, OWN_GENERATION}},
    {{4096, REST, FIRST_AT}, {0, 4096, FIRST_AT + REST + ENTRY}}};
static const journal undo_closed = {
    "undo_closed", UNDO, OWN_GENERATION, 2, 2,
    {{1, RSET_UNDO_OPEN, RSET_UNDO_KEPT, OWN_GENERATION, OWN_SIZE, {0}, 0, OWN_GENERATION},
     {2, RSET_UNDO_CLOSED, RSET_UNDO_KEPT, OWN_GENERATION, OWN_SIZE, STEP, OWN_SIZE + 500, OWN_GENERATION}},
    {{4096, REST, FIRST_AT}, {0, 4096, FIRST_AT + REST + ENTRY}}};
static const journal undo_aside = {
    "undo_aside", UNDO, OWN_GENERATION, 1, 0,
    {{1, RSET_UNDO_OPEN, RSET_UNDO_ASIDE, OWN_GENERATION, OWN_SIZE, {0}, 0, OWN_GENERATION}}, {{0}}};
static const journal undo_next = {
    "undo_next", UNDO_NEXT, OWN_NEXT, 2, 1,
    {{1, RSET_UNDO_OPEN, RSET_UNDO_KEPT | RSET_UNDO_NEXT, OWN_AT_FIRST, OWN_SIZE, {0}, 0, OWN_AT_FIRST},
     {2, RSET_UNDO_OPEN, RSET_UNDO_KEPT | RSET_UNDO_NEXT, OWN_NEXT, OWN_SIZE, {0}, 0, OWN_AT_FIRST}},
    {{0, 4096, FIRST_AT}}};
static const journal undo_first = {
    "undo_first", UNDO_FIRST, 0, 2, 0,
    {{1, RSET_UNDO_OPEN, RSET_UNDO_FIRST, 0, 0, {0}, 0, 0},
     {2, RSET_UNDO_CLOSED, RSET_UNDO_FIRST, 0, 0, STEP, 3, 0}}, {{0}}};
/* clang-format on */

static void
assert_head(const rset_undo_head *got, const rset_undo_head *want)
{
    assert_true(got->sequence == want->sequence && got->state == want->state);
    assert_int_equal(got->flags, want->flags);
    assert_true(got->generation == want->generation && got->size == want->size);
    assert_true(got->label.job == want->label.job && got->label.step == want->label.step);
    assert_true(got->label.ranks == want->label.ranks);
    assert_true(got->closed == want->closed && got->key == want->key);
}

/* The runs are these in the order of the file, and their bytes the old ones. */
static void
assert_runs(own_place *p, const journal *j, const rset_overlay *kept)
{
    uint8_t    old[OWN_SIZE] = {0}, want[OWN_SIZE] = {0};
    rset_file *file;

    assert_int_equal(kept->n, j->nruns);
    assert_false(kept->torn);
    for (int i = 0; i < j->nruns; i++) {
        const rset_run *run = &kept->runs[j->nruns - 1 - i]; /* written from behind */

        assert_true(run->off == j->runs[i].off && run->len == j->runs[i].len &&
                    run->at == j->runs[i].at);
        own_content(1, run->off, want + run->off, (size_t)run->len);
    }
    own_must(p, rset_file_open(p->dir, j->name, &file, &p->err));
    own_must(p, rset_overlay_lay(kept, file, 0, old, sizeof old, &p->err));
    assert_memory_equal(old, want, sizeof old);
    rset_file_close(file, NULL);
}

static void
is_read(own_place *p, const journal *j)
{
    rset_undo undo;

    own_put(p, j->of, j->name);
    own_must(p, rset_undo_load(p->dir, OWN_PREFIX, j->generation, &undo, &p->err));
    assert_true(undo.there && !undo.rotten && !undo.busy && !undo.aside);
    assert_head(&undo.head, &j->heads[j->nheads - 1]);
    assert_runs(p, j, &undo.kept);
    assert_int_equal(rset_undo_is_next(&undo), j == &undo_next);
    assert_int_equal(rset_undo_leads_to(&undo, j->generation, OWN_SIZE), j != &undo_first);
    rset_undo_free(&undo);
}

/* By the functions that write one head and one entry. */
static void
is_written(own_place *p, const journal *j)
{
    rset_overlay over = {.generation = j->heads[0].key, .size = OWN_SIZE, .end = RSET_UNDO_ENTRIES};
    uint8_t      buf[ENTRY + OWN_SIZE];
    rset_file   *file;

    own_must(p, rset_dir_unlink(p->dir, j->name, &p->err));
    own_must(p, rset_file_create(p->dir, j->name, NULL, &file, &p->err));
    for (int i = 0; i < j->nheads; i++)
        own_must(p, rset_undo_write_head(file, &j->heads[i], &p->err));
    for (int i = 0; i < j->nruns; i++) {
        own_content(1, j->runs[i].off, buf + ENTRY, (size_t)j->runs[i].len);
        own_must(p, rset_overlay_append(file, &over, j->runs[i].off, buf, (size_t)j->runs[i].len,
                                        &p->err));
    }
    rset_file_close(file, NULL);
    assert_own_wrote(p, j->of, j->name);
}

static void
journals_are_read_and_written(void **state)
{
    static const journal *const all[] = {&undo_open, &undo_closed, &undo_aside, &undo_next,
                                         &undo_first};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        is_read(*state, all[i]);
        is_written(*state, all[i]);
    }
}

/* The last digit of the magic is the version of the bytes behind it: such a journal has no good head. */
static void
a_journal_of_another_version_is_rotten(void **state)
{
    own_place *p = *state;
    rset_undo  undo;
    size_t     n;
    uint8_t   *bytes = own_vector("undo_closed/" UNDO, &n);

    for (uint8_t *at = bytes; at <= bytes + 512; at += 512) {
        at[7]++;
        rset_put64(at + 88, rset_crc64(0, at, 88));
    }
    write_file(path_of("%s/%s", p->base, UNDO), bytes, n);
    own_must(p, rset_undo_load(p->dir, OWN_PREFIX, OWN_GENERATION, &undo, &p->err));
    assert_true(undo.rotten && !undo.there);
    rset_undo_free(&undo);
    free(bytes);
}

/* ---- what a program does with them ---- */

/* Has somebody else a lock of that kind on byte 2^62 + `which` of the file? */
static bool
is_locked(const own_place *p, const char *name, off_t which)
{
    struct flock lock = {.l_type = F_RDLCK, .l_start = ((off_t)1 << 62) + which, .l_len = 1};
    const int    fd = open(path_of("%s/%s", p->base, name), O_RDONLY);

    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_OFD_GETLK, &lock), 0);
    close(fd);
    return lock.l_type == F_WRLCK;
}

/* A program changes the file from behind, makes it longer, and closes it. */
static void
a_change_in_place_writes_the_journal(void **state)
{
    own_place    *p = *state;
    rset_journal *j;

    own_put_set(p);
    own_must(p, rset_change_begin(&p->local, &p->ev, RSET_KEEP_OLD, &j, &p->err));
    assert_true(exists(path_of("%s/%s.void", p->base, OWN_REDUNDANCY)));
    own_must(p, rset_journal_save(j, OWN_SIZE - 1, 10, &p->err));
    own_must(p, rset_journal_save(j, 0, 1, &p->err));
    assert_own_wrote(p, "undo_open", UNDO);
    assert_true(is_locked(p, UNDO, 4));
    own_put_data(p, OWN_SIZE + 500);
    own_must(p, rset_journal_close(j, &step, &p->err));
    assert_own_wrote(p, "undo_closed", UNDO);
    assert_false(is_locked(p, UNDO, 4));
}

static void
a_new_file_in_its_place_writes_the_journal(void **state)
{
    own_place    *p = *state;
    rset_journal *j;

    own_put_set(p);
    own_must(p, rset_change_begin_aside(&p->local, &p->ev, &j, &p->err));
    rset_journal_leave(j);
    assert_own_wrote(p, "undo_aside", UNDO);
}

static void
a_next_journal_joins_a_commit(void **state)
{
    own_place    *p = *state;
    rset_journal *j;

    own_put_set(p);
    nonce = OWN_AT_FIRST;
    own_must(p, rset_journal_begin_next(&p->local, &p->ev, &j, &p->err));
    own_must(p, rset_journal_save(j, 0, 1, &p->err));
    own_must(p, rset_journal_join(j, OWN_PREFIX, OWN_NEXT, &p->err));
    rset_journal_leave(j);
    assert_own_wrote(p, "undo_next", UNDO_NEXT);
}

static void
a_first_file_writes_the_journal(void **state)
{
    own_place    *p = *state;
    rset_journal *j;

    own_must(p, rset_survey_local(&p->local, &p->ev, &p->err));
    own_must(p, rset_change_begin_first(&p->local, &p->ev, &j, &p->err));
    own_put_data(p, 3);
    own_must(p, rset_journal_close(j, &step, &p->err));
    assert_own_wrote(p, "undo_first", UNDO_FIRST);
}

/* The bytes by which processes of another release know what goes on. */
static void
locks_are_on_their_bytes(void **state)
{
    static const struct {
        rset_claim_kind kind;
        off_t           which;
    } claims[] = {{RSET_CLAIM_ALONE, 1}, {RSET_CLAIM_COMMIT, 2}, {RSET_CLAIM_REPAIR, 3}};
    own_place *p = *state;
    rset_file *file;

    own_put(p, "set", NAMES);
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        own_must(p, rset_claim(p->dir, OWN_PREFIX, OWN_DATA, claims[i].kind, &file, &p->err));
        for (off_t which = 0; which < 6; which++)
            assert_int_equal(is_locked(p, NAMES, which), which == claims[i].which);
        rset_claim_end(file);
    }
    own_must(p, rset_file_create(p->dir, OWN_DATA, NULL, &file, &p->err));
    assert_true(rset_file_guard(file) && is_locked(p, OWN_DATA, 0)); /* as a shadow file */
    rset_file_close(file, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        OWN_TEST(journals_are_read_and_written),
        OWN_TEST(a_journal_of_another_version_is_rotten),
        OWN_TEST(a_change_in_place_writes_the_journal),
        OWN_TEST(a_new_file_in_its_place_writes_the_journal),
        OWN_TEST(a_next_journal_joins_a_commit),
        OWN_TEST(a_first_file_writes_the_journal),
        OWN_TEST(locks_are_on_their_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
