/* reread.h: what a rebuild reads is held against the recorded checksums a second time (P2).
 *
 * Pieces are verified when a set is looked at, and read again when others are computed from them. A disk
 * that then returns something else would have its bytes made right for ever: a redundancy file gets its
 * checksums from what was computed. So everything that was read for a result is noted, the rest of
 * each block that was read in part is read as well, and the blocks must be the recorded ones before the
 * result is published. Local. */
#ifndef RSET_REREAD_H
#define RSET_REREAD_H

#include "member/member.h"

/* What a block that is not as recorded means, and which blocks are compared. */
typedef enum {
    RSET_REREAD_AGAIN, /* RSET_IO: it had been verified before */
    RSET_REREAD_FIRST, /* RSET_DAMAGED: nobody had */
    RSET_REREAD_ALL    /* the same, and blocks of which nothing was read are verified too */
} rset_reread_how;

/* What was read of a data file or of the payload. */
typedef struct rset_reread_part {
    const rset_sums *want; /* as recorded; NULL: nothing to compare with */
    rset_reread_how  how;
    uint64_t         base; /* where it begins in the logical file; 0 for a payload */
    rset_ranges      reads;
    rset_sums        have;
    bool             nomem;
} rset_reread_part;

typedef struct rset_reread {
    int               n; /* data files; the payload stands behind them */
    rset_reread_part *parts;
} rset_reread;

/* `info`: of the member's data; `payload`: its recorded sums or NULL. Both are borrowed. RSET_REREAD_AGAIN, unless told
 * otherwise. */
rset_status rset_reread_begin(const rset_info *info, const rset_sums *payload, rset_reread *out,
                              rset_err *err);
void        rset_reread_free(rset_reread *w);

/* Bytes that were read. Each byte once, in any order. A reread that was never begun takes no notes. */
void rset_reread_data(rset_reread *w, uint64_t off, const void *buf, size_t len);
void rset_reread_payload(rset_reread *w, uint64_t off, const void *buf, size_t len);

void rset_reread_expect(rset_reread *w, rset_reread_how data, rset_reread_how payload);

/* The data files, or the payload, are none to be read: they are lost. */
void rset_reread_leave_out(rset_reread *w, bool data, bool payload);

/* Reads the rest of the blocks that something was read of, and compares. `read` as in stream.h; `name` is for
 * the message. RSET_IO or RSET_DAMAGED where a block is not what was recorded, see rset_reread_how. */
typedef rset_status (*rset_reread_read)(void *arg, bool payload, uint64_t off, void *buf,
                                        size_t len, rset_err *err);
rset_status rset_reread_check(rset_reread *w, rset_reread_read read, void *arg, const char *name,
                              rset_err *err);

#endif
