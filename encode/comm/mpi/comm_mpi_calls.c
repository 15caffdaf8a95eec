/* comm_mpi_calls.c: see comm_mpi_calls.h. */
#define RSET_MPI_FILLS_THE_TABLE
#include "comm_mpi_calls.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define WEAK(name) extern __typeof__(name) name __attribute__((weak));
RSET_MPI_ALL(WEAK)

#ifndef OPEN_MPI /* only to see that Open MPI is in the process after all */
extern char ompi_mpi_comm_world __attribute__((weak));
#endif

#define IN_SIGHT(name) .name = &name,
struct rset_mpi_table rset_mpi = {RSET_MPI_ALL(IN_SIGHT)};

/* `world`: address of ompi_mpi_comm_world there. */
static bool
compiled_for(const void *world)
{
#ifdef OPEN_MPI
    return world != NULL;
#else
    return world == NULL;
#endif
}

static bool
in_sight(void)
{
    return &MPI_Initialized != NULL && &MPI_Finalized != NULL && &MPI_Comm_idup != NULL &&
           compiled_for(&ompi_mpi_comm_world);
}

/* ---- loaded privately ---- */

static int
is_libmpi(struct dl_phdr_info *info, size_t size, void *path_out)
{
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash != NULL ? slash + 1 : info->dlpi_name;

    (void)size;
    if (strncmp(name, "libmpi.so", 9) != 0 && strncmp(name, "libmpich.so", 11) != 0)
        return 0;
    *(char **)path_out = strdup(info->dlpi_name);
    return 1;
}

/* The library stays for good: its handle is not closed. `ours`: only the one that we were compiled for; else only another. */
static void *
private_library(bool ours)
{
    char *path = NULL;
    void *library;

    (void)dl_iterate_phdr(is_libmpi, &path);
    library = path != NULL ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    free(path);
    if (library == NULL)
        return NULL;
    if (compiled_for(dlsym(library, "ompi_mpi_comm_world")) == ours)
        return library;
    (void)dlclose(library);
    return NULL;
}

#define NEEDED(symbol) {#symbol, offsetof(struct rset_mpi_table, symbol), true},
#define MAY_BE(symbol) {#symbol, offsetof(struct rset_mpi_table, symbol), false},
static const struct {
    const char *name;
    size_t      at;
    bool        needed;
} places[] = {RSET_MPI_CALLS(NEEDED) RSET_MPI_OBJECTS(NEEDED) RSET_MPI_MAY_BE(MAY_BE)};

static bool
fill_table(void *library)
{
    struct rset_mpi_table found;
    bool                  complete = true;

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        void *symbol = dlsym(library, places[i].name);

        memcpy((char *)&found + places[i].at, &symbol, sizeof symbol);
        complete = complete && (symbol != NULL || !places[i].needed);
    }
    if (complete)
        rset_mpi = found;
    return complete;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool     filled;

void
rset_mpi_found_in_child(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

bool
rset_mpi_found(void)
{
    void *library;

    if (in_sight() || atomic_load(&filled))
        return true;
    (void)pthread_mutex_lock(&lock);
    if (!atomic_load(&filled) && (library = private_library(true)) != NULL)
        atomic_store(&filled, fill_table(library));
    (void)pthread_mutex_unlock(&lock);
    return atomic_load(&filled);
}

bool
rset_mpi_other_runs(void)
{
    int (*initialized)(int *) = &MPI_Initialized;
    int   flag = 0;
    void *library;

    if (rset_mpi_found())
        return false;
    if (initialized == NULL && (library = private_library(false)) != NULL) {
        void *symbol = dlsym(library, "MPI_Initialized");

        memcpy(&initialized, &symbol, sizeof symbol);
    }
    return initialized != NULL && initialized(&flag) == 0 && flag != 0;
}
