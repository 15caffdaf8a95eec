/* comm_mpi_calls.h: included last, lets comm_mpi*.c use MPI by its usual names in a process that may have none.
 *
 * The plugin does not link MPI: it loads in a process without. The names stand for places in a table, which
 * is filled from weak symbols where the MPI of the process is in sight of the plugin. Often it is not: Python
 * loads what it imports privately (RTLD_LOCAL), so a serial HDF5 under h5py does not see the MPI of mpi4py,
 * and may be loaded first. Then the table is filled from the MPI library that is found in the process.
 * rset_mpi_found says whether there is one, and is asked before anything is called.
 *
 * Whoever uses one more MPI symbol adds it here, in two places: `nm -u` on the object shows those of the
 * implementation behind the macros. */
#ifndef RSET_COMM_MPI_CALLS_H
#define RSET_COMM_MPI_CALLS_H

#include <mpi.h>
#include <stdbool.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#define RSET_MPI_CALLS(X)                                                                          \
    X(MPI_Cancel)                                                                                  \
    X(MPI_Comm_create_keyval)                                                                      \
    X(MPI_Comm_get_attr)                                                                           \
    X(MPI_Comm_get_errhandler)                                                                     \
    X(MPI_Comm_group)                                                                              \
    X(MPI_Comm_idup)                                                                               \
    X(MPI_Comm_rank)                                                                               \
    X(MPI_Comm_set_attr)                                                                           \
    X(MPI_Comm_set_errhandler)                                                                     \
    X(MPI_Comm_size)                                                                               \
    X(MPI_Comm_test_inter)                                                                         \
    X(MPI_Errhandler_free)                                                                         \
    X(MPI_Error_string)                                                                            \
    X(MPI_Finalized)                                                                               \
    X(MPI_Get_count)                                                                               \
    X(MPI_Group_free)                                                                              \
    X(MPI_Group_size)                                                                              \
    X(MPI_Group_translate_ranks)                                                                   \
    X(MPI_Initialized)                                                                             \
    X(MPI_Iprobe)                                                                                  \
    X(MPI_Irecv)                                                                                   \
    X(MPI_Is_thread_main)                                                                          \
    X(MPI_Isend)                                                                                   \
    X(MPI_Query_thread)                                                                            \
    X(MPI_Request_free)                                                                            \
    X(MPI_Test)                                                                                    \
    X(MPI_Testsome)

#ifdef OPEN_MPI /* its constants are addresses of objects */
#define RSET_MPI_OBJECTS(X)                                                                        \
    X(ompi_mpi_byte)                                                                               \
    X(ompi_mpi_comm_null)                                                                          \
    X(ompi_mpi_comm_self)                                                                          \
    X(ompi_mpi_comm_world)                                                                         \
    X(ompi_mpi_errors_return)                                                                      \
    X(ompi_request_null)                                                                           \
    X(OMPI_C_MPI_COMM_NULL_COPY_FN)
#else
#define RSET_MPI_OBJECTS(X)
#endif

#ifdef OMPI_HAVE_MPIX_COMM_GET_FAILED /* may be missing from the library all the same */
#define RSET_MPI_MAY_BE(X) X(MPIX_Comm_get_failed) X(MPIX_Comm_is_revoked)
#else
#define RSET_MPI_MAY_BE(X)
#endif

#ifdef OPEN_MPI
#define RSET_MPI_ENDING(X)
#else /* comm_mpi_ending.c */
#define RSET_MPI_ENDING(X) X(MPI_Finalize) X(PMPI_Finalize)
#endif

#define RSET_MPI_ALL(X) RSET_MPI_CALLS(X) RSET_MPI_OBJECTS(X) RSET_MPI_MAY_BE(X) RSET_MPI_ENDING(X)

#define RSET_MPI_PLACE(name) __typeof__(name) *name;
struct rset_mpi_table {
    RSET_MPI_ALL(RSET_MPI_PLACE)
};
extern struct rset_mpi_table rset_mpi;

/* Is there an MPI library in the process, and the one we were compiled for? False may become true later. */
bool rset_mpi_found(void);

/* In a child that was just forked: other threads, which are not here, may have been in the middle of rset_mpi_found. */
void rset_mpi_found_in_child(void);

/* Has the process started another MPI than the one we were compiled for? Its calls take other handles than ours: of them
 * only MPI_Initialized is called, which takes none. */
bool rset_mpi_other_runs(void);

#ifndef RSET_MPI_FILLS_THE_TABLE
#define MPI_Cancel                   rset_mpi.MPI_Cancel
#define MPI_Comm_create_keyval       rset_mpi.MPI_Comm_create_keyval
#define MPI_Comm_get_attr            rset_mpi.MPI_Comm_get_attr
#define MPI_Comm_get_errhandler      rset_mpi.MPI_Comm_get_errhandler
#define MPI_Comm_group               rset_mpi.MPI_Comm_group
#define MPI_Comm_idup                rset_mpi.MPI_Comm_idup
#define MPI_Comm_rank                rset_mpi.MPI_Comm_rank
#define MPI_Comm_set_attr            rset_mpi.MPI_Comm_set_attr
#define MPI_Comm_set_errhandler      rset_mpi.MPI_Comm_set_errhandler
#define MPI_Comm_size                rset_mpi.MPI_Comm_size
#define MPI_Comm_test_inter          rset_mpi.MPI_Comm_test_inter
#define MPI_Errhandler_free          rset_mpi.MPI_Errhandler_free
#define MPI_Error_string             rset_mpi.MPI_Error_string
#define MPI_Finalize                 rset_mpi.MPI_Finalize
#define MPI_Finalized                rset_mpi.MPI_Finalized
#define MPI_Get_count                rset_mpi.MPI_Get_count
#define MPI_Group_free               rset_mpi.MPI_Group_free
#define MPI_Group_size               rset_mpi.MPI_Group_size
#define MPI_Group_translate_ranks    rset_mpi.MPI_Group_translate_ranks
#define MPI_Initialized              rset_mpi.MPI_Initialized
#define MPI_Iprobe                   rset_mpi.MPI_Iprobe
#define MPI_Irecv                    rset_mpi.MPI_Irecv
#define MPI_Is_thread_main           rset_mpi.MPI_Is_thread_main
#define MPI_Isend                    rset_mpi.MPI_Isend
#define MPI_Query_thread             rset_mpi.MPI_Query_thread
#define MPI_Request_free             rset_mpi.MPI_Request_free
#define MPI_Test                     rset_mpi.MPI_Test
#define MPI_Testsome                 rset_mpi.MPI_Testsome
#define PMPI_Finalize                rset_mpi.PMPI_Finalize
#define MPIX_Comm_get_failed         rset_mpi.MPIX_Comm_get_failed
#define MPIX_Comm_is_revoked         rset_mpi.MPIX_Comm_is_revoked
#define ompi_mpi_byte                (*rset_mpi.ompi_mpi_byte)
#define ompi_mpi_comm_null           (*rset_mpi.ompi_mpi_comm_null)
#define ompi_mpi_comm_self           (*rset_mpi.ompi_mpi_comm_self)
#define ompi_mpi_comm_world          (*rset_mpi.ompi_mpi_comm_world)
#define ompi_mpi_errors_return       (*rset_mpi.ompi_mpi_errors_return)
#define ompi_request_null            (*rset_mpi.ompi_request_null)
#define OMPI_C_MPI_COMM_NULL_COPY_FN rset_mpi.OMPI_C_MPI_COMM_NULL_COPY_FN
#endif

#endif
