/* every.h: tests that try each of many points: each call that may fail, each state, each set of losses. With EVERY=N in the
 * environment they try every Nth, from another one on in each loop: so loops over ranks and schemes differ in the points that
 * they leave out. Without it, all (docs/testing.md, "What runs where"). EVERY_FROM=K: the first loop passes over K. */
#ifndef EVERY_H
#define EVERY_H

#include <stdlib.h>

static inline int
every_step(void)
{
    const char *value = getenv("EVERY");
    const int   n = value != NULL ? atoi(value) : 1;

    return n > 1 ? n : 1;
}

/* How many points a loop passes over before its first. */
static inline int
every_skip(void)
{
    static int  loops;
    const char *from = getenv("EVERY_FROM");

    return ((from != NULL ? atoi(from) : 0) + loops++) % every_step();
}

#endif
