/* survival.h: what must be possible after some damage, worked out from FORMAT.md 7 to 10 alone and not
 * from the engine: who holds which bytes of which stripe, and how many of them are bad. */
#ifndef SURVIVAL_H
#define SURVIVAL_H

#include <stdbool.h>
#include <stdint.h>

enum { SURVIVAL_RANKS = 16, SURVIVAL_RANGES = 64 };

typedef enum { PLAN_SINGLE, PLAN_PARTNER, PLAN_XOR, PLAN_RS } survival_plan;

/* Bad byte ranges [from, to) in any order; UINT64_MAX: to the end. */
typedef struct survival_bad {
    int n;
    struct {
        uint64_t from, to;
    } at[SURVIVAL_RANGES];
} survival_bad;

/* One member of the set. A data file that is missing is bad from 0 on, however short it was. */
typedef struct survival_rank {
    uint64_t     length;    /* of its data */
    bool         head_lost; /* nothing in its redundancy file can be used */
    survival_bad data, payload;
} survival_rank;

typedef struct survival_set {
    survival_plan plan;
    int           n, k; /* members; replicas or checksums, 1 for XOR */
    survival_rank ranks[SURVIVAL_RANKS];
} survival_set;

typedef enum {
    SURVIVES_WHOLE,      /* everything can be rebuilt, to the byte */
    SURVIVES_DATA,       /* all data, not all redundancy */
    SURVIVES_UNVERIFIED, /* the same, but of some file nobody knows any more what it should be */
    SURVIVES_NOT
} survival;

survival survival_of(const survival_set *set);

/* CHUNK (FORMAT.md 7); 0 when the scheme has none. */
uint64_t survival_chunk(const survival_set *set);
/* Bytes of a member's payload (FORMAT.md 8). */
uint64_t survival_payload(const survival_set *set, int member);

/* The data chunk that member r has in stripe s, or -1: it holds a parity slot there, *slot_out. XOR and
 * RS only. */
int survival_data_chunk(const survival_set *set, int r, int s, int *slot_out);

void survival_spoil(survival_bad *bad, uint64_t from, uint64_t to);

#endif
