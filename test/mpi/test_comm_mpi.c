/* test_comm_mpi.c: the transport over MPI. Exit status 0 or 1.
 *
 *   test_comm_mpi basic     everything that should work, and what MPI allows before and after (P10)
 *   test_comm_mpi missing   a rank that never comes, in each place (P5)
 *   test_comm_mpi late      a rank that asks for the communicator when the others have given up once
 *   test_comm_mpi toolong   a message longer than the buffer is an error, not an abort (P6)
 *   test_comm_mpi nomemory  rank 0 has no memory for its first words to the others
 *   test_comm_mpi speed     prints how long an agreement takes
 */
#include "comm/comm.h"
#include "comm/mpi/comm_mpi.h"
#include "modes.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static rset_comm *
private_comm(const void *parent, double timeout)
{
    rset_comm *comm = NULL;
    rset_err   err = RSET_ERR_NONE;

    if (rset_mpi_private(parent, timeout, NULL, &comm, &err) == RSET_OK)
        return comm;
    fprintf(stderr, "rank %d: %s\n", my_rank, err.text);
    exit(1); /* mpirun ends the others */
}

/* ---- basic ---- */

static void
agreements(rset_comm *comm)
{
    for (int bad = -1; bad < comm->size; bad++) {
        rset_err    err = RSET_ERR_NONE;
        rset_status st = RSET_OK;
        char        host[16], text[32];

        snprintf(host, sizeof host, "node%d", comm->rank);
        if (comm->rank >= bad && bad >= 0)
            st = rset_fail(&err, RSET_IO, "disk of %d", comm->rank);
        CHECK(rset_agree(comm, st, host, &err) == (bad < 0 ? RSET_OK : RSET_IO));
        snprintf(host, sizeof host, "node%d", bad);
        snprintf(text, sizeof text, "disk of %d", bad);
        CHECK(err.rank == bad && strcmp(err.host, bad < 0 ? "" : host) == 0);
        CHECK(strcmp(err.text, bad < 0 ? "" : text) == 0);
    }
}

static void
gather(rset_comm *comm, size_t unit)
{
    const size_t  len = unit * (size_t)(comm->rank % 3);
    char         *mine = malloc(len + 1);
    rset_gathered all = {0};
    size_t        total = 0;
    rset_err      err = RSET_ERR_NONE;

    memset(mine, 'A' + comm->rank, len + 1);
    CHECK(rset_gather_all(comm, RSET_OK, "", &(rset_share){mine, len, unit * 100}, &all, &err) ==
          RSET_OK);
    for (int r = 0; r < comm->size && all.bytes != NULL; r++) {
        const size_t at = all.offs[r];

        CHECK(at == total && all.offs[r + 1] - at == unit * (size_t)(r % 3));
        total = all.offs[r + 1];
        CHECK(at == total || (all.bytes[at] == 'A' + r && all.bytes[total - 1] == 'A' + r));
    }
    free(mine);
    rset_gathered_free(&all);
}

/* Some packets to each. */
static void
route(rset_comm *comm)
{
    rset_records list = {.size = sizeof(int[2])};
    rset_err     err = RSET_ERR_NONE;
    int          got[2] = {0};

    for (int to = 0; to < comm->size; to++)
        for (int i = 0; i < 1000; i++)
            rset_records_add(&list, to, (int[2]){comm->rank, i});
    CHECK(rset_route(comm, RSET_OK, "", &list, &err) == RSET_OK);
    CHECK(list.n == 1000 * (size_t)comm->size);
    for (size_t i = 0; i < list.n; i++) {
        CHECK(rset_records_get(&list, i, got) == (int)(i / 1000));
        CHECK(got[0] == (int)(i / 1000));
    }
    rset_records_free(&list);
}

static void
larger(void *into, const void *other)
{
    if (memcmp(into, other, 100) < 0)
        memcpy(into, other, 100);
}

static void
reduce(rset_comm *comm)
{
    char                 largest[100] = {0};
    const rset_reduction what = {largest, sizeof largest, larger};
    rset_err             err = RSET_ERR_NONE;

    memset(largest, 'A' + comm->rank, sizeof largest);
    CHECK(rset_reduce(comm, RSET_OK, "node", &what, &err) == RSET_OK);
    CHECK(largest[0] == 'A' + comm->size - 1 && largest[99] == largest[0]);
}

