/* scheme.h: redundancy schemes as data: who holds what of which stripe, and with which coefficient.
 *
 * All four schemes are linear: a stripe is a few data pieces (one per contributing member) and a few
 * parity pieces, each parity piece a sum of coefficient x data piece in GF(2^8). A scheme only says
 * where the pieces lie; encode, rebuild and verification are one program over all of them
 * (solve.h, plan.h, stream.h). Pure: no files, no MPI, no allocation.
 *
 *   SINGLE   stripe q: member q's file, no parity
 *   PARTNER  stripe q: member q's file; parity u = its copy on member q+1+u, u in 0..R-1
 *   XOR, RS  stripe s: chunk of each member that has no parity there; parity u on member s-u
 *            (FORMAT.md 7) */
#ifndef RSET_SCHEME_H
#define RSET_SCHEME_H

#include "common/err.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct rset_scheme rset_scheme;

/* One set under one scheme: all that is needed to place every piece. */
typedef struct rset_shape {
    const rset_scheme *scheme;
    int                members; /* n >= 1 */
    int                parity;  /* R for PARTNER, k for RS, 1 for XOR, 0 for SINGLE */
    const uint64_t    *length;  /* n logical file lengths L; borrowed */
    uint64_t           chunk;   /* c of FORMAT.md 7 for XOR and RS, else 0 */
} rset_shape;

typedef enum {
    RSET_PIECE_NONE = 0, /* the member holds nothing of the stripe */
    RSET_PIECE_DATA,     /* bytes of its logical file; beyond its length they read as zero */
    RSET_PIECE_PARITY    /* bytes of its payload */
} rset_piece_kind;

/* What one member holds of one stripe. Every member holds at most one piece of a stripe. */
typedef struct rset_piece {
    rset_piece_kind kind;
    int             row;    /* PARITY: which parity u of the stripe; else 0 */
    uint64_t        offset; /* where the piece begins in the member's logical file or payload */
} rset_piece;

struct rset_scheme {
    const char *name;      /* upper case, as in trees and configuration: "XOR" */
    const char *file_name; /* lower case, as in file names: "xor" */
    const char *count_key; /* key of `parity` in a descriptor: "REPLICAS", "CKSUM", NULL if none */
    bool        striped;   /* header has CHUNK and GROUP (XOR, RS) */
    /* Can a set of `members` carry `parity`? The message names the value and what is possible. */
    rset_status (*check)(int members, int parity, rset_err *err);
    /* How many left neighbours' metadata a member keeps (red of FORMAT.md 1). */
    int (*left)(int parity);
    /* Bytes of stripe `s`, 0 <= s < members: every piece of it has this length. */
    uint64_t (*stripe_length)(const rset_shape *shape, int s);
    /* What `member` holds of stripe `s`. */
    rset_piece (*place)(const rset_shape *shape, int s, int member);
    /* Coefficient of `member`'s data piece in parity `row`. */
    uint8_t (*coef)(const rset_shape *shape, int row, int member);
};

extern const rset_scheme rset_scheme_single, rset_scheme_partner, rset_scheme_xor, rset_scheme_rs;

/* The scheme of that name in any case, or NULL. `name` may be any string. */
const rset_scheme *rset_scheme_by_name(const char *name);

/* "SINGLE, PARTNER, XOR, RS", for messages. */
extern const char rset_scheme_names[];

/* Chunk size c for XOR and RS from the largest length (FORMAT.md 7); 0 for the other schemes. */
uint64_t rset_shape_chunk(const rset_scheme *scheme, int members, int parity, uint64_t longest);

/* Length of a member's payload (FORMAT.md 8). */
uint64_t rset_shape_payload(const rset_shape *shape, int member);

#endif
