/* test_engine_damage.c: damage that is not the loss of a whole node: flipped bits, data and redundancy lost separately
 * (P2, B1, B4, B10, B13). Whatever is on disk: the files come back as they were, or the open is refused with
 * nothing changed. Wrong lengths and special files: test_engine_misfits.c. */
#include "codec/solve.h"
#include "engine_damage.h"
#include "every.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

static size_t
payload_at(const world *w, int r)
{
    const image_file *f = image_find(&w->image, job_redundancy(&w->job, r) + strlen(w->base) + 1);
    rset_header       h = {0};
    rset_err          err = RSET_ERR_NONE;
    uint64_t          total = 0;

    assert_non_null(f);
    for (int i = 0; i < 8; i++) /* FORMAT.md 2 */
        total = total << 8 | f->data[8 + i];
    assert_int_equal(rset_format_unpack_header(f->data, f->size, f->path, r, &h, &err), RSET_OK);
    rset_header_free(&h);
    return (size_t)total;
}

/* ---- data and redundancy lost separately, all 4^4 states ---- */

/* What was recorded of some member is gone: its file is opened, and nothing is sealed as verified. */
static bool
unverified(const world *w, const bool *bad_payload)
{
    const rset_desc *d = &w->job.ranks[0].desc;
    const int        left = d->scheme->left(d->parity);

    for (int m = 0; m < N; m++) {
        bool known = false;

        for (int u = 0; u <= left; u++)
            known = known || !bad_payload[(m + u) % N];
        if (!known)
            return true;
    }
    return false;
}

/* What must be possible, from the rules alone: infos known from own or right neighbours' headers, and
 * one elimination per stripe over what can be verified. */
static bool
solvable(const world *w, const bool *bad_data, const bool *bad_payload, bool redundancy_too)
{
    const rset_desc *d = &w->job.ranks[0].desc;
    int              left = d->scheme->left(d->parity);
    uint64_t         length[N];
    rset_shape       shape = {
              .scheme = d->scheme, .members = d->members, .parity = d->parity, .length = length};
    bool known[N];

    if (d->scheme == &rset_scheme_single) /* never asked with bad data */
        return !redundancy_too || !unverified(w, bad_payload);
    for (int m = 0; m < N; m++) {
        length[m] = w->image.at[0].size;
        known[m] = false;
        for (int u = 0; u <= left; u++)
            known[m] = known[m] || !bad_payload[(m + u) % N];
        if (!known[m] && (redundancy_too || bad_data[m]))
            return false;
    }
    shape.chunk = rset_shape_chunk(shape.scheme, N, d->parity, length[0]);
    for (int s = 0; s < N; s++) {
        bool          good[N], want[N];
        rset_solution how;
        rset_status   st;

        for (int m = 0; m < N; m++) {
            rset_piece p = d->scheme->place(&shape, s, m);
            bool       data = p.kind == RSET_PIECE_DATA;

            good[m] = data ? !bad_data[m] && known[m] : !bad_payload[m];
            want[m] = data ? bad_data[m] : redundancy_too && bad_payload[m];
            want[m] = want[m] && p.kind != RSET_PIECE_NONE;
        }
        st = rset_solve(&shape, s, good, want, &how, NULL);
        rset_solution_free(&how);
        if (st != RSET_OK)
            return false;
    }
    return true;
}

/* With required=yes content that nobody can verify is refused, and nothing is changed. */
static void
check_required(world *w, const image *before)
{
    w->job.required = true;
    if (job_recover(&w->job) == RSET_OK)
        fail_msg("%s: opened with required=yes, unverified", w->what);
    w->job.required = false;
    assert_image(w, before, NULL, IMAGE_UNTOUCHED);
}

