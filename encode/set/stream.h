/* stream.h: the one loop over data. Works through a plan: reads source pieces, multiplies, sums them
 * along a chain of members, and hands the results to the members that write them. Encoding and
 * rebuilding, all schemes, parallel and in one process are this loop.
 *
 * Why a chain: source j receives the partial sums of sources 0..j-1, adds its own share and sends on.
 * So each piece is read once and each member sends every piece of a stripe at most once per piece
 * that is computed: B bytes for XOR, R*B for PARTNER, k*B for RS. Sources are in ring order starting
 * one to the right from stripe to stripe, so all members send at the same time.
 *
 * Where sums of up to 256 KiB are computed in all, members wait for each other more often than that is worth: they do all of it at
 * once, in a message for each doubling of their number, and as many bytes but for a few. What comes out is the same. */
#ifndef RSET_STREAM_H
#define RSET_STREAM_H

#include "codec/plan.h"
#include "comm/comm.h"

/* This member's side of the data; called by one thread at a time, which need not be the caller's. Offsets are within its logical file or payload. read fills bytes
 * beyond the end of the logical file with zeros; write ignores them. Both may be called in any order
 * of offsets; every planned byte is read or written once. */
typedef struct rset_stream_io {
    rset_status (*read)(void *arg, rset_piece_kind kind, uint64_t off, void *buf, size_t len,
                        rset_err *err);
    rset_status (*write)(void *arg, rset_piece_kind kind, uint64_t off, const void *buf, size_t len,
                         rset_err *err);
    void *arg;
    uint64_t
        payload_at; /* where the payload begins in its file: for the place of buffers, no more */
} rset_stream_io;

/* What is to be done; all of it stays with the caller. */
typedef struct rset_stream_work {
    const rset_shape     *shape;
    const rset_plan      *plan; /* the same on all members */
    const rset_stream_io *io;
    const char           *host; /* names this process's host */
} rset_stream_work;

/* Collective over `set`. First all agree that each of them can: `own`, and then *err, is this member's failure so far, which
 * all get then, and its work is not looked at. A member whose read or write fails
 * goes on without input or output, so that the others are not left waiting, and returns its error at
 * the end: the caller must agree on the outcome before anything is used. RSET_PEER when waiting ran
 * into the timeout; the communicator is then revoked. Memory: at most about RSET_STREAM_MEMORY. */
enum {
    RSET_STREAM_MEMORY = 8 * 1024 * 1024,
    RSET_STREAM_PIECE = 256 * 1024,
    RSET_STREAM_SMALL_PIECE = 64 * 1024 /* where little is computed */
};
rset_status rset_stream_run(rset_comm *set, rset_status own, const rset_stream_work *work,
                            rset_err *err);

#endif
