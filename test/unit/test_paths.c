/* test_paths.c: the paths that tests name are each thread's own: ranks are threads, and name theirs at the same time. */
#include "image.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { THREADS = 4, TIMES = 20000, LENGTH = 64 };

static void *
name_paths(void *arg)
{
    const int *rank = arg;
    char       want[LENGTH];

    for (int i = 0; i < TIMES; i++) {
        snprintf(want, sizeof want, "node%d/file_%d", *rank, i);
        if (strcmp(path_of("node%d/file_%d", *rank, i), want) != 0)
            return arg;
    }
    return NULL;
}

static void
each_thread_has_its_own(void **state)
{
    pthread_t threads[THREADS];
    int       ranks[THREADS];
    int       wrong = 0;

    (void)state;
    for (int i = 0; i < THREADS; i++) {
        ranks[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, name_paths, &ranks[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *bad = NULL;

        assert_int_equal(pthread_join(threads[i], &bad), 0);
        wrong += bad != NULL;
    }
    assert_int_equal(wrong, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_thread_has_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