static void
subsets(rset_comm *comm)
{
    int       ranks[64], n = 0, all[64];
    rset_comm set = {0};
    rset_err  err = RSET_ERR_NONE;

    for (int r = comm->size - 1; r >= 0; r--)
        if (r % 2 == comm->rank % 2)
            ranks[n++] = r;
    CHECK(rset_comm_subset(comm, ranks, n, &set, &err) == RSET_OK);
    for (int round = 0; round < 5; round++) {
        CHECK(rset_gather_fixed(&set, RSET_OK, "",
                                &(rset_share){.bytes = &comm->rank, .len = sizeof(int)}, all,
                                &err) == RSET_OK);
        CHECK(memcmp(all, ranks, (size_t)n * sizeof(int)) == 0);
    }
    rset_comm_free(&set);
}

/* Every rank sends to every other, itself included, small and large, and takes them by source. */
static void
all_to_all(rset_comm *comm)
{
    enum { LEN = 300000, ROUNDS = 3 };
    const size_t count = (size_t)comm->size * ROUNDS;
    rset_req    *sends = calloc(count, sizeof *sends), *receives = calloc(count, sizeof *receives);
    char        *out = malloc(LEN), *in = malloc(count * LEN);
    rset_err     err = RSET_ERR_NONE;

    memset(out, 'a' + comm->rank, LEN);
    for (int i = 0; i < (int)count; i++) {
        const int    peer = i % comm->size, tag = RSET_TAG_STREAM + RSET_STREAM_TAGS - 1;
        const size_t len = i / comm->size == 1 ? 10 : LEN;

        CHECK(rset_comm_irecv(comm, &(rset_message){peer, tag, {.room = in + (size_t)i * LEN}, LEN},
                              &receives[i], &err) == RSET_OK);
        CHECK(rset_comm_isend(comm, &(rset_message){peer, tag, {out}, len}, &sends[i], &err) ==
              RSET_OK);
    }
    for (int i = 0; i < (int)count; i++) {
        const char *got = in + (size_t)i * LEN;

        CHECK(rset_comm_wait(comm, &receives[i], i % comm->size, "send", &err) == RSET_OK);
        CHECK(rset_comm_wait(comm, &sends[i], i % comm->size, "receive", &err) == RSET_OK);
        CHECK(receives[i].got == (i / comm->size == 1 ? 10 : LEN));
        CHECK(got[0] == 'a' + i % comm->size && got[receives[i].got - 1] == got[0]);
    }
    free(sends);
    free(receives);
    free(out);
    free(in);
}

/* Rank 0 polls; messages of another tag do not get in the way. */
static void
polling(rset_comm *comm)
{
    char         big[20000] = {0};
    rset_message in = {0, RSET_TAG_RENDEZVOUS, {.room = big}, sizeof big};
    int          seen = 0;
    bool         found = false;
    double       deadline = rset_clock() + 20;
    rset_req     reqs[2] = {0};
    rset_err     err = RSET_ERR_NONE;

    if (comm->rank > 0) {
        CHECK(rset_comm_isend(comm, &(rset_message){0, RSET_TAG_INFO, {"no"}, 2}, &reqs[0], &err) ==
              RSET_OK);
        CHECK(rset_comm_isend(
                  comm, &(rset_message){0, RSET_TAG_RENDEZVOUS, {big}, (size_t)comm->rank * 2000},
                  &reqs[1], &err) == RSET_OK);
    }
    while (comm->rank == 0 && seen < comm->size - 1 && rset_clock() < deadline) {
        in.len = sizeof big;
        CHECK(comm->transport->poll(comm->self, &in, &found, &err) == RSET_OK);
        seen += found;
        CHECK(!found || in.len == (size_t)in.peer * 2000);
    }
    CHECK(comm->rank > 0 || seen == comm->size - 1);
    for (int r = 1; r < comm->size && comm->rank == 0; r++) {
        CHECK(rset_comm_irecv(comm, &(rset_message){r, RSET_TAG_INFO, {.room = big}, 2}, &reqs[0],
                              &err) == RSET_OK);
        CHECK(rset_comm_wait(comm, &reqs[0], r, "speak", &err) == RSET_OK);
    }
    for (int i = 0; i < 2 && comm->rank > 0; i++)
        CHECK(rset_comm_wait(comm, &reqs[i], 0, "listen", &err) == RSET_OK);
    if (comm->rank == 0) { /* too long for a poll: an error, and out of the way */
        CHECK(rset_comm_isend(comm, &(rset_message){0, RSET_TAG_RENDEZVOUS, {"1234"}, 4}, &reqs[0],
                              &err) == RSET_OK);
        in.len = 3;
        CHECK(comm->transport->poll(comm->self, &in, &found, &err) == RSET_PEER);
        CHECK(!found && rset_comm_wait(comm, &reqs[0], 0, "listen", &err) == RSET_OK);
        err = RSET_ERR_NONE;
        CHECK(comm->transport->poll(comm->self, &in, &found, &err) == RSET_OK && !found);
    }
}

