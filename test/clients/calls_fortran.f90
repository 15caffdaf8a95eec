! calls_fortran DIR CASE - every function of h5fd_redset.f90, on 4 ranks with files of their own in DIR. The cases are those
! of calls_h5py.py. Prints "rank N: CASE is right" when all is.
program calls_fortran
    use hdf5
    use h5fd_redset
    use mpi
    use, intrinsic :: iso_c_binding, only: c_int, c_int64_t
    implicit none

    integer, parameter :: points = 1000
    character(1024) :: directory, argument
    type(h5fd_redset_config_t) :: config
    integer :: rank, provided, status

    call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided, status)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, status)
    call h5open_f(status)
    call get_command_argument(1, directory)
    call get_command_argument(2, argument)
    call defaults(config)
    select case (argument)
    case ('write')
        call write_()
    case ('read')
        call read_()
    case ('rest')
        call rest()
        call plain_files()
    case ('errors')
        call errors()
    case default
        call check('usage: calls_fortran DIR write|read|rest|errors', .false.)
    end select
    print '("rank ", i0, ": ", a, " is right")', rank, trim(argument)
    call h5close_f(status)
    call MPI_Finalize(status)

contains

    subroutine check(what, right)
        character(*), intent(in) :: what
        logical, intent(in) :: right
        integer :: ignored

        if (right) return
        print '("rank ", i0, ": wrong: ", a)', rank, what
        call MPI_Abort(MPI_COMM_WORLD, 1, ignored)
    end subroutine

    function name(of, ending) result(path)
        character(*), intent(in) :: of
        character(*), intent(in), optional :: ending
        character(1024) :: path

        write (path, '(a, "/", a, ".", i0, ".")') trim(directory), of, rank
        if (present(ending)) then
            path = trim(path)//ending
        else
            path = trim(path)//'h5'
        end if
    end function

    subroutine defaults(config)
        type(h5fd_redset_config_t), intent(out) :: config

        call h5fd_redset_config_init_f(config)
        call check('defaults', config%scheme == H5FD_REDSET_XOR .and. config%timeout > 299d0)
        config%scheme = H5FD_REDSET_RS
        config%keep = 3
        config%timeout = 60
    end subroutine

    function access_to(config) result(fapl)
        type(h5fd_redset_config_t), intent(in) :: config
        integer(hid_t) :: fapl

        call h5pcreate_f(H5P_FILE_ACCESS_F, fapl, status)
        call h5pset_fapl_redset_f(fapl, status, config)
        call check('h5pset_fapl_redset_f', status >= 0)
    end function

    function values(n) result(u)
        integer, intent(in) :: n
        integer :: u(points), k

        u = [(k*(rank + 1) + n, k=1, points)]
    end function

    function dataset(n) result(text)
        integer, intent(in) :: n
        character(8) :: text

        write (text, '("u", i0)') n
    end function

    ! A file that is protected as often as that, the last time at its close.
    subroutine create(of, commits, config)
        character(*), intent(in) :: of
        integer, intent(in) :: commits
        type(h5fd_redset_config_t), intent(in) :: config
        integer(hid_t) :: fapl, file, space, dset
        integer(hsize_t) :: dims(1) = [points]
        integer :: n

        fapl = access_to(config)
        call h5fcreate_f(trim(name(of)), H5F_ACC_TRUNC_F, file, status, access_prp=fapl)
        call check('h5fcreate_f', status >= 0)
        do n = 0, commits - 1
            if (n > 0) then
                call h5fdredset_commit_f(file, status)
                call check('commit', status >= 0)
            end if
            call h5screate_simple_f(1, dims, space, status)
            call h5dcreate_f(file, trim(dataset(n)), H5T_NATIVE_INTEGER, space, dset, status)
            call h5dwrite_f(dset, H5T_NATIVE_INTEGER, values(n), dims, status)
            call check('h5dwrite_f', status >= 0)
            call h5dclose_f(dset, status)
            call h5sclose_f(space, status)
            call h5fdredset_label_f(file, 'commit '//dataset(n), status)
            call check('label', status >= 0)
        end do
        call h5fclose_f(file, status)
        call check('h5fclose_f', status >= 0)
        call h5pclose_f(fapl, status)
    end subroutine

    function told(path) result(s)
        character(*), intent(in) :: path
        type(h5fd_redset_status_t) :: s

        call h5fdredset_status_f(path, s, status)
        call check('status', status >= 0)
    end function

    logical function is_protected(path)
        character(*), intent(in) :: path
        type(h5fd_redset_status_t) :: s

        s = told(path)
        is_protected = s%is_protected == 1
    end function

    subroutine write_()
        type(h5fd_redset_config_t) :: found
        type(h5fd_redset_status_t) :: s
        type(h5fd_redset_stats_t) :: stats, all_stats
        integer(hid_t) :: fapl, of_fapl, driver
        integer :: mine

        call MPI_Comm_dup(MPI_COMM_WORLD, mine, status)
        call h5fd_redset_comm_f(config, mine)
        call h5fd_redset_put_f(config%files, 'data.*', status)
        call check('put', status == 0)
        call create('data', 2, config)

        fapl = access_to(config)
        call h5pget_fapl_redset_f(fapl, found, status)
        call check('h5pget_fapl_redset_f', status >= 0 .and. found%scheme == config%scheme .and. found%keep == 3)
        call check('text of the settings', h5fd_redset_text(found%files) == 'data.*')
        call h5fd_redset_init_f(driver, status)
        call h5pget_driver_f(fapl, of_fapl, status)
        call check('driver', driver == of_fapl)
        call h5pclose_f(fapl, status)

        s = told(name('data'))
        call check('status', s%scheme == H5FD_REDSET_RS .and. s%parity == 2 .and. s%ranks == 4 .and. s%is_protected == 1)
        call check('status, texts', h5fd_redset_text(s%label) == 'commit u1' .and. h5fd_redset_text(s%why) == '')
        call h5fdredset_stats_f(stats, status, name('data'))
        call check('stats', status >= 0 .and. stats%files_protected == 2 .and. stats%total > 0)
        call h5fdredset_stats_f(all_stats, status)
        call check('stats of all', status >= 0 .and. all_stats%files_protected == 2)
        call MPI_Comm_free(mine, status)

        call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, mine, status)
        call defaults(config)
        config%scheme = H5FD_REDSET_XOR
        call h5fd_redset_comm_f(config, mine)
        call create('pair', 1, config)
        s = told(name('pair'))
        call check('ranks of a communicator', s%ranks == 2)
        call MPI_Comm_free(mine, status)
    end subroutine

    subroutine read_()
        integer(hid_t) :: fapl, file, dset
        integer(hsize_t) :: dims(1) = [points]
        integer :: u(points), n
        type(h5fd_redset_status_t) :: s

        fapl = access_to(config)
        call h5fopen_f(trim(name('data')), H5F_ACC_RDONLY_F, file, status, access_prp=fapl)
        call check('h5fopen_f', status >= 0)
        do n = 0, 1
            call h5dopen_f(file, trim(dataset(n)), dset, status)
            call h5dread_f(dset, H5T_NATIVE_INTEGER, u, dims, status)
            call check('content', status >= 0 .and. all(u == values(n)))
            call h5dclose_f(dset, status)
        end do
        call h5fclose_f(file, status)
        call h5pclose_f(fapl, status)
        s = told(name('data'))
        call check('status after a loss', s%ranks_rebuilt == 1 .and. &
            s%did == merge(H5FD_REDSET_DID_REBUILD, H5FD_REDSET_DID_NOTHING, rank == 2))
    end subroutine

    subroutine rest()
        type(h5fd_redset_generation_t) :: list(8)
        integer :: n
        logical :: done
        type(h5fd_redset_status_t) :: s

        call create('older', 2, config)
        call h5fdredset_generations_f(name('older'), list, n, status)
        call check('generations', status >= 0 .and. n == 2 .and. list(1)%is_newest == 1 .and. list(2)%is_newest == 0)
        call check('their labels', h5fd_redset_text(list(2)%label) == 'commit u0')
        call h5fdredset_drop_f(name('older'), list(2)%generation, status)
        call check('drop', status >= 0)
        call h5fdredset_generations_f(name('older'), list(:0), n, status)
        call check('dropped', status >= 0 .and. n == 1)
        call h5fdredset_rename_f(name('older'), name('other'), status)
        call check('rename', status >= 0 .and. is_protected(name('other')))

        call h5fdredset_group_f([name('a'), name('b')], status)
        call check('group', status >= 0)
        call create('a', 1, config)
        call check('group, one of two', .not. is_protected(name('a')))
        call create('b', 1, config)
        call check('group, both', is_protected(name('a')) .and. is_protected(name('b')))

        config%async = 1
        call create('behind', 1, config)
        config%async = 0
        call h5fdredset_wait_f(status, name('behind'))
        call check('wait', status >= 0 .and. is_protected(name('behind')))
        call h5fdredset_test_f(done, status, name('behind'))
        call check('test', status >= 0 .and. done)
        call h5fdredset_wait_f(status)
        call check('wait for all', status >= 0)
        call h5fdredset_test_f(done, status)
        call check('test of all', status >= 0 .and. done)

        call h5fdredset_skip_f(status)
        call check('skip nothing', status >= 0)
        if (rank == 3) then
            call h5fdredset_skip_f(status, 'odd.*.h5')
            call check('skip', status >= 0)
        else
            call create('odd', 1, config)
            s = told(name('odd'))
            call check('without who skips', s%ranks == 3)
        end if
    end subroutine

    subroutine plain_files()
        character(1024) :: paths(2)
        integer :: unit, n, value

        paths = [name('plain', 'txt'), name('more', 'txt')]
        call h5fdredset_recover_files_f(paths, status, config)
        call check('recover_files, never protected', status == 1)
        do n = 1, 2
            open (newunit=unit, file=paths(n), status='replace')
            write (unit, *) rank*10 + n
            close (unit)
        end do
        call h5fdredset_protect_files_f(paths, status, config)
        call check('protect_files', status >= 0)
        if (rank == 1) then
            open (newunit=unit, file=paths(2))
            close (unit, status='delete')
        end if
        call h5fdredset_recover_files_f(paths, status, config)
        call check('recover_files', status == 0)
        open (newunit=unit, file=paths(2), status='old')
        read (unit, *) value
        close (unit)
        call check('recover_files, content', value == rank*10 + 2)
        call h5fdredset_unprotect_files_f(paths, status)
        call check('unprotect_files', status >= 0)
        call h5fdredset_recover_files_f(paths, status)
        call check('unprotected', status == 1)
    end subroutine

    subroutine errors()
        integer(hid_t) :: fapl, minors(0:H5FD_REDSET_REASONS)
        integer :: k

        call h5eset_auto_f(0, status) ! prints nothing
        call h5fd_redset_put_f(config%job, repeat('x', H5FD_REDSET_LABEL_SIZE), status)
        call check('a text that is too long', status < 0 .and. h5fd_redset_text(config%job) == '')
        call h5fd_redset_put_f(config%job, repeat('x', H5FD_REDSET_LABEL_SIZE - 1), status)
        call check('the longest text', status == 0 .and. len(h5fd_redset_text(config%job)) == H5FD_REDSET_LABEL_SIZE - 1)
        config%scheme = 77
        call h5pcreate_f(H5P_FILE_ACCESS_F, fapl, status)
        call h5pset_fapl_redset_f(fapl, status, config)
        call check('a wrong setting', status < 0)
        call h5pget_fapl_redset_f(fapl, config, status)
        call check('a property list without the driver', status < 0)
        call h5pset_fapl_redset_f(fapl, status)
        call check('the defaults', status >= 0)
        do k = 0, H5FD_REDSET_REASONS
            call h5fd_redset_minor_f(k, minors(k), status)
            call check('minor', (status >= 0) .eqv. (k < H5FD_REDSET_REASONS))
        end do
        call check('minors differ', all(minors(1:5) /= minors(0:4)))
    end subroutine

end program
