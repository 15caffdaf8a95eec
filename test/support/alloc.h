/* alloc.h: what allocates in the engine and in the test itself, put in the place of the C library's by the
 * linker: for programs that have a NAME.wrap with malloc, calloc, realloc, free, strdup, strndup, asprintf and
 * vasprintf. An allocation fails when alloc_fails says so; what is live is counted, with and without
 * sanitizers. */
#ifndef ALLOC_H
#define ALLOC_H

#include <stdatomic.h>
#include <stdbool.h>

/* Asked once for each allocation, by the thread that makes it; NULL: none fails. */
extern bool (*alloc_fails)(void);

/* Allocations that were not freed yet. */
extern atomic_long alloc_live;

#endif