static int order;

static void
note_order(void *arg)
{
    CHECK(rset_mpi_usable()); /* MPI still works here */
    order = order * 10 + *(const int *)arg;
}

static void *
other_thread(void *arg)
{
    *(bool *)arg = rset_mpi_usable();
    return NULL;
}

static void
basic(void)
{
    static const int one = 1, two = 2;
    MPI_Comm         half = MPI_COMM_NULL, null = MPI_COMM_NULL;
    rset_comm       *comm, *part;
    rset_err         err = RSET_ERR_NONE;
    rset_req         req = {0};
    bool             usable = true;
    pthread_t        thread;

    pthread_create(&thread, NULL, other_thread, &usable);
    pthread_join(thread, NULL);
    CHECK(!usable && rset_mpi_usable()); /* T20: MPI_THREAD_FUNNELED */
    CHECK(rset_mpi_world_rank() == my_rank);
    CHECK(rset_mpi_at_finalize(note_order, (void *)&one, &err) == RSET_OK);
    comm = private_comm(NULL, 20);
    CHECK(comm->rank == my_rank && comm->size == my_size);
    CHECK(private_comm(NULL, 20) == comm);
    agreements(comm);
    gather(comm, 7);
    gather(comm, 90000);
    route(comm);
    reduce(comm);
    subsets(comm);
    all_to_all(comm);
    polling(comm);
    agreements(comm);
    CHECK(rset_comm_isend(comm, &(rset_message){comm->size, 1, {""}, 0}, &req, &err) == RSET_BUG &&
          !comm->dead);

    MPI_Comm_split(MPI_COMM_WORLD, my_rank % 2, -my_rank, &half);
    part = private_comm(&half, 20);
    agreements(part);
    MPI_Comm_free(&half);
    err = RSET_ERR_NONE;
    CHECK(rset_agree(part, RSET_OK, "", &err) == RSET_PEER); /* freed under our feet: no crash */
    CHECK(strstr(err.text, "freed the communicator") != NULL);
    err = RSET_ERR_NONE;
    CHECK(rset_mpi_private(&null, 1, NULL, &part, &err) == RSET_USAGE);
    err = RSET_ERR_NONE;
    CHECK(rset_mpi_at_finalize(note_order, (void *)&two, &err) == RSET_OK);
    MPI_Finalize();
    CHECK(order == 21);
    CHECK(!rset_mpi_usable());
    CHECK(rset_agree(comm, RSET_OK, "", &err) == RSET_PEER);
    CHECK(strstr(err.text, "MPI_Finalize") != NULL);
    CHECK(rset_mpi_private(NULL, 1, NULL, &comm, &err) != RSET_OK);
}

/* ---- missing ---- */

/* Long enough for ranks that share a busy core; they may take several times as long, but not for ever. */
static const double limit = 4;
enum { SLACK = 5 };

