/* heap.h: how much memory each thread has, of what it has allocated itself. Counted for every allocation of this program, those
 * of libraries included: heap.c puts its own functions in the place of the C library's. */
#ifndef BENCH_HEAP_H
#define BENCH_HEAP_H

#include <stdatomic.h>
#include <stdbool.h>

/* Bytes that were allocated for one owner. They may be freed by anybody. */
typedef struct bench_heap {
    atomic_llong live;
    long long    most; /* at once; written by the thread that allocates for it */
} bench_heap;

/* From now on this thread allocates for `heap`, which stays in place until all of that is freed; NULL: for nobody. Local. */
void bench_heap_use(bench_heap *heap);

/* False where nothing is counted: with the sanitizers, which have functions of their own, and without glibc. */
bool bench_heap_counts(void);

#endif
