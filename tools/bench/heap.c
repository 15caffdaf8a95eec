/* heap.c: see heap.h. Each block ends with the address of its owner, behind what its user has asked for: so alignments stay
 * as they are, and who frees it need not be who has allocated it. */
#include "heap.h"

#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local bench_heap *mine;

void
bench_heap_use(bench_heap *heap)
{
    mine = heap;
}

#if !defined(__GLIBC__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

bool
bench_heap_counts(void)
{
    return false;
}

#else

#define SEEN __attribute__((visibility("default")))
enum { OWNER = sizeof(bench_heap *), LARGE_PAGE = 4096 };

/* The C library's own, under the names that it has for this purpose. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void  __libc_free(void *block);

bool
bench_heap_counts(void)
{
    return true;
}

static char *
owner_of(void *block)
{
    return (char *)block + malloc_usable_size(block) - OWNER;
}

static void
count(bench_heap *heap, long long bytes)
{
    long long live;

    if (heap == NULL)
        return;
    live = atomic_fetch_add_explicit(&heap->live, bytes, memory_order_relaxed) + bytes;
    if (heap == mine && live > heap->most)
        heap->most = live;
}

static void *
begin(void *block)
{
    if (block == NULL)
        return NULL;
    memcpy(owner_of(block), &mine, OWNER);
    count(mine, (long long)malloc_usable_size(block) - OWNER);
    return block;
}

static bench_heap *
end(void *block)
{
    bench_heap *heap;

    memcpy(&heap, owner_of(block), OWNER);
    count(heap, OWNER - (long long)malloc_usable_size(block));
    return heap;
}

static bool
too_large(size_t size)
{
    if (size <= PTRDIFF_MAX - OWNER)
        return false;
    errno = ENOMEM;
    return true;
}

SEEN void *
malloc(size_t size)
{
    return too_large(size) ? NULL : begin(__libc_malloc(size + OWNER));
}

SEEN void *
calloc(size_t n, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(n, size, &bytes))
        bytes = SIZE_MAX;
    return too_large(bytes) ? NULL : begin(__libc_calloc(1, bytes + OWNER));
}

SEEN void
free(void *block)
{
    if (block == NULL)
        return;
    (void)end(block);
    __libc_free(block);
}

SEEN void *
realloc(void *old, size_t size)
{
    bench_heap *heap;
    void       *block;

    if (old == NULL)
        return malloc(size);
    if (too_large(size))
        return NULL;
    heap = end(old);
    block = __libc_realloc(old, size + OWNER);
    if (block == NULL) /* the old one stays its owner's */
        count(heap, (long long)malloc_usable_size(old) - OWNER);
    return begin(block);
}

SEEN void *
memalign(size_t alignment, size_t size)
{
    return too_large(size) ? NULL : begin(__libc_memalign(alignment, size + OWNER));
}

SEEN void *
aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

SEEN int
posix_memalign(void **block, size_t alignment, size_t size)
{
    void *made = memalign(alignment, size);

    if (made == NULL)
        return ENOMEM;
    *block = made;
    return 0;
}

SEEN void *
valloc(size_t size)
{
    return memalign(LARGE_PAGE, size);
}

SEEN void *
pvalloc(size_t size)
{
    return valloc((size + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE);
}

#endif
