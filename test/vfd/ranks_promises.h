/* ranks_promises.h: what each scheme promises, in its own words. Of lost ranks each is a bit. */
#ifndef RANKS_PROMISES_H
#define RANKS_PROMISES_H

typedef struct protection {
    const char *scheme;
    int         count; /* of copies, or of checksums */
    int         ranks;
} protection;

/* Can the ranks in `lost` be rebuilt? */
int promised(const protection *by, unsigned lost);
/* Just one rank too many: with one of them back, could the rest be rebuilt as well? */
int one_too_many(const protection *by, unsigned lost);

#endif
