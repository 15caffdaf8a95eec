/* signals.c: see signals.h. */
#include "signals.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

static const int ours[] = {SIGXFSZ, SIGPIPE};

enum { NOURS = sizeof ours / sizeof ours[0] };

/* Asked for again at each write, not remembered: the program may set a limit, or another thread may, at any time. */
void
rset_signals_hold(rset_signals *before)
{
    sigset_t both;

    sigemptyset(&both);
    for (int i = 0; i < NOURS; i++)
        sigaddset(&both, ours[i]);
    (void)pthread_sigmask(SIG_BLOCK, &both, &before->blocked);
    sigemptyset(&before->waiting);
    for (int i = 0; i < NOURS; i++) /* what is not blocked does not wait */
        if (sigismember(&before->blocked, ours[i]) == 1) {
            (void)sigpending(&before->waiting);
            break;
        }
}

static void
remove_waiting(int signal)
{
    const struct timespec at_once = {0, 0};
    sigset_t              one;

    sigemptyset(&one);
    sigaddset(&one, signal);
    while (sigtimedwait(&one, NULL, &at_once) < 0 && errno == EINTR)
        ;
}

void
rset_signals_release(const rset_signals *before, int failed)
{
    const int why = errno;

    for (int i = 0; failed && i < NOURS; i++)
        if (sigismember(&before->waiting, ours[i]) != 1)
            remove_waiting(ours[i]);
    (void)pthread_sigmask(SIG_SETMASK, &before->blocked, NULL);
    errno = why;
}
