/* no_memory.h: allocations that fail, one after the other. For programs with the functions of alloc.h in their NAME.wrap;
 * main() says alloc_fails = fails. */
#ifndef NO_MEMORY_H
#define NO_MEMORY_H

#include "alloc.h"
#include "common/err.h"
#include "every.h"
#include "store/recall.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { NEVER = -1, MOST = 10000 };

static atomic_int left = NEVER; /* allocations until one fails, in whatever thread */

static inline bool
fails(void)
{
    int n = left;

    while (n != NEVER && !atomic_compare_exchange_weak(&left, &n, n - 1))
        ;
    return n == 0;
}

enum { FIRST_ONES = 20 };

/* Each of the first ones, then as every.h has it. */
static inline int
next_allocation(int n)
{
    return n + 1 < FIRST_ONES    ? n + 1
           : n + 1 == FIRST_ONES ? n + 1 + every_skip()
                                 : n + every_step();
}

/* Runs it with the first allocation failing, then with the second ... until it needs no more. `run` frees
 * what it is given; a failed one is given nothing. `may_do_without`: some are for what only saves work. */
static inline void
each_failure_of(const char *what, bool may_do_without, rset_status (*run)(void *arg, rset_err *err),
                void *arg)
{
    for (int n = 0; n < MOST; n = next_allocation(n)) {
        rset_err    err = RSET_ERR_NONE;
        long        before;
        rset_status st;
        bool        hit;

        rset_recall_forget();
        before = alloc_live;
        left = n;
        st = run(arg, &err);
        hit = left == NEVER;
        left = NEVER;
        rset_recall_forget(); /* what is kept for the next time */
        if ((st != (hit ? RSET_NOMEM : RSET_OK) && !(may_do_without && st == RSET_OK)) ||
            (st != RSET_OK && err.text[0] == '\0') || alloc_live != before)
            fail_msg("%s, allocation %d: %s (%s), %ld left behind", what, n, rset_status_name(st),
                     err.text, alloc_live - before);
        if (!hit) {
            assert_true(n > 0); /* it does allocate */
            return;
        }
    }
    fail_msg("%s: there is no end of allocations", what);
}

static inline void
each_failure(const char *what, rset_status (*run)(void *arg, rset_err *err), void *arg)
{
    each_failure_of(what, false, run, arg);
}

/* Who has no memory to talk to the others is one of them that does not come. */
static inline rset_status
silent_or(rset_status st, const rset_err *err)
{
    return st == RSET_PEER && strstr(err->text, "memory") != NULL ? RSET_NOMEM : st;
}

#endif
