/* amount.h: numbers of bytes as people read them. */
#ifndef RSET_AMOUNT_H
#define RSET_AMOUNT_H

#include <stdint.h>

enum { RSET_AMOUNT = 32 };

/* "4.0 MiB", "256 MiB", "17 B"; returns `buf`. Pure. */
const char *rset_amount_say(uint64_t bytes, char buf[RSET_AMOUNT]);

#endif
