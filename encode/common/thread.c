/* thread.c: see thread.h. */
#include "thread.h"

#include <signal.h>
#include <time.h>

int
rset_thread_create(pthread_t *thread_out, const pthread_attr_t *attr, void *(*run)(void *arg),
                   void *arg)
{
    sigset_t every, before;
    int      rc;

    sigfillset(&every);
    rc = pthread_sigmask(SIG_SETMASK, &every, &before); /* the new one inherits it */
    if (rc != 0)
        return rc;
    rc = pthread_create(thread_out, attr, run, arg);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

void
rset_thread_nap(int ms)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
}