static void
check_state(world *w, const bool *bad_data, const bool *bad_payload, bool any_data)
{
    image       before = image_take(w->base);
    bool        single = w->job.ranks[0].desc.scheme == &rset_scheme_single;
    bool        possible = !any_data || (!single && solvable(w, bad_data, bad_payload, false));
    bool        whole = possible && solvable(w, bad_data, bad_payload, true);
    rset_status st;

    if (possible && unverified(w, bad_payload))
        check_required(w, &before);
    st = job_recover(&w->job);
    if (possible != (st == RSET_OK))
        fail_msg("%s: %s, but it is %s: %s", w->what, rset_status_name(st),
                 possible ? "possible" : "impossible", job_text(&w->job));
    if (!possible) {
        assert_int_equal(st, RSET_LOST);
        assert_image(w, &before, NULL, IMAGE_UNTOUCHED);
    } else {
        assert_data(w);
        if (whole && !w->job.ranks[0].out.protected_)
            fail_msg("%s: could be protected again, but is not", w->what);
        if (w->job.ranks[0].out.protected_)
            assert_image(w, &w->image, NULL, IMAGE_CONTENT);
        if (unverified(w, bad_payload))
            assert_false(w->job.ranks[0].out.protected_ || w->job.ranks[0].out.reprotect);
        else if (!whole && !w->job.ranks[0].out.reprotect)
            fail_msg("%s: does not know that it must be protected again", w->what);
        else
            assert_true(w->job.ranks[0].out.protected_ != w->job.ranks[0].out.reprotect);
    }
    image_free(&before);
}

/* No data file left, but redundancy: they were deleted, since a lost node takes both. */
static void
check_deleted(world *w)
{
    image before = image_take(w->base);

    assert_int_equal(job_recover(&w->job), RSET_ABSENT);
    assert_true(w->job.ranks[0].out.reason == RSET_REASON_DELETED);
    assert_image(w, &before, NULL, IMAGE_UNTOUCHED);
    image_free(&before);
}

/* No redundancy file left: whether the files ever were protected is known from a mark at best. */
static void
check_nothing_recorded(world *w)
{
    image       before = image_take(w->base);
    rset_status st;

    check_required(w, &before);
    st = job_recover(&w->job);
    assert_true(
        st == RSET_ABSENT || st == RSET_LOST ||
        (st == RSET_OK && !w->job.ranks[0].out.protected_ && !w->job.ranks[0].out.reprotect));
    assert_image(w, &before, NULL, IMAGE_UNTOUCHED);
    image_free(&before);
}

/* B10, B13: state digit 0: all there, 1: data lost, 2: redundancy lost, 3: both. */
static void
all_states_of_four_ranks(world *w)
{
    for (int state_no = every_skip(); state_no < 255; state_no += every_step()) {
        bool bad_data[N], bad_payload[N], any = false;

        snprintf(w->what, sizeof w->what, "%s %d, state %d%d%d%d", w->kind.scheme->name,
                 w->kind.parity, state_no & 3, state_no >> 2 & 3, state_no >> 4 & 3, state_no >> 6);
        for (int r = 0; r < N; r++) {
            bad_data[r] = (state_no >> 2 * r & 1) != 0;
            bad_payload[r] = (state_no >> 2 * r & 2) != 0;
            any = any || bad_data[r];
            if (bad_data[r])
                unlink(job_data(&w->job, r));
            if (bad_payload[r]) {
                unlink(job_redundancy(&w->job, r));
                unlink(job_descriptor(&w->job, r));
            }
        }
        if ((state_no & 0xaa) == 0xaa)
            check_nothing_recorded(w);
        else {
            if ((state_no & 0x55) == 0x55)
                check_deleted(w);
            w->job.undelete = (state_no & 0x55) == 0x55;
            check_state(w, bad_data, bad_payload, any);
            w->job.undelete = false;
        }
        image_put(&w->image, w->base, NULL);
    }
}

/* ---- B1, B4: flipped bits ---- */

static void
flipped_data_heals(world *w)
{
    static const size_t at[] = {0, BLOCK - 1, BLOCK, 2 * BLOCK + 5, 3 * BLOCK + 776};

    for (int r = 0; r < N; r++)
        for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
            flip_bit(job_data(&w->job, r), at[i]);
            assert_healed(w);
        }
}

static void
flipped_data_of_single_is_refused(world *w)
{
    flip_bit(job_data(&w->job, 1), 4999);
    assert_refused(w);
}

/* A program that rewrites all its files without us, in the run that protected them, is taken at its word;
 * the same found by another run, or on some ranks only, is damage (P2). */
