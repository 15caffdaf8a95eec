/* thread.h: threads of our own in somebody else's program. */
#ifndef RSET_THREAD_H
#define RSET_THREAD_H

#include <pthread.h>

/* As pthread_create, with all signals blocked in the new thread: they are for the program's own threads. `attr` may be NULL.
 * Gives an errno, 0 when it runs. */
int rset_thread_create(pthread_t *thread_out, const pthread_attr_t *attr, void *(*run)(void *arg),
                       void *arg);

/* The calling thread does nothing for `ms` milliseconds, at most 999; for less where a signal comes. */
void rset_thread_nap(int ms);

#endif
