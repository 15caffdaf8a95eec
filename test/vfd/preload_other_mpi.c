/* preload_other_mpi.c: an MPI library, as far as anybody can see, of another kind than the one that the plugin was built
 * for: it has none of the objects that Open MPI's header names. For LD_PRELOAD, or to be loaded by serial_private. */

static int started, ended;

int MPI_Init(int *argc, char ***argv);
int MPI_Initialized(int *flag);
int MPI_Finalized(int *flag);
int MPI_Finalize(void);

int
MPI_Init(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    started = 1;
    return 0;
}

int
MPI_Initialized(int *flag)
{
    *flag = started;
    return 0;
}

int
MPI_Finalized(int *flag)
{
    *flag = ended;
    return 0;
}

int
MPI_Finalize(void)
{
    ended = 1;
    return 0;
}
