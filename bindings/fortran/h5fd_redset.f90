! h5fd_redset.f90 - the functions of H5FDredset.h for Fortran 2018. A program compiles this file with its own compiler:
!
!     mpifort $(pkg-config --variable=fortrandir hdf5_vfd_redset)/h5fd_redset.f90 program.f90 \
!         $(pkg-config --libs hdf5_vfd_redset)
!
! What each function, member and constant means is in H5FDredset.h; names are the same, and calls end with _f as those of
! HDF5. Identifiers are integer(hid_t) of module hdf5. `hdferr` is the value that the C function returns: negative on
! failure. Blanks at the end of a text are not part of it. A member that is a text is an array of characters:
! h5fd_redset_put_f writes it, h5fd_redset_text reads it.
module h5fd_redset
    use, intrinsic :: iso_c_binding
    implicit none
    private

    public :: h5fd_redset_config_t, h5fd_redset_stats_t, h5fd_redset_status_t, h5fd_redset_generation_t
    public :: h5fd_redset_text, h5fd_redset_put_f, h5fd_redset_comm_f
    public :: h5fd_redset_init_f, h5fd_redset_minor_f, h5fd_redset_config_init_f
    public :: h5pset_fapl_redset_f, h5pget_fapl_redset_f
    public :: h5fdredset_wait_f, h5fdredset_test_f, h5fdredset_stats_f, h5fdredset_status_f, h5fdredset_generations_f
    public :: h5fdredset_group_f, h5fdredset_commit_f, h5fdredset_label_f
    public :: h5fdredset_protect_files_f, h5fdredset_recover_files_f, h5fdredset_unprotect_files_f
    public :: h5fdredset_rename_f, h5fdredset_drop_f, h5fdredset_skip_f

    ! hid_t of HDF5 1.10 and later
    integer, parameter :: hid = c_int64_t

    character(*), parameter, public :: H5FD_REDSET_NAME = 'redset'
    integer, parameter, public :: H5FD_REDSET_GROUP_SIZE = 64, H5FD_REDSET_TEXT_SIZE = 1024
    integer, parameter, public :: H5FD_REDSET_GENERATION_SIZE = 264, H5FD_REDSET_LABEL_SIZE = 256
    integer(c_int), parameter, public :: H5FD_REDSET_CONFIG_MAGIC = int(z'52534554', c_int)
    integer(c_int), parameter, public :: H5FD_REDSET_CONFIG_VERSION = 2, H5FD_REDSET_KEEP_ALL = 0

    integer(c_int), parameter, public :: H5FD_REDSET_SINGLE = 0, H5FD_REDSET_PARTNER = 1
    integer(c_int), parameter, public :: H5FD_REDSET_XOR = 2, H5FD_REDSET_RS = 3
    integer(c_int), parameter, public :: H5FD_REDSET_VERIFY_OPEN = 0, H5FD_REDSET_VERIFY_READ = 1
    integer(c_int), parameter, public :: H5FD_REDSET_VERIFY_SIZE = 2, H5FD_REDSET_VERIFY_ALL = 3
    integer(c_int), parameter, public :: H5FD_REDSET_MOVED_YES = 0, H5FD_REDSET_MOVED_COPY = 1, H5FD_REDSET_MOVED_NO = 2
    integer(c_int), parameter, public :: H5FD_REDSET_CHANGED_RESTORE = 0, H5FD_REDSET_CHANGED_KEEP = 1
    integer(c_int), parameter, public :: H5FD_REDSET_COMMIT_CLOSE = 0, H5FD_REDSET_COMMIT_FLUSH = 1
    integer(c_int), parameter, public :: H5FD_REDSET_REASON_USAGE = 0, H5FD_REDSET_REASON_BUSY = 1
    integer(c_int), parameter, public :: H5FD_REDSET_REASON_DAMAGED = 2, H5FD_REDSET_REASON_PEER_MISSING = 3
    integer(c_int), parameter, public :: H5FD_REDSET_REASON_UNRECOVERABLE = 4, H5FD_REDSET_REASON_CHANGED = 5
    integer(c_int), parameter, public :: H5FD_REDSET_REASONS = 6
    integer(c_int), parameter, public :: H5FD_REDSET_DID_NOT_ASK = 0, H5FD_REDSET_DID_NOTHING = 1
    integer(c_int), parameter, public :: H5FD_REDSET_DID_COPY = 2, H5FD_REDSET_DID_MOVE = 3, H5FD_REDSET_DID_REBUILD = 4
    integer(c_int), parameter, public :: H5FD_REDSET_DID_FORWARD = 5, H5FD_REDSET_DID_BACK = 6
    integer(c_int), parameter, public :: H5FD_REDSET_DID_REFUSE = 7, H5FD_REDSET_DID_FALL_BACK = 8

    ! Settings. h5fd_redset_config_init_f fills in the defaults.
    type, bind(C) :: h5fd_redset_config_t
        integer(c_int) :: magic, version
        integer(c_size_t) :: size
        integer(c_intptr_t) :: comm ! of C: see h5fd_redset_comm_f
        integer(hid) :: fapl_id
        real(c_double) :: timeout
        integer(c_int) :: scheme, set_size, replicas, checksums, verify, required, atomic, readonly_rebuild
        integer(c_int) :: moved, keep, fallback, changed, commit, async
        character(kind=c_char) :: failure_group(H5FD_REDSET_GROUP_SIZE)
        character(kind=c_char), dimension(H5FD_REDSET_TEXT_SIZE) :: files, search, report, root, together
        character(kind=c_char) :: generation(H5FD_REDSET_GENERATION_SIZE)
        character(kind=c_char) :: job(H5FD_REDSET_LABEL_SIZE)
        integer(c_int) :: parity
        character(kind=c_char) :: team(H5FD_REDSET_LABEL_SIZE)
    end type

    ! What protection has cost this process. `size` is set by the calls that fill this and the following types.
    type, bind(C) :: h5fd_redset_stats_t
        integer(c_size_t) :: size
        integer(c_long_long) :: files_protected, bytes_protected, files_verified, bytes_verified
        integer(c_long_long) :: files_rebuilt, bytes_rebuilt, files_unprotected
        real(c_double) :: total, background, rendezvous, reading, arithmetic, sending, writing, syncing, waiting, other
    end type

    ! What is known of one file.
    type, bind(C) :: h5fd_redset_status_t
        integer(c_size_t) :: size
        integer(c_long_long) :: generation, commits
        integer(c_int) :: scheme, parity, ranks, is_protected, did
        integer(c_long_long) :: ranks_concerned, ranks_rebuilt
        character(kind=c_char) :: why(H5FD_REDSET_TEXT_SIZE)
        integer(c_long_long) :: time
        character(kind=c_char) :: label(H5FD_REDSET_LABEL_SIZE)
        integer(c_long_long) :: opened, opened_commits, opened_time
        character(kind=c_char) :: opened_label(H5FD_REDSET_LABEL_SIZE)
        character(kind=c_char) :: state(32)
    end type

    ! One generation of a file.
    type, bind(C) :: h5fd_redset_generation_t
        integer(c_size_t) :: size
        integer(c_long_long) :: generation, commits, time
        integer(c_int) :: scheme, parity, ranks, is_newest
        integer(c_long_long) :: file_size, bytes
        integer(c_int) :: is_here
        character(kind=c_char) :: label(H5FD_REDSET_LABEL_SIZE), why(H5FD_REDSET_TEXT_SIZE)
    end type

    ! The C functions. An optional argument that is not present is NULL.
    interface
        integer(c_int64_t) function c_init() bind(C, name='H5FD_redset_init')
            import :: c_int64_t
        end function

        integer(c_int64_t) function c_minor(reason) bind(C, name='H5FD_redset_minor')
            import :: c_int, c_int64_t
            integer(c_int), value :: reason
        end function

        subroutine c_config_fill(config, size) bind(C, name='H5FD_redset_config_fill')
            import :: c_size_t, h5fd_redset_config_t
            type(h5fd_redset_config_t), intent(out) :: config
            integer(c_size_t), value :: size
        end subroutine

        integer(c_int) function c_set_fapl(fapl_id, config) bind(C, name='H5Pset_fapl_redset')
            import :: c_int, c_int64_t, h5fd_redset_config_t
            integer(c_int64_t), value :: fapl_id
            type(h5fd_redset_config_t), intent(in), optional :: config
        end function

        integer(c_int) function c_get_fapl(fapl_id, config) bind(C, name='H5Pget_fapl_redset')
            import :: c_int, c_int64_t, h5fd_redset_config_t
            integer(c_int64_t), value :: fapl_id
            type(h5fd_redset_config_t), intent(inout) :: config
        end function

        integer(c_int) function c_wait(path) bind(C, name='H5FDredset_wait')
            import :: c_char, c_int
            character(kind=c_char), intent(in), optional :: path(*)
        end function

        integer(c_int) function c_test(path, done) bind(C, name='H5FDredset_test')
            import :: c_char, c_int
            character(kind=c_char), intent(in), optional :: path(*)
            integer(c_int), intent(out) :: done
        end function

        integer(c_int) function c_stats(path, stats) bind(C, name='H5FDredset_stats')
            import :: c_char, c_int, h5fd_redset_stats_t
            character(kind=c_char), intent(in), optional :: path(*)
            type(h5fd_redset_stats_t), intent(inout) :: stats
        end function

        integer(c_int) function c_status(path, status) bind(C, name='H5FDredset_status')
            import :: c_char, c_int, h5fd_redset_status_t
            character(kind=c_char), intent(in) :: path(*)
            type(h5fd_redset_status_t), intent(inout) :: status
        end function

        integer(c_int) function c_generations(path, list, n) bind(C, name='H5FDredset_generations')
            import :: c_char, c_int, c_size_t, h5fd_redset_generation_t
            character(kind=c_char), intent(in) :: path(*)
            type(h5fd_redset_generation_t), intent(inout) :: list(*)
            integer(c_size_t), intent(inout) :: n
        end function

        integer(c_int) function c_group(paths, n) bind(C, name='H5FDredset_group')
            import :: c_int, c_ptr, c_size_t
            type(c_ptr), intent(in) :: paths(*)
            integer(c_size_t), value :: n
        end function

        integer(c_int) function c_commit(file_id) bind(C, name='H5FDredset_commit')
            import :: c_int, c_int64_t
            integer(c_int64_t), value :: file_id
        end function

        integer(c_int) function c_label(file_id, text) bind(C, name='H5FDredset_label')
            import :: c_char, c_int, c_int64_t
            integer(c_int64_t), value :: file_id
            character(kind=c_char), intent(in) :: text(*)
        end function

        integer(c_int) function c_protect_files(paths, n, config) bind(C, name='H5FDredset_protect_files')
            import :: c_int, c_ptr, h5fd_redset_config_t
            type(c_ptr), intent(in) :: paths(*)
            integer(c_int), value :: n
            type(h5fd_redset_config_t), intent(in), optional :: config
        end function

        integer(c_int) function c_recover_files(paths, n, config) bind(C, name='H5FDredset_recover_files')
            import :: c_int, c_ptr, h5fd_redset_config_t
            type(c_ptr), intent(in) :: paths(*)
            integer(c_int), value :: n
            type(h5fd_redset_config_t), intent(in), optional :: config
        end function

        integer(c_int) function c_unprotect_files(paths, n, config) bind(C, name='H5FDredset_unprotect_files')
            import :: c_int, c_ptr, h5fd_redset_config_t
            type(c_ptr), intent(in) :: paths(*)
            integer(c_int), value :: n
            type(h5fd_redset_config_t), intent(in), optional :: config
        end function

        integer(c_int) function c_rename(old_path, new_path) bind(C, name='H5FDredset_rename')
            import :: c_char, c_int
            character(kind=c_char), intent(in) :: old_path(*), new_path(*)
        end function

        integer(c_int) function c_drop(path, generation) bind(C, name='H5FDredset_drop')
            import :: c_char, c_int, c_long_long
            character(kind=c_char), intent(in) :: path(*)
            integer(c_long_long), value :: generation
        end function

        integer(c_int) function c_skip(pattern) bind(C, name='H5FDredset_skip')
            import :: c_char, c_int
            character(kind=c_char), intent(in), optional :: pattern(*)
        end function

        type(c_funptr) function c_dlsym(handle, name) bind(C, name='dlsym')
            import :: c_char, c_funptr, c_ptr
            type(c_ptr), value :: handle
            character(kind=c_char), intent(in) :: name(*)
        end function
    end interface

    abstract interface
        integer(c_intptr_t) function f2c(comm) bind(C)
            import :: c_int, c_intptr_t
            integer(c_int), value :: comm
        end function
    end interface

