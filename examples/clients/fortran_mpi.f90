! fortran_mpi.f90 - Fortran, HDF5 and MPI, every rank with a file of its own: DIR/fortran.<rank>.h5
!
!     h5pfc -shlib fortran_mpi.f90 -o fortran_mpi           with a parallel HDF5
!     HDF5_FC=mpifort h5fc -shlib ...                       with a serial one; for such files either does
!     mpirun -n 4 fortran_mpi DIR write     a new file with three steps
!     mpirun -n 4 fortran_mpi DIR append    one more step in the file that is there
!     mpirun -n 4 fortran_mpi DIR read      are all steps as they were written?
!
! -shlib: without it Debian's h5fc and h5pfc link HDF5 statically, and a driver that is loaded brings a second
! HDF5 along. Each step is a dataset. What h5fclose_f returns counts: only then is the file complete, and,
! under a driver that protects files, protected.
program fortran_mpi
    use hdf5
    use mpi
    implicit none

    integer, parameter :: points = 20000
    character(len=1024) :: directory, command, name
    integer :: rank, steps, status, i
    integer(hid_t) :: file

    call MPI_Init(status)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, status)
    call h5open_f(status)
    call check(status, 'h5open_f')
    call get_command_argument(1, directory)
    call get_command_argument(2, command)
    write (name, '(a, "/fortran.", i0, ".h5")') trim(directory), rank

    select case (command)
    case ('write')
        call h5fcreate_f(trim(name), H5F_ACC_TRUNC_F, file, status)
        call check(status, name)
        do i = 1, 3
            call append()
        end do
    case ('append')
        call h5fopen_f(trim(name), H5F_ACC_RDWR_F, file, status)
        call check(status, name)
        call append()
    case ('read')
        call h5fopen_f(trim(name), H5F_ACC_RDONLY_F, file, status)
        call check(status, name)
        steps = steps_in()
        do i = 1, steps
            call verify(i)
        end do
        print '("rank ", i0, ": ", i0, " steps as written")', rank, steps
    case default
        call check(-1, 'usage: fortran_mpi DIR write|append|read')
    end select

    call h5fclose_f(file, status)
    call check(status, 'h5fclose_f')
    call h5close_f(status)
    call MPI_Finalize(status)

contains

    subroutine check(status, what)
        integer, intent(in) :: status
        character(len=*), intent(in) :: what
        integer :: ignored

        if (status >= 0) return
        write (*, '("rank ", i0, ": failed: ", a)') rank, trim(what)
        call MPI_Abort(MPI_COMM_WORLD, 1, ignored)
    end subroutine

    function values(step) result(u)
        integer, intent(in) :: step
        double precision :: u(points)
        integer :: k

        u = [(sin(dble(k) * (rank + 1)) + step, k=1, points)]
    end function

    function steps_in() result(n)
        integer :: n, storage, highest

        call h5gget_info_f(file, storage, n, highest, status)
        call check(status, 'h5gget_info_f')
    end function

    function dataset(step) result(text)
        integer, intent(in) :: step
        character(len=16) :: text

        write (text, '("step", i0)') step
    end function

    subroutine append()
        integer(hsize_t) :: dims(1) = [points]
        integer(hid_t) :: space, dset
        integer :: step

        step = steps_in() + 1
        call h5screate_simple_f(1, dims, space, status)
        call h5dcreate_f(file, trim(dataset(step)), H5T_NATIVE_DOUBLE, space, dset, status)
        call check(status, dataset(step))
        call h5dwrite_f(dset, H5T_NATIVE_DOUBLE, values(step), dims, status)
        call check(status, 'h5dwrite_f')
        call h5dclose_f(dset, status)
        call h5sclose_f(space, status)
    end subroutine

    subroutine verify(step)
        integer, intent(in) :: step
        integer(hsize_t) :: dims(1) = [points]
        double precision :: u(points)
        integer(hid_t) :: dset

        call h5dopen_f(file, trim(dataset(step)), dset, status)
        call check(status, dataset(step))
        call h5dread_f(dset, H5T_NATIVE_DOUBLE, u, dims, status)
        call check(status, 'h5dread_f')
        if (any(u /= values(step))) call check(-1, 'not what was written: '//dataset(step))
        call h5dclose_f(dset, status)
    end subroutine

end program
