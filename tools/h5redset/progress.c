/* progress.c: see progress.h. The engine tells what it reads, on whichever thread. */
#include "progress.h"

#include "common/amount.h"
#include "recover/recover.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { WIDTH = 24, STEPS = 10 };

static const double quiet = 2, redrawn = 0.1; /* s */

static _Atomic uint64_t done_bytes;
static uint64_t         total_bytes;
static const char      *what;
static double           first_begun = -1, begun; /* of this process, and of what is told */
static bool             visible, terminal;

/* What was told of it: by one thread at a time, and others wait for that only where they have something to tell. */
static pthread_mutex_t  telling = PTHREAD_MUTEX_INITIALIZER;
static _Atomic double   drawn_at;
static _Atomic unsigned step; /* of the last line */
static bool             told;

/* "3.7 GiB of 12.3 GiB, 1.2 GiB/s, 7 s left" */
static void
say_amounts(uint64_t done, double now, char *buf, size_t size)
{
    const double rate = now > begun ? (double)done / (now - begun) : 0;
    char         a[RSET_AMOUNT], b[RSET_AMOUNT], c[RSET_AMOUNT], left[32] = "";

    if (rate > 0 && done < total_bytes)
        snprintf(left, sizeof left, ", %.0f s left", (double)(total_bytes - done) / rate);
    snprintf(buf, size, "%s of %s, %s/s%s", rset_amount_say(done, a),
             rset_amount_say(total_bytes, b), rset_amount_say((uint64_t)rate, c), left);
}

/* How much of it is done, at most all. */
static double
part_of(uint64_t done)
{
    return done < total_bytes ? (double)done / (double)total_bytes : 1;
}

static void
draw(double now)
{
    const uint64_t done = done_bytes;
    const int      filled = (int)(part_of(done) * WIDTH);
    char           amounts[160];

    say_amounts(done, now, amounts, sizeof amounts);
    fprintf(stderr, "\r%s [%.*s%.*s] %s\033[K", what, filled, "########################",
            WIDTH - filled, "                        ", amounts);
    fflush(stderr);
    drawn_at = now;
    told = true;
}

/* How many tenths are done; all of them when it has ended. */
static unsigned
step_of(uint64_t done)
{
    const unsigned is = (unsigned)(part_of(done) * STEPS);

    return is < STEPS ? is : STEPS - 1;
}

static bool
is_due(double now)
{
    return terminal ? now - drawn_at > redrawn : step_of(done_bytes) > step;
}

/* One line for all steps since the last one. */
static void
say_step(double now)
{
    const uint64_t done = done_bytes;
    char           amounts[160];

    step = step_of(done);
    say_amounts(done, now, amounts, sizeof amounts);
    fprintf(stderr, "h5redset: %s: %u %%, %s\n", what, step * 100 / STEPS, amounts);
    told = true;
}

static void
count(size_t bytes)
{
    const double now = rset_clock();

    done_bytes += bytes;
    if (now - first_begun <= quiet || !is_due(now))
        return;
    pthread_mutex_lock(&telling);
    if (is_due(now) && terminal)
        draw(now);
    else if (is_due(now))
        say_step(now);
    pthread_mutex_unlock(&telling);
}

void
progress_begin(bool show, const char *doing, uint64_t total)
{
    visible = show && total > 0;
    if (!visible)
        return;
    terminal = isatty(STDERR_FILENO) == 1;
    what = doing;
    total_bytes = total;
    done_bytes = 0;
    step = 0;
    told = false;
    drawn_at = begun = rset_clock();
    if (first_begun < 0)
        first_begun = begun;
    rset_file_watch_reads(count);
}

void
progress_wipe(void)
{
    if (visible && told && terminal)
        fputs("\r\033[K", stderr);
    fflush(stderr);
}

void
progress_end(void)
{
    char amount[RSET_AMOUNT];

    if (!visible)
        return;
    rset_file_watch_reads(NULL);
    progress_wipe();
    if (told && !terminal)
        fprintf(stderr, "h5redset: %s: 100 %%, %s in %.0f s\n", what,
                rset_amount_say(done_bytes, amount), rset_clock() - begun);
    visible = false;
}
