/* preload_mpi.c: makes an MPI program of one that knows nothing of MPI, by LD_PRELOAD: MPI_Init before
 * its main, MPI_Finalize when main returns or ends the process, so before the exit handlers, as usual.
 * Children it forks stay without MPI, and so do programs it starts. Without RSET_TEST_PRELOAD_MPI in
 * the environment it does nothing. For nightly_hdf5_suite.sh. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

typedef int main_fn(int, char **, char **);
typedef int start_fn(main_fn *, int, char **, void (*)(void), void (*)(void), void (*)(void),
                     void *);

/* glibc's names, which no header declares */
start_fn __libc_start_main; // NOLINT(bugprone-reserved-identifier)

static main_fn *program;
static pid_t    mpi_process; /* 0: none */

static void
end_mpi(void)
{
    int ended = 0;

    if (mpi_process != getpid())
        return;
    mpi_process = 0;
    MPI_Finalized(&ended);
    if (!ended)
        MPI_Finalize();
}

static int
main_with_mpi(int argc, char **argv, char **envp)
{
    int status;

    if (getenv("RSET_TEST_PRELOAD_MPI") != NULL) {
        unsetenv("LD_PRELOAD");
        unsetenv("RSET_TEST_PRELOAD_MPI");
        if (MPI_Init(&argc, &argv) != MPI_SUCCESS)
            return EXIT_FAILURE;
        mpi_process = getpid();
    }
    status = program(argc, argv, envp);
    end_mpi();
    return status;
}

int
__libc_start_main(main_fn *main, int argc, char **argv, void (*init)(void), void (*fini)(void),
                  void (*rtld_fini)(void), void *stack_end)
{
    start_fn *start;

    *(void **)&start = dlsym(RTLD_NEXT, "__libc_start_main");
    program = main;
    return start(main_with_mpi, argc, argv, init, fini, rtld_fini, stack_end);
}

_Noreturn static void
really(const char *name, int status)
{
    void (*function)(int);

    end_mpi();
    *(void **)&function = dlsym(RTLD_NEXT, name);
    function(status);
    for (;;) /* for the compiler, which knows that these do not return */
        ;
}

void
exit(int status)
{
    really("exit", status);
}

void
_exit(int status)
{
    really("_exit", status);
}