contains

    ! ---- texts and communicators ----

    ! The text in a member of one of the types above.
    pure function h5fd_redset_text(chars) result(text)
        character(kind=c_char), intent(in) :: chars(:)
        character(:), allocatable :: text
        integer :: i, n

        n = findloc(chars == c_null_char, .true., dim=1) - 1
        if (n < 0) n = size(chars)
        allocate (character(n) :: text)
        do i = 1, n
            text(i:i) = chars(i)
        end do
    end function

    ! Writes a text into a member of config. hdferr is -1 if it is too long for the member, which is not changed then.
    subroutine h5fd_redset_put_f(chars, text, hdferr)
        character(kind=c_char), intent(inout) :: chars(:)
        character(*), intent(in) :: text
        integer, intent(out) :: hdferr
        integer :: i

        hdferr = -1
        if (len_trim(text) >= size(chars)) return
        chars = c_null_char
        do i = 1, len_trim(text)
            chars(i) = text(i:i)
        end do
        hdferr = 0
    end subroutine

    ! Sets the communicator of config. comm is that of module mpi; of module mpi_f08 it is comm%MPI_VAL.
    ! A communicator of C is a pointer in Open MPI, which MPI_Comm_f2c returns. In MPICH it is that same integer, and
    ! MPI_Comm_f2c may be a macro. Which MPI the program has is seen by a symbol: this file is compiled for either.
    subroutine h5fd_redset_comm_f(config, comm)
        type(h5fd_redset_config_t), intent(inout), target :: config
        integer, intent(in) :: comm
        procedure(f2c), pointer :: convert
        integer(c_int), pointer :: handle

        if (c_associated(c_dlsym(c_null_ptr, 'ompi_mpi_comm_null'//c_null_char))) then
            call c_f_procpointer(c_dlsym(c_null_ptr, 'MPI_Comm_f2c'//c_null_char), convert)
            config%comm = convert(int(comm, c_int))
        else
            config%comm = 0
            call c_f_pointer(c_loc(config%comm), handle)
            handle = int(comm, c_int)
        end if
    end subroutine

    pure function c_text(text)
        character(*), intent(in) :: text
        character(len=len_trim(text) + 1, kind=c_char) :: c_text

        c_text = trim(text)//c_null_char
    end function

    ! C's array of texts. `texts` keeps what the pointers lead to.
    subroutine c_paths(paths, texts, pointers)
        character(*), intent(in) :: paths(:)
        character(kind=c_char), intent(out), allocatable, target :: texts(:, :)
        type(c_ptr), intent(out), allocatable :: pointers(:)
        integer :: i, k

        allocate (texts(len(paths) + 1, size(paths)), pointers(size(paths)))
        texts = c_null_char
        do i = 1, size(paths)
            do k = 1, len_trim(paths(i))
                texts(k, i) = paths(i) (k:k)
            end do
            pointers(i) = c_loc(texts(1, i))
        end do
    end subroutine

    ! ---- the driver and its settings ----

    subroutine h5fd_redset_init_f(driver_id, hdferr)
        integer(hid), intent(out) :: driver_id
        integer, intent(out) :: hdferr

        driver_id = c_init()
        hdferr = merge(-1, 0, driver_id < 0)
    end subroutine

    subroutine h5fd_redset_minor_f(reason, minor_id, hdferr)
        integer, intent(in) :: reason
        integer(hid), intent(out) :: minor_id
        integer, intent(out) :: hdferr

        minor_id = c_minor(int(reason, c_int))
        hdferr = merge(-1, 0, minor_id < 0)
    end subroutine

    subroutine h5fd_redset_config_init_f(config)
        type(h5fd_redset_config_t), intent(out) :: config

        call c_config_fill(config, c_sizeof(config))
    end subroutine

    subroutine h5pset_fapl_redset_f(prp_id, hdferr, config)
        integer(hid), intent(in) :: prp_id
        integer, intent(out) :: hdferr
        type(h5fd_redset_config_t), intent(in), optional :: config

        hdferr = c_set_fapl(prp_id, config)
    end subroutine

    subroutine h5pget_fapl_redset_f(prp_id, config, hdferr)
        integer(hid), intent(in) :: prp_id
        type(h5fd_redset_config_t), intent(inout) :: config
        integer, intent(out) :: hdferr

        config%size = c_sizeof(config)
        hdferr = c_get_fapl(prp_id, config)
    end subroutine

    ! ---- what goes on, and what is known ----

    subroutine h5fdredset_wait_f(hdferr, path)
        integer, intent(out) :: hdferr
        character(*), intent(in), optional :: path

        if (present(path)) then
            hdferr = c_wait(c_text(path))
        else
            hdferr = c_wait()
        end if
    end subroutine

    subroutine h5fdredset_test_f(done, hdferr, path)
        logical, intent(out) :: done
        integer, intent(out) :: hdferr
        character(*), intent(in), optional :: path
        integer(c_int) :: c_done

        c_done = 0
        if (present(path)) then
            hdferr = c_test(c_text(path), c_done)
        else
            hdferr = c_test(done=c_done)
        end if
        done = c_done /= 0
    end subroutine

    subroutine h5fdredset_stats_f(stats, hdferr, path)
        type(h5fd_redset_stats_t), intent(inout) :: stats
        integer, intent(out) :: hdferr
        character(*), intent(in), optional :: path

        stats%size = c_sizeof(stats)
        if (present(path)) then
            hdferr = c_stats(c_text(path), stats)
        else
            hdferr = c_stats(stats=stats)
        end if
    end subroutine

    subroutine h5fdredset_status_f(path, status, hdferr)
        character(*), intent(in) :: path
        type(h5fd_redset_status_t), intent(inout) :: status
        integer, intent(out) :: hdferr

        status%size = c_sizeof(status)
        hdferr = c_status(c_text(path), status)
    end subroutine

    ! Fills list with the newest generations. n is how many there are, which may be more than list has room for.
    subroutine h5fdredset_generations_f(path, list, n, hdferr)
        character(*), intent(in) :: path
        type(h5fd_redset_generation_t), intent(inout) :: list(:)
        integer, intent(out) :: n, hdferr
        integer(c_size_t) :: count

        count = size(list, kind=c_size_t)
        if (count > 0) list(1)%size = c_sizeof(list(1))
        hdferr = c_generations(c_text(path), list, count)
        n = int(count)
    end subroutine

    ! ---- commits ----

    subroutine h5fdredset_group_f(paths, hdferr)
        character(*), intent(in) :: paths(:)
        integer, intent(out) :: hdferr
        character(kind=c_char), allocatable, target :: texts(:, :)
        type(c_ptr), allocatable :: pointers(:)

        call c_paths(paths, texts, pointers)
        hdferr = c_group(pointers, size(paths, kind=c_size_t))
    end subroutine

    subroutine h5fdredset_commit_f(file_id, hdferr)
        integer(hid), intent(in) :: file_id
        integer, intent(out) :: hdferr

        hdferr = c_commit(file_id)
    end subroutine

    subroutine h5fdredset_label_f(file_id, text, hdferr)
        integer(hid), intent(in) :: file_id
        character(*), intent(in) :: text
        integer, intent(out) :: hdferr

        hdferr = c_label(file_id, c_text(text))
    end subroutine

    ! ---- files that are not HDF5 ----

    subroutine h5fdredset_protect_files_f(paths, hdferr, config)
        character(*), intent(in) :: paths(:)
        integer, intent(out) :: hdferr
        type(h5fd_redset_config_t), intent(in), optional :: config
        character(kind=c_char), allocatable, target :: texts(:, :)
        type(c_ptr), allocatable :: pointers(:)

        call c_paths(paths, texts, pointers)
        hdferr = c_protect_files(pointers, size(paths, kind=c_int), config)
    end subroutine

    ! hdferr is 0 if all files are there, 1 if such files were never protected.
    subroutine h5fdredset_recover_files_f(paths, hdferr, config)
        character(*), intent(in) :: paths(:)
        integer, intent(out) :: hdferr
        type(h5fd_redset_config_t), intent(in), optional :: config
        character(kind=c_char), allocatable, target :: texts(:, :)
        type(c_ptr), allocatable :: pointers(:)

        call c_paths(paths, texts, pointers)
        hdferr = c_recover_files(pointers, size(paths, kind=c_int), config)
    end subroutine

    subroutine h5fdredset_unprotect_files_f(paths, hdferr, config)
        character(*), intent(in) :: paths(:)
        integer, intent(out) :: hdferr
        type(h5fd_redset_config_t), intent(in), optional :: config
        character(kind=c_char), allocatable, target :: texts(:, :)
        type(c_ptr), allocatable :: pointers(:)

        call c_paths(paths, texts, pointers)
        hdferr = c_unprotect_files(pointers, size(paths, kind=c_int), config)
    end subroutine

    ! ---- other names, older generations, ranks without files ----

    subroutine h5fdredset_rename_f(old_path, new_path, hdferr)
        character(*), intent(in) :: old_path, new_path
        integer, intent(out) :: hdferr

        hdferr = c_rename(c_text(old_path), c_text(new_path))
    end subroutine

    subroutine h5fdredset_drop_f(path, generation, hdferr)
        character(*), intent(in) :: path
        integer(c_long_long), intent(in) :: generation
        integer, intent(out) :: hdferr

        hdferr = c_drop(c_text(path), generation)
    end subroutine

    subroutine h5fdredset_skip_f(hdferr, pattern)
        integer, intent(out) :: hdferr
        character(*), intent(in), optional :: pattern

        if (present(pattern)) then
            hdferr = c_skip(c_text(pattern))
        else
            hdferr = c_skip()
        end if
    end subroutine

end module