static void
rewritten_by_the_same_run(void **state)
{
    static const size_t other = 6000;

    (void)state;
    for (int all = 0; all < 2; all++)
        for (int own = 0; own < 2; own++) {
            world w;
            char *kept;

            damage_open(&w, xor_kind, 6000);
            kept = all ? NULL : strdup(job_data(&w.job, 0));
            usleep(20000); /* file systems count time in steps of some milliseconds */
            if (kept != NULL)
                assert_int_equal(rename(kept, path_of("%s/kept", w.base)), 0);
            job_write_data(&w.job, &other, 1, 2);
            if (kept != NULL)
                assert_int_equal(rename(path_of("%s/kept", w.base), kept), 0);
            w.job.own_run = own;
            if (all && own) {
                image now = image_take(w.base);

                assert_int_equal(job_recover(&w.job), RSET_OK);
                assert_false(w.job.ranks[0].out.protected_);
                assert_true(w.job.ranks[0].out.note[0] != '\0');
                assert_image(&w, &now, NULL, IMAGE_UNTOUCHED);
                image_free(&now);
            } else {
                assert_refused(&w);
            }
            free(kept);
            damage_close(&w);
        }
}

/* Every rank has a bad block, no two of them in the same place of a stripe. */
static void
damage_everywhere_heals_per_block(void **state)
{
    static const size_t chunk = 1024 * 1024;

    (void)state;
    for (int k = 1; k < KINDS; k++) {
        size_t size = damage_kinds[k].scheme->striped ? chunk * (size_t)(N - damage_kinds[k].parity)
                                                      : 4 * chunk;
        world  w;

        if (damage_kinds[k].parity == N - 1 && damage_kinds[k].scheme->striped)
            size = chunk;
        damage_open(&w, damage_kinds[k], size);
        for (int r = 0; r < N; r++) {
            flip_bit(job_data(&w.job, r), (size_t)(2 * r) * BLOCK + 7);
            flip_bit(job_redundancy(&w.job, r),
                     payload_at(&w, r) + (size_t)(2 * r + 1) * BLOCK + 7);
        }
        assert_healed(&w);
        damage_close(&w);
    }
}

static void
flipped_payload_is_never_used(world *w)
{
    for (int r = 0; r < N; r++) /* B4: payload of all survivors, and a node lost */
        flip_bit(job_redundancy(&w->job, r), payload_at(w, r) + 5);
    remove_tree(w->job.ranks[0].dir);
    mkdir(w->job.ranks[0].dir, 0777);
    assert_refused(w);
}

static void
flipped_payload_of_one_heals(world *w)
{
    for (int r = 0; r < N; r++) {
        flip_bit(job_redundancy(&w->job, r), payload_at(w, r) + 5);
        assert_healed(w); /* nothing else wrong */
        flip_bit(job_redundancy(&w->job, r), payload_at(w, r) + 5);
        if (w->kind.parity > 1) { /* and a node lost as well */
            remove_tree(w->job.ranks[(r + 1) % N].dir);
            assert_healed(w);
        } else {
            assert_healed(w);
        }
    }
}

/* E7: whoever wants the data verified does not wait for the redundancy, and damage in it spoils nothing. */
static void
data_is_had_beside_damaged_redundancy(world *w)
{
    image before;

    w->job.content = RSET_CONTENT_DATA;
    flip_bit(job_redundancy(&w->job, 1), payload_at(w, 1) + 5);
    before = image_take(w->base);
    assert_int_equal(job_recover(&w->job), RSET_OK);
    assert_true(w->job.ranks[1].out.protected_);
    assert_image(w, &before, NULL, IMAGE_UNTOUCHED);
    image_free(&before);
    flip_bit(job_data(&w->job, 0), BLOCK + 7); /* the data is verified, and then all is */
    if (w->kind.parity > 1) {
        assert_healed(w);
    } else {
        w->job.content = RSET_CONTENT_ALL;
        flip_bit(job_data(&w->job, 0), BLOCK + 7);
        assert_healed(w);
    }
}

/* The same while a lost node comes back: what is read of a damaged redundancy file is never used. */
static void
lost_node_comes_back_beside_damaged_redundancy(world *w, int r)
{
    w->job.content = RSET_CONTENT_DATA;
    flip_bit(job_redundancy(&w->job, r), payload_at(w, r) + 5);
    remove_tree(w->job.ranks[0].dir);
    mkdir(w->job.ranks[0].dir, 0777);
    if (job_recover(&w->job) == RSET_OK) {
        assert_data(w);
        w->job.content = RSET_CONTENT_ALL;
        assert_healed(w);
    } else {
        assert_true(w->kind.parity == 1);
    }
}

static bool
as_long_as(void *arg)
{
    int *left = arg;

    return (*left)-- > 0;
}

