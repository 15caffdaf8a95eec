/* comm_mpi_weak.h: included after mpi.h, declares weak what comm_mpi*.c use of it.
 *
 * A shared library made of this loads in a process without MPI; there the addresses are NULL, and
 * rset_mpi_usable says so before anything is called. Whoever uses one more MPI symbol adds it here:
 * `nm -u` on the object shows those of the implementation behind the macros. */
#ifndef RSET_COMM_MPI_WEAK_H
#define RSET_COMM_MPI_WEAK_H

#ifndef MPI_VERSION
#error "include mpi.h first"
#endif

#pragma weak MPI_Cancel
#pragma weak MPI_Comm_create_keyval
#pragma weak MPI_Comm_free
#pragma weak MPI_Comm_get_attr
#pragma weak MPI_Comm_get_errhandler
#pragma weak MPI_Comm_group
#pragma weak MPI_Comm_idup
#pragma weak MPI_Comm_rank
#pragma weak MPI_Comm_set_attr
#pragma weak MPI_Comm_set_errhandler
#pragma weak MPI_Comm_size
#pragma weak MPI_Comm_test_inter
#pragma weak MPI_Errhandler_free
#pragma weak MPI_Error_string
#pragma weak MPI_Finalized
#pragma weak MPI_Get_count
#pragma weak MPI_Group_free
#pragma weak MPI_Group_size
#pragma weak MPI_Group_translate_ranks
#pragma weak MPI_Initialized
#pragma weak MPI_Iprobe
#pragma weak MPI_Irecv
#pragma weak MPI_Is_thread_main
#pragma weak MPI_Isend
#pragma weak MPI_Query_thread
#pragma weak MPI_Request_free
#pragma weak MPI_Test
#pragma weak MPI_Testsome

#ifdef OMPI_HAVE_MPIX_COMM_GET_FAILED /* mpi-ext.h */
#pragma weak MPIX_Comm_get_failed
#pragma weak MPIX_Comm_is_revoked
#endif

#ifdef OPEN_MPI /* its constants are addresses of objects */
#pragma weak ompi_mpi_byte
#pragma weak ompi_mpi_comm_null
#pragma weak ompi_mpi_comm_self
#pragma weak ompi_mpi_comm_world
#pragma weak ompi_mpi_errors_return
#pragma weak ompi_request_null
#pragma weak OMPI_C_MPI_COMM_NULL_COPY_FN
#else /* only to see that Open MPI is in the process after all */
extern char ompi_mpi_comm_world;
#pragma weak ompi_mpi_comm_world
#endif

#endif
