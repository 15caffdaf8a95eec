/* test_exchange.c: members of a set send each other what they recorded (set/exchange.h), without an agreement: whatever becomes of one
 * of them, none waits for it (P4, P5). */
#include "alloc.h"
#include "codec/scheme.h"
#include "comm_ranks.h"
#include "set/exchange.h"

#include <stdlib.h>
#include <string.h>
#include <threads.h>

enum { MEMBERS = 4, FILES_MOST = 2000, NOBODY = -1 };

/* Each member has an info of so many files, and sends it to the next `left` members. */
typedef struct ring {
    int files, left;
    int fails;     /* the member that has failed before; NOBODY */
    int no_memory; /* the member of which an allocation fails in the exchange; NOBODY */
    int at;        /* which */
} ring;

static thread_local int left_until = NOBODY; /* allocations of this thread until one fails */

static bool
fails(void)
{
    return left_until != NOBODY && left_until-- == 0;
}

/* A transport without memory for a message revokes, at once. */
static bool
is_for_memory(rset_status st, const rset_err *err)
{
    return st == RSET_NOMEM || (st == RSET_PEER && strstr(err->text, "memory") != NULL);
}

static void
make_info(int member, int files, rset_info *out)
{
    *out = (rset_info){.desc = {.scheme = rset_scheme_by_name("SINGLE"),
                                .members = 1,
                                .sets = MEMBERS,
                                .set = member,
                                .rank = member,
                                .ranks = MEMBERS,
                                .generation = 7},
                       .nfiles = files,
                       .files = calloc((size_t)files, sizeof *out->files)};
    for (int i = 0; i < files; i++) {
        char path[64];

        snprintf(path, sizeof path, "/scratch/of_member_%d/file_number_%d.h5", member, i);
        out->files[i].path = strdup(path);
        out->files[i].attrs.size = (uint64_t)(member * FILES_MOST + i);
    }
}

static bool
is_of(const rset_info *info, int member, int files)
{
    bool same = info->nfiles == files && info->desc.rank == member;

    for (int i = 0; same && i < files; i++)
        same = info->files[i].attrs.size == (uint64_t)(member * FILES_MOST + i);
    return same;
}

static void
ring_body(rset_comm *comm, void *arg)
{
    const ring    *r = arg;
    const int      me = comm->rank, n = comm->size;
    const bool     near_failed = r->fails != NOBODY && (me - r->fails + n) % n <= r->left;
    rset_exchange *x = NULL;
    rset_info      mine, got[MEMBERS] = {0};
    rset_err       err = RSET_ERR_NONE;
    double         start = rset_clock();
    rset_status    own = RSET_OK, st;
    char           host[32], theirs[32];

    host_of(me, host, sizeof host);
    make_info(me, r->files, &mine);
    CHECK(rset_exchange_new(2 * r->left, &x, &err) == RSET_OK);
    for (int d = 1; d <= r->left; d++) {
        rset_exchange_send(x, (me + d) % n, &mine);
        rset_exchange_take(x, (me - d + n) % n, &got[d]);
    }
    if (me == r->fails)
        own = rset_fail(&err, RSET_IO, "the disk of %d is full", me);
    left_until = me == r->no_memory ? r->at : NOBODY;
    st = rset_exchange_run(x, comm, true, own, host, &err);
    left_until = NOBODY;
    if (near_failed) {
        CHECK(st == RSET_IO && strstr(err.text, "disk of") != NULL);
        host_of(r->fails, theirs, sizeof theirs);
        CHECK(me == r->fails || (err.rank == r->fails && strcmp(err.host, theirs) == 0));
    } else if (r->no_memory != NOBODY && st != RSET_OK) {
        CHECK(is_for_memory(st, &err));
    } else {
        CHECK(st == RSET_OK);
        for (int d = 1; d <= r->left; d++)
            CHECK(is_of(&got[d], (me - d + n) % n, r->files));
    }
    CHECK(rset_clock() - start < comm->timeout / 2);
    for (int d = 0; d < MEMBERS; d++)
        rset_info_free(&got[d]);
    rset_info_free(&mine);
    rset_exchange_free(x);
}

/* Infos of one piece, of many, and of just about one. */
static void
all_get_what_was_sent(void **state)
{
    (void)state;
    for (int left = 0; left < MEMBERS; left++) {
        ring r = {1, left, NOBODY, NOBODY, 0};

        for (r.files = 1; r.files <= FILES_MOST; r.files = r.files * 3 + 7)
            run(MEMBERS, 60, ring_body, &r);
    }
}

static void
who_has_failed_says_so_in_its_place(void **state)
{
    ring r = {1, 1, 0, NOBODY, 0};

    (void)state;
    for (; r.fails < MEMBERS; r.fails++)
        for (r.left = 1; r.left < MEMBERS - 1; r.left++)
            run(MEMBERS, 60, ring_body, &r);
}

/* A member without memory for an info takes its pieces all the same (P4). */
static void
nobody_waits_for_who_has_no_memory(void **state)
{
    ring r = {FILES_MOST, 1, NOBODY, 1, 0};

    (void)state;
    for (; r.at < 40; r.at++)
        run(MEMBERS, 60, ring_body, &r);
}

/* ---- hostile ---- */

/* Member 1 sends something else in the place of an info. */
static void
garbage_body(rset_comm *comm, void *arg)
{
    const uint64_t *lie = arg;
    uint8_t         junk[16 * 1024];
    rset_exchange  *x = NULL;
    rset_info       got = {0};
    rset_req        req = {0};
    rset_err        err = RSET_ERR_NONE;
    double          start = rset_clock();
    rset_message    m = {.tag = RSET_TAG_INFO, .data = junk, .len = (size_t)lie[2]};

    memset(junk, 0xee, sizeof junk);
    memcpy(junk, lie, 2 * sizeof *lie);
    if (comm->rank == 1) {
        CHECK(rset_comm_isend(comm, &m, &req, &err) == RSET_OK);
        (void)rset_comm_wait(comm, &req, 0, "read", &err);
        return;
    }
    CHECK(rset_exchange_new(1, &x, &err) == RSET_OK);
    rset_exchange_take(x, 1, &got);
    CHECK(rset_exchange_run(x, comm, true, RSET_OK, "", &err) == RSET_PEER);
    CHECK(strstr(err.text, "member 1") != NULL && rset_clock() - start < comm->timeout / 2);
    rset_info_free(&got);
    rset_exchange_free(x);
}

static void
garbage_is_refused(void **state)
{
    /* how long, whether it is an error, and how many bytes come */
    static uint64_t lies[][3] = {{0, 0, 0},    {0, 0, 3},     {0, 0, 16},
                                 {100, 0, 50}, {100, 0, 116}, {UINT64_MAX, 0, 16384},
                                 {8, 1, 24},   {100, 0, 300}};

    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++)
        run(2, 20, garbage_body, lies[i]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_get_what_was_sent),
        cmocka_unit_test(who_has_failed_says_so_in_its_place),
        cmocka_unit_test(nobody_waits_for_who_has_no_memory),
        cmocka_unit_test(garbage_is_refused),
    };

    alloc_fails = fails;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
