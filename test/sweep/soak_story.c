/* soak_story.c: see soak_story.h. */
#include "soak_story.h"

#include "sweep.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { STEPS = 32, LENGTH = 400 };

static char     steps[STEPS][LENGTH];
static unsigned nsteps;

/* The call that a job died at, in memory shared with it. */
typedef struct place {
    int      rank, nth;
    tap_call call;
    char     name[160];
} place;

static place *died;

void
soak_story_begin(void)
{
    nsteps = 0;
    if (died == NULL)
        died = sweep_shared(sizeof *died);
}

void
soak_story_note(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(steps[nsteps++ % STEPS], LENGTH, fmt, args);
    va_end(args);
}

/* Calls that have no name have a descriptor. */
static void
name_of(const tap_event *e, char *name, size_t room)
{
    char        path[160] = "", link[64];
    const char *base;

    if (e->name != NULL) {
        snprintf(name, room, "%.70s%s%.70s", e->name, e->to != NULL ? " to " : "",
                 e->to != NULL ? e->to : "");
        return;
    }
    snprintf(link, sizeof link, "/proc/self/fd/%d", e->fd);
    if (readlink(link, path, sizeof path - 1) < 0)
        path[0] = '\0';
    base = strrchr(path, '/');
    snprintf(name, room, "%.150s", base != NULL ? base + 1 : path);
}

void
soak_story_dies(const tap_event *e)
{
    if (died == NULL)
        return;
    *died = (place){.rank = e->rank, .nth = e->nth, .call = e->call};
    name_of(e, died->name, sizeof died->name);
}

/* How far each rank had come. */
static void
say_where(char *to, size_t room)
{
    int n =
        snprintf(to, room, "dies: rank %d at its call %d, %s %s; calls of each rank:", died->rank,
                 died->nth, tap_name(died->call), died->name);

    for (int r = 0; r < TAP_RANKS && n < (int)room; r++) {
        const int calls = tap_seen->calls[r];

        if (calls > 0)
            n += snprintf(to + n, room - (size_t)n, " %d: %d (%s)", r, calls,
                          calls <= TAP_LOG ? tap_name(tap_seen->kinds[r][calls - 1]) : "...");
    }
}

void
soak_story_ran(const soak_world *w, soak_operation op, soak_end end)
{
    static const char *const ends[] = {"done", "dies", "hangs", "crashes"};
    const bool               alone = op == SOAK_ALONE || op == SOAK_READ || op == SOAK_EDIT;
    char                     whose[32] = "", where[LENGTH];

    if (died == NULL)
        return;
    if (alone)
        snprintf(whose, sizeof whose, ", rank %d", w->alone);
    snprintf(where, sizeof where, "%s", ends[end]);
    if (end == SOAK_KILLED)
        say_where(where, sizeof where);
    soak_story_note("  %s%s: %.330s", soak_operation_names[op], whose, where);
}

void
soak_story_tell(void)
{
    const unsigned first = nsteps > STEPS ? nsteps - STEPS : 0;

    printf("  the last %u of %u steps:\n", nsteps - first, nsteps);
    for (unsigned i = first; i < nsteps; i++)
        printf("    %s\n", steps[i % STEPS]);
}
