/* link_check.h: how the programs of test/vfd/link_*.c say what is not so, and count it. */
#ifndef LINK_CHECK_H
#define LINK_CHECK_H

#include <stdio.h>

static int rank, wrong;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: rank %d: not so: %s\n", __FILE__, __LINE__, rank, #condition); \
            wrong++;                                                                               \
        }                                                                                          \
    } while (0)

#endif
