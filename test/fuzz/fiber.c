/* fiber.c: see fiber.h. */
#include "fiber.h"

#include "common/phases.h"
#include "memfs.h"

#include <errno.h>
#include <sanitizer/common_interface_defs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <ucontext.h>

enum { FIBERS = 64, STACK = 512 * 1024 };

typedef struct fiber {
    ucontext_t  context;
    bool        used, done;
    void       *stack; /* kept for the next one; NULL: the main fiber's own */
    const void *bottom;
    size_t      size;
    void       *fake; /* the sanitizer's */
    void *(*body)(void *arg);
    void      *arg;
    memfs_rank rank;
    /* what the engine has one of for each thread (common/phases.h) */
    rset_phase_scope *scope;
} fiber;

static fiber fibers[FIBERS]; /* 0: whoever calls */
static int   running;

static void
arrive(void)
{
    fiber *me = &fibers[running];

    __sanitizer_finish_switch_fiber(me->fake, NULL, NULL);
    memfs_set_self(me->rank);
}

/* The innermost scope of time is this one from now on; gives the one that it was. */
static rset_phase_scope *
exchange_scope(rset_phase_scope *next)
{
    rset_phase_scope between, *was;

    rset_phases_begin(&between);
    was = between.outer;
    between.outer = next;
    rset_phases_end(&between);
    return was;
}

static void
switch_to(int next)
{
    fiber *from = &fibers[running], *to = &fibers[next];
    int    saved = errno;

    from->rank = memfs_self();
    from->scope = exchange_scope(to->scope);
    running = next;
    __sanitizer_start_switch_fiber(from->done ? NULL : &from->fake, to->bottom, to->size);
    swapcontext(&from->context, &to->context);
    arrive();
    errno = saved;
}

static int
next_fiber(void)
{
    int next = running;

    do
        next = (next + 1) % FIBERS;
    while (next != 0 && (!fibers[next].used || fibers[next].done));
    return next;
}

static void
run(void)
{
    fiber *me = &fibers[running];

    arrive();
    me->body(me->arg);
    me->done = true;
    switch_to(next_fiber());
    abort(); /* nobody comes back to one that is done */
}

/* Where the main fiber's stack lies: the sanitizer wants to know when it is gone back to. */
static void
find_main(void)
{
    pthread_attr_t attr;
    void          *bottom = NULL;

    if (fibers[0].used)
        return;
    if (pthread_getattr_np(pthread_self(), &attr) != 0 ||
        pthread_attr_getstack(&attr, &bottom, &fibers[0].size) != 0)
        abort();
    pthread_attr_destroy(&attr);
    fibers[0].bottom = bottom;
    fibers[0].used = true;
}

int
fiber_create(pthread_t *id_out, const pthread_attr_t *attr, void *(*body)(void *), void *arg)
{
    int i = 1;

    (void)attr;
    find_main();
    while (i < FIBERS && fibers[i].used)
        i++;
    if (i == FIBERS)
        return EAGAIN;
    if (fibers[i].stack == NULL)
        fibers[i].stack = malloc(STACK);
    if (fibers[i].stack == NULL)
        return EAGAIN;
    fibers[i] = (fiber){.used = true,
                        .stack = fibers[i].stack,
                        .bottom = fibers[i].stack,
                        .size = STACK,
                        .body = body,
                        .arg = arg,
                        .rank = {.dir = -1}};
    getcontext(&fibers[i].context);
    fibers[i].context.uc_stack.ss_sp = fibers[i].stack;
    fibers[i].context.uc_stack.ss_size = STACK;
    makecontext(&fibers[i].context, run, 0);
    *id_out = (pthread_t)i;
    return 0;
}

int
fiber_join(pthread_t id, void **result_out)
{
    (void)result_out;
    while (!fibers[id].done)
        fiber_yield();
    fibers[id].used = false;
    return 0;
}

int
fiber_yield(void)
{
    int next = next_fiber();

    if (next != running)
        switch_to(next);
    return 0;
}

int
fiber_nap(const struct timespec *want, struct timespec *left)
{
    (void)want, (void)left;
    return fiber_yield();
}
