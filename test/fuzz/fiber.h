/* fiber.h: ranks that take turns instead of threads, for fuzzing: an input does the same at every run, and
 * no time goes into waking threads. The engine's transport between threads is compiled with
 *
 *   -Dpthread_create=fiber_create -Dpthread_join=fiber_join -Dsched_yield=fiber_yield
 *   -Dnanosleep=fiber_nap
 *
 * (test/fuzz/nightly_fuzz.sh): where a thread would wait, the next fiber runs. */
#ifndef FIBER_H
#define FIBER_H

#include <pthread.h>
#include <time.h>

int fiber_create(pthread_t *id_out, const pthread_attr_t *attr, void *(*body)(void *), void *arg);
int fiber_join(pthread_t id, void **result_out);
int fiber_yield(void);
int fiber_nap(const struct timespec *want, struct timespec *left);

#endif
