/* preload_keep.c - for LD_PRELOAD: Open MPI's components stay loaded when they are closed, and what it has of its own at the end stays.
 *
 * Open MPI 4.1 unloads its PMIx component in MPI_Finalize while its progress thread may still be about to
 * call into it: on a busy machine about one process in a thousand dies there, in orte_finalize, with any
 * program. More seldom it finds there that its heap was written to after it was freed, when it frees what it has
 * (docs/reliability.md). Tests that look at exit statuses cannot have that. All other libraries are closed as asked. */
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
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

/* The text that glibc ends a process with (GLIBC_PRIVATE, for debuggers); "": it was not glibc. */
static const char *
last_words(void)
{
    struct words {
        unsigned size;
        char     text[];
    } **words = dlvsym(RTLD_DEFAULT, "__abort_msg", "GLIBC_PRIVATE");

    return words != NULL && *words != NULL ? (*words)->text : "";
}

/* Returns where the program has another reason to abort, an assert among them: then it does. */
static void
leave(int sig)
{
    (void)sig;
    if (strstr(last_words(), "malloc_consolidate") != NULL)
        _exit(status_of_program);
}

/* The last thing that MPI_Finalize does. What was written to after it was freed may still be found at the very end, by whoever
 * needs memory then: a program that aborts for that ends as it was about to. 0: OPAL_SUCCESS. */
int
opal_finalize_util(void)
{
    if (on_exit(keep_status, NULL) == 0)
        (void)signal(SIGABRT, leave);
    return 0;
}
