/* progress.c: see progress.h. The engine reads through a table of system calls; ours counts what it reads. */
#include "progress.h"

#include "recover/recover.h"
#include "text.h"

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { WIDTH = 24 };

static rset_sys         counting;
static _Atomic uint64_t done_bytes;
static uint64_t         total_bytes;
static const char      *what;
static double           begun;
static _Atomic double   shown_at;
static bool             visible;

static void
draw(double now)
{
    uint64_t done = done_bytes;
    double   part = total_bytes > 0 ? (double)done / (double)total_bytes : 1;
    double   rate = now > begun ? (double)done / (now - begun) : 0;
    char     a[32], b[32], c[32], left[32] = "";
    int      filled;

    part = part > 1 ? 1 : part;
    filled = (int)(part * WIDTH);
    if (rate > 0 && done < total_bytes)
        snprintf(left, sizeof left, ", %.0f s left", (double)(total_bytes - done) / rate);
    fprintf(stderr, "\r%s [%.*s%.*s] %s of %s, %s/s%s\033[K", what, filled,
            "########################", WIDTH - filled, "                        ",
            rset_amount_say(done, a), rset_amount_say(total_bytes, b),
            rset_amount_say((uint64_t)rate, c), left);
    fflush(stderr);
}

static ssize_t
count_pread(int fd, void *buf, size_t len, off_t off)
{
    ssize_t got = rset_sys_posix.pread(fd, buf, len, off);
    double  now = rset_clock(), last = shown_at;

    if (got > 0)
        done_bytes += (uint64_t)got;
    if (now - last > 0.1 && atomic_compare_exchange_strong(&shown_at, &last, now))
        draw(now);
    return got;
}

void
progress_begin(bool show, const char *doing, uint64_t total)
{
    visible = show && isatty(STDERR_FILENO) == 1;
    if (!visible)
        return;
    what = doing;
    total_bytes = total;
    done_bytes = 0;
    shown_at = begun = rset_clock();
    draw(begun);
    counting = rset_sys_posix;
    counting.pread = count_pread;
    rset_sys_use(&counting);
}

void
progress_end(void)
{
    if (!visible)
        return;
    rset_sys_use(NULL);
    fputs("\r\033[K", stderr);
    fflush(stderr);
    visible = false;
}