/* Behind the open of rank 1's file, for so many pieces; `off` is added to its generation. */
static bool
finds_behind(world *w, int pieces, uint64_t off)
{
    char             *path = strdup(job_data(&w->job, 1));
    const char *const names[] = {strrchr(path, '/') + 1};
    char             *prefix = strdup(path_of("%s.", names[0]));
    const rset_pace   pace = {as_long_as, &pieces};
    const uint64_t    generation = w->job.ranks[1].evidence.header.infos[0].desc.generation + off;
    rset_local        local = {.prefix = prefix, .nfiles = 1, .names = names};
    rset_dir         *dir = NULL;
    bool              found;

    assert_int_equal(rset_dir_open(w->job.ranks[1].dir, false, &dir, NULL), RSET_OK);
    local.dir = dir;
    found = rset_find_damaged_redundancy(&local, generation, &pace, NULL);
    rset_dir_close(dir);
    free(prefix);
    free(path);
    return found;
}

/* V7: damage that is found behind an open is repaired by the next one, and only damage. */
static void
damage_found_behind_heals(world *w)
{
    w->job.content = RSET_CONTENT_DATA;
    assert_int_equal(job_recover(&w->job), RSET_OK);
    assert_true(w->job.ranks[1].out.unread);
    assert_false(finds_behind(w, 1000, 0));
    flip_bit(job_redundancy(&w->job, 1), payload_at(w, 1) + 5);
    assert_false(finds_behind(w, 0, 0)); /* no time: nothing is known */
    assert_false(finds_behind(w, 1, 0));
    assert_false(finds_behind(w, 1000, 1)); /* of another generation */
    assert_true(finds_behind(w, 1000, 0));
    if (getxattr(job_data(&w->job, 1), "user.redset", NULL, 0) > 0) /* the file system has marks */
        assert_healed(w);
}

/* A header with any bit wrong is as good as not there. */
static void
flipped_header_counts_as_lost(world *w)
{
    size_t head;

    head = payload_at(w, 1);
    for (size_t at = 0; at < head; at += 19) {
        flip_bit(job_redundancy(&w->job, 1), at);
        assert_healed(w);
    }
    for (size_t at = 0; at < 200; at += 11) {
        flip_bit(job_descriptor(&w->job, 2), at);
        assert_int_equal(job_recover(&w->job), RSET_OK);
        assert_data(w);
        image_put(&w->image, w->base, NULL);
    }
}

/* ---- without verification of content ---- */

static void
sizes_only_verifies_before_a_rebuild(world *w)
{
    w->job.content = RSET_CONTENT_NONE;
    flip_bit(job_data(&w->job, 0), 77);
    assert_int_equal(job_recover(&w->job), RSET_OK); /* not looked at */
    unlink(job_data(&w->job, 1));
    assert_int_equal(job_recover(&w->job), RSET_OK);
    assert_image(w, &w->image, NULL, IMAGE_CONTENT);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        DAMAGE_TEST(all_states_of_four_ranks, EACH_KIND, 8400),
        DAMAGE_TEST(flipped_data_heals, EACH_BUT_SINGLE, 3 * BLOCK + 777),
        DAMAGE_TEST(flipped_data_of_single_is_refused, KIND_SINGLE, 5000),
        cmocka_unit_test(rewritten_by_the_same_run),
        cmocka_unit_test(damage_everywhere_heals_per_block),
        DAMAGE_TEST(flipped_payload_is_never_used, KIND_XOR, 3 * BLOCK),
        DAMAGE_TEST(flipped_payload_of_one_heals, EACH_BUT_SINGLE, 3 * BLOCK + 99),
        DAMAGE_TEST(data_is_had_beside_damaged_redundancy, EACH_BUT_SINGLE, 3 * BLOCK + 99),
        DAMAGE_TEST_FOR(lost_node_comes_back_beside_damaged_redundancy, EACH_BUT_SINGLE,
                        3 * BLOCK + 99, 1, N),
        DAMAGE_TEST(damage_found_behind_heals, EACH_BUT_SINGLE, 3 * BLOCK + 99),
        DAMAGE_TEST(flipped_header_counts_as_lost, KIND_XOR, 1000),
        DAMAGE_TEST(sizes_only_verifies_before_a_rebuild, KIND_RS2, 2 * BLOCK),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