static void
missing(void)
{
    for (int gone = 0; gone<my_size; gone += my_size> 3 ? 3 : 1) {
        MPI_Comm   again;
        rset_comm *comm;
        rset_err   err = RSET_ERR_NONE;
        char       name[32];
        double     start;

        MPI_Comm_dup(MPI_COMM_WORLD, &again);
        comm = private_comm(&again, 20);
        CHECK(rset_agree(comm, RSET_OK, "", NULL) == RSET_OK);
        comm->timeout = limit;
        MPI_Barrier(MPI_COMM_WORLD);
        start = rset_clock();
        if (my_rank == gone) {
            usleep((useconds_t)(3 * limit * 1e6));
        } else {
            CHECK(rset_agree(comm, RSET_OK, "", &err) == RSET_PEER);
            CHECK(rset_clock() - start < SLACK * limit); /* P5 */
            snprintf(name, sizeof name, "rank %d ", gone);
            CHECK(strstr(err.text, name) != NULL && comm->dead);
            if (strstr(err.text, name) == NULL)
                fprintf(stderr, "missing %d: %s\n", gone, err.text);
            start = rset_clock();
            CHECK(rset_agree(comm, RSET_OK, "", NULL) == RSET_PEER && rset_clock() - start < limit);
            err = RSET_ERR_NONE;
            CHECK(rset_mpi_private(&again, 20, NULL, &comm, &err) == RSET_PEER);
            CHECK(strstr(err.text, name) != NULL);
        }
        MPI_Barrier(MPI_COMM_WORLD); /* the application's own communicators are as before */
        MPI_Comm_free(&again);
    }
    MPI_Finalize();
}

/* A large message to a rank that does not take it: the buffer is not ours any more, and MPI_Finalize
 * does not wait for it. */
static void
not_taken(void)
{
    enum { LEN = 1 << 20 };
    rset_comm *comm = private_comm(NULL, limit);
    char      *buf = calloc(1, LEN);
    rset_req   req = {0};
    rset_err   err = RSET_ERR_NONE;

    if (my_rank == 1) {
        CHECK(rset_comm_isend(comm, &(rset_message){0, RSET_TAG_INFO, {buf}, LEN}, &req, &err) ==
              RSET_OK);
        CHECK(rset_comm_wait(comm, &req, 0, "take this", &err) == RSET_PEER);
        CHECK(req.active && strstr(err.text, "rank 0 to take this") != NULL);
        CHECK(comm->dead);
    } else if (my_rank == 2) { /* and one that never gets one */
        CHECK(rset_comm_irecv(comm, &(rset_message){0, RSET_TAG_INFO, {.room = buf}, LEN}, &req,
                              &err) == RSET_OK);
        CHECK(rset_comm_wait(comm, &req, 0, "say this", &err) == RSET_PEER);
        CHECK(!req.active);
    }
    if (!req.active)
        free(buf);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
}

/* ---- late ---- */

/* Answers that cannot be sent would leave those waiting that were not told, and the others in a collective call. */
static int   to_fail; /* allocations, from now on */
extern void *__real_calloc(size_t n, size_t size);
void        *__wrap_calloc(size_t n, size_t size);

void *
__wrap_calloc(size_t n, size_t size)
{
    return to_fail > 0 && to_fail-- > 0 ? NULL : __real_calloc(n, size);
}

static void
no_memory(void)
{
    rset_comm *comm = NULL;
    rset_err   err = RSET_ERR_NONE;

    if (my_rank == 0) /* makes what the first words need */
        CHECK(rset_mpi_private(NULL, 0.2, NULL, &comm, &err) == RSET_PEER);
    MPI_Barrier(MPI_COMM_WORLD);
    to_fail = my_rank == 0 ? my_size - 1 : 0;
    comm = private_comm(NULL, 20);
    CHECK(to_fail == 0);
    CHECK(rset_agree(comm, RSET_OK, "", NULL) == RSET_OK);
    MPI_Finalize();
}

static void
late(void)
{
    rset_comm *comm = NULL;
    rset_err   err = RSET_ERR_NONE;
    double     start = rset_clock();

    if (my_rank == my_size - 1 && my_size > 1) {
        usleep((useconds_t)(2 * limit * 1e6));
    } else if (my_size > 1) {
        CHECK(rset_mpi_private(NULL, limit, NULL, &comm, &err) == RSET_PEER);
        CHECK(strstr(err.text, "waiting for rank") != NULL && rset_clock() - start < SLACK * limit);
    }
    comm = private_comm(NULL, 20);
    CHECK(rset_agree(comm, RSET_OK, "", NULL) == RSET_OK);
    MPI_Finalize();
}

