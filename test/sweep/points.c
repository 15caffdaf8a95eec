/* points.c: see points.h. */
#include "points.h"

#include "sweep.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PRINTED = 20 };

static const char *name;
static long        tried, wrong;

bool
points_begin(const char *sweep, int argc, char **argv)
{
    bool all = argc == 2 && strcmp(argv[1], "all") == 0;

    if (!all && (argc != 2 || strcmp(argv[1], "change") != 0)) {
        fprintf(stderr, "usage: %s change|all\n", argv[0]);
        exit(2);
    }
    name = sweep;
    sweep_when_cut_short(name, &tried, &wrong);
    return all;
}

void
points_tried(void)
{
    tried++;
}

void
points_wrong(const char *fmt, ...)
{
    va_list args;

    if (wrong++ >= PRINTED)
        return;
    va_start(args, fmt);
    printf("wrong: ");
    vprintf(fmt, args);
    printf("\n");
    fflush(stdout);
    va_end(args);
}

uint64_t
points_random(uint64_t n)
{
    static uint64_t state = 1;

    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (state >> 33) % n;
}

int
points_end(void)
{
    printf("%s: %ld points, %ld violations\n", name, tried, wrong);
    return tried > 0 && wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
