/* preload_keep.c - for LD_PRELOAD: Open MPI's components stay loaded when they are closed, and what it has of its own at the end stays.
 *
 * Open MPI 4.1 unloads its PMIx component in MPI_Finalize while its progress thread may still be about to
 * call into it: on a busy machine about one process in a thousand dies there, in orte_finalize, with any
 * program. More seldom it finds there that its heap was written to after it was freed, when it frees what it has
 * (docs/reliability.md). Tests that look at exit statuses cannot have that. All other libraries are closed as asked. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int dlclose(void *handle);
int opal_finalize_util(void);

int
dlclose(void *handle)
{
    int (*next)(void *handle) = NULL;
    struct link_map *map = NULL;
    void            *found = dlsym(RTLD_NEXT, "dlclose");

    memcpy(&next, &found, sizeof next);
    if (next == NULL || (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != NULL &&
                         strstr(map->l_name, "/mca_") != NULL))
        return 0;
    return next(handle);
}

static volatile sig_atomic_t status_of_program;

static void
keep_status(int status, void *unused)
{
    (void)unused;
    status_of_program = status;
}

static void
leave(int sig)
{
    (void)sig;
    _exit(status_of_program);
}

/* The last thing that MPI_Finalize does. What was written to after it was freed may still be found at the very end, by whoever
 * needs memory then: a program that aborts there ends as it was about to. 0: OPAL_SUCCESS. */
int
opal_finalize_util(void)
{
    if (on_exit(keep_status, NULL) == 0)
        (void)signal(SIGABRT, leave);
    return 0;
}

/* Of the PMIx component: the progress thread says that something is done, which ends this wait, and only then takes its last look at
 * what the waiting thread frees at once. */
int
pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    static const struct timespec little = {.tv_nsec = 300000};
    int (*next)(pthread_cond_t * cond, pthread_mutex_t * mutex) = NULL;
    void   *found = dlvsym(RTLD_NEXT, "pthread_cond_wait", "GLIBC_2.3.2");
    Dl_info who = {0};
    int     rc;

    if (found == NULL) /* elsewhere than on x86-64 there is one only */
        found = dlsym(RTLD_NEXT, "pthread_cond_wait");
    memcpy(&next, &found, sizeof next);
    rc = next(cond, mutex);
    if (dladdr(__builtin_return_address(0), &who) != 0 && who.dli_fname != NULL &&
        strstr(who.dli_fname, "/mca_pmix") != NULL)
        nanosleep(&little, NULL);
    return rc;
}