/* One rank never asks at all; the others must be able to finish. */
static void
never(void)
{
    rset_comm *comm = NULL;
    rset_err   err = RSET_ERR_NONE;

    if (my_rank > 0) {
        CHECK(rset_mpi_private(NULL, limit, NULL, &comm, &err) == RSET_PEER);
        CHECK(rset_mpi_private(NULL, 0, NULL, &comm, &err) == RSET_PEER);
    }
    MPI_Finalize();
}

/* ---- too long ---- */

/* MPICH gives this error to a handler of its own choice, which ends the job. */
static bool
aborts_on_long_messages(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int  len;

    return MPI_Get_library_version(version, &len) == MPI_SUCCESS &&
           strstr(version, "MPICH") != NULL;
}

static void
toolong(void)
{
    char       buf[5000] = {0};
    rset_comm *comm = NULL;
    rset_req   req = {0};
    rset_err   err = RSET_ERR_NONE;

    if (aborts_on_long_messages()) {
        printf("SKIP: MPICH ends the job on a message that is longer than its buffer\n");
        MPI_Finalize();
        exit(77);
    }
    comm = private_comm(NULL, 20);
    if (my_rank == 0) {
        CHECK(rset_comm_isend(comm, &(rset_message){1, RSET_TAG_INFO, {buf}, sizeof buf}, &req,
                              &err) == RSET_OK);
        (void)rset_comm_wait(comm, &req, 1, "listen", &err);
    } else if (my_rank == 1) {
        CHECK(rset_comm_irecv(comm, &(rset_message){0, RSET_TAG_INFO, {.room = buf}, 100}, &req,
                              &err) == RSET_OK);
        CHECK(rset_comm_wait(comm, &req, 0, "speak", &err) == RSET_PEER);
        CHECK(comm->dead && !req.active && err.text[0] != '\0');
    }
    if (sizeof(size_t) > 4) {
        err = RSET_ERR_NONE;
        CHECK(comm->transport->isend(comm->self, &(rset_message){0, 1, {buf}, (size_t)1 << 31},
                                     &req, &err) == RSET_BUG);
    }
    MPI_Finalize();
}

/* ---- speed ---- */

static void
speed(void)
{
    enum { ROUNDS = 2000 };
    rset_comm *comm = private_comm(NULL, 20);
    uint64_t   mine[128] = {0}, all[128 * 64];
    double     start;

    (void)rset_agree(comm, RSET_OK, "", NULL);
    start = rset_clock();
    for (int i = 0; i < ROUNDS; i++)
        CHECK(rset_agree(comm, RSET_OK, "", NULL) == RSET_OK);
    if (my_rank == 0)
        printf("agree, %d ranks: %.1f us\n", my_size, (rset_clock() - start) / ROUNDS * 1e6);
    start = rset_clock();
    for (int i = 0; i < ROUNDS && my_size <= 64; i++)
        CHECK(rset_gather_fixed(comm, RSET_OK, "", &(rset_share){.bytes = mine, .len = sizeof mine},
                                all, NULL) == RSET_OK);
    if (my_rank == 0)
        printf("gather of 1 KiB, %d ranks: %.1f us\n", my_size,
               (rset_clock() - start) / ROUNDS * 1e6);
    MPI_Finalize();
}

int
main(int argc, char **argv)
{
    static const mode modes[] = {
        {"basic", basic}, {"missing", missing}, {"nottaken", not_taken}, {"late", late},
        {"never", never}, {"toolong", toolong}, {"nomemory", no_memory}, {"speed", speed}};
    rset_err   err = RSET_ERR_NONE;
    rset_comm *none = NULL;

    CHECK(!rset_mpi_usable()); /* P10 */
    CHECK(rset_mpi_private(NULL, 1, NULL, &none, &err) != RSET_OK && rset_mpi_world_rank() == 0);
    return run_mode(argc, argv, modes, sizeof modes / sizeof modes[0]);
}
