/* comm_spare.c: has each rank a second processor? See rset_comm_find_spare. */
#include "comm.h"
#include "common/crc64.h"

#include <assert.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* What ranks that share processors have in common, and its answer. */
typedef struct share {
    uint64_t key;
    int32_t  processors, ranks;
} share;

/* The processors that this thread may run on, by number, and how many they are; 0: it cannot be told. */
static share
own_processors(const char *host)
{
    cpu_set_t mask;
    share     own = {0};

    CPU_ZERO(&mask);
    if (sched_getaffinity(0, sizeof mask, &mask) != 0) /* a machine of more than 1,024 */
        return own;
    own.key = rset_crc64(rset_crc64(0, host, strlen(host)), &mask, sizeof mask);
    own.processors = CPU_COUNT(&mask);
    return own;
}

/* All shares with one key come to one rank, which counts them. */
static rset_status
count_shares(rset_comm *comm, rset_status own, const char *host, rset_records *list, rset_err *err)
{
    rset_records answers = {.size = sizeof(share)};
    rset_status  st = rset_route(comm, own, host, list, err);

    for (size_t i = 0; st == RSET_OK && i < list->n; i++) {
        share one, other;
        int   to = rset_records_get(list, i, &one);

        one.ranks = 0;
        for (size_t j = 0; j < list->n; j++) {
            (void)rset_records_get(list, j, &other);
            one.ranks += other.key == one.key;
        }
        rset_records_add(&answers, to, &one);
    }
    rset_records_free(list);
    *list = answers;
    return rset_route(comm, st, host, list, err);
}

rset_status
rset_comm_find_spare(rset_comm *comm, rset_status own, const char *host, rset_err *err)
{
    share        mine;
    rset_records list = {.size = sizeof mine};
    rset_status  st;

    if (comm->spare != RSET_SPARE_UNKNOWN)
        return rset_agree(comm, own, host, err);
    mine = own_processors(host);
    rset_records_add_by_key(&list, comm, mine.key, &mine);
    st = count_shares(comm, own, host, &list, err);
    if (st == RSET_OK) {
        assert(list.n == 1); /* C3 */
        (void)rset_records_get(&list, 0, &mine);
        comm->spare = mine.processors >= 2 * mine.ranks ? RSET_SPARE_YES : RSET_SPARE_NO;
    }
    rset_records_free(&list);
    return st;
}

bool
rset_comm_has_spare(const rset_comm *comm)
{
    while (comm->spare == RSET_SPARE_UNKNOWN && comm->parent != NULL)
        comm = comm->parent;
    return comm->spare == RSET_SPARE_YES;
}
