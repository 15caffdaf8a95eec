/* test_vfd_faults.c: the driver in a process without MPI, when a file call or an allocation of ours fails, once
 * or from then on. Each operation fails or does what it should; and the next one, when nothing fails
 * any more, finds the content that was protected or the one that was written, rebuilt where it is lost.
 *
 * Operations run in children: a close that fails leaves an HDF5 behind that cannot be used again. */
#include "H5FDredset.h"
#include "alloc.h"
#include "every.h"
#include "vfd_files.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { OLD = 1000000, NEW = 2000000 };
enum { LOOKS_IN_A_ROW = 4 };
enum { PATIENCE = 20, MOST = 2000, HURRY = 1000, TOLD = 100 };

/* What a child tells of what it read or did. */
typedef enum { SAW_OLD, SAW_NEW, REFUSED, OTHER } verdict;

typedef enum { CALL_ONCE, CALLS_FOR_EVER, MEMORY_ONCE, LOWER_ONCE, LOOKS, KINDS } fault_kind;
static const char *const kind_names[] = {"a call fails", "calls fail from then on",
                                         "no memory once", "a call of HDF5's own driver fails",
                                         "looks of the driver's at a name fail"};

static struct shared {
    atomic_int left; /* calls or allocations until one fails; < 0: it has happened, or none shall */
    atomic_bool hit;
} * shared;
static fault_kind kind = KINDS; /* none */

static hid_t fapl, sec2;

/* LeakSanitizer asks: HDF5 keeps what belongs to a file that cannot be closed. */
int __lsan_is_turned_off(void) __attribute__((visibility("default")));
int
__lsan_is_turned_off(void)
{
    return 1;
}

/* ---- faults ---- */

static bool
fails(fault_kind one)
{
    int  left;
    bool now;

    if (shared == NULL || kind == KINDS || (kind == CALLS_FOR_EVER ? CALL_ONCE : kind) != one)
        return false;
    left = atomic_fetch_sub(&shared->left, 1);
    if (left == 0)
        shared->hit = true;
    now = left == 0 || (left < 0 && kind == CALLS_FOR_EVER) ||
          (left < 0 && left > -LOOKS_IN_A_ROW && kind == LOOKS);
    errno = now ? EIO : errno;
    return now;
}

/* In the place of the C library's, for the engine: once something has failed, clocks run HURRY times as fast. A
 * member of a set that cannot even say that it failed makes the others wait for five minutes. */
int
clock_gettime(clockid_t id, struct timespec *out)
{
    static _Atomic int64_t since;
    int64_t                none = 0, t;
    int                    rc = (int)syscall(SYS_clock_gettime, id, out);

    if (rc != 0 || id != CLOCK_MONOTONIC || shared == NULL || !shared->hit)
        return rc;
    t = (int64_t)out->tv_sec * 1000000000 + out->tv_nsec;
    (void)atomic_compare_exchange_strong(&since, &none, t);
    t = since + (t - since) * HURRY;
    out->tv_sec = t / 1000000000;
    out->tv_nsec = t % 1000000000;
    return rc;
}

#define FAILING(type, call, bad, parameters, ...)                                                  \
    static type failing_##call parameters                                                          \
    {                                                                                              \
        return fails(CALL_ONCE) ? (bad) : rset_sys_posix.call(__VA_ARGS__);                        \
    }
FAILING(int, openat, -1, (int dir, const char *name, int flags, mode_t mode), dir, name, flags,
        mode)
FAILING(ssize_t, pread, -1, (int fd, void *buf, size_t len, off_t off), fd, buf, len, off)
FAILING(ssize_t, pwrite, -1, (int fd, const void *buf, size_t len, off_t off), fd, buf, len, off)
FAILING(int, ftruncate, -1, (int fd, off_t len), fd, len)
FAILING(int, fsync, -1, (int fd), fd)
FAILING(int, fstat, -1, (int fd, struct stat *st), fd, st)
FAILING(int, fstatat, -1, (int dir, const char *name, struct stat *st, int flags), dir, name, st,
        flags)
FAILING(int, renameat, -1, (int a, const char *from, int b, const char *to), a, from, b, to)
FAILING(int, unlinkat, -1, (int dir, const char *name, int flags), dir, name, flags)
FAILING(DIR *, fdopendir, NULL, (int fd), fd)

static void
use_failing_calls(void)
{
    static rset_sys sys;

    sys = rset_sys_posix;
    sys.openat = failing_openat;
    sys.pread = failing_pread;
    sys.pwrite = failing_pwrite;
    sys.ftruncate = failing_ftruncate;
    sys.fsync = failing_fsync;
    sys.fstat = failing_fstat;
    sys.fstatat = failing_fstatat;
    sys.renameat = failing_renameat;
    sys.unlinkat = failing_unlinkat;
    sys.fdopendir = failing_fdopendir;
    rset_sys_use(&sys);
}

/* HDF5 calls these names, and the engine does not. */
#define FOR_HDF5 __attribute__((visibility("default")))

/* Under both names: an HDF5 that was compiled for large files calls those with 64. Where it does not, the engine
 * calls the same as HDF5, and fails with it. */
#define LOWER(type, name, number, parameters, ...)                                                 \
    FOR_HDF5 type name parameters                                                                  \
    {                                                                                              \
        return fails(LOWER_ONCE) ? -1 : (type)syscall(number, __VA_ARGS__);                        \
    }
LOWER(ssize_t, pread, SYS_pread64, (int fd, void *buf, size_t n, off_t off), fd, buf, n, off)
LOWER(ssize_t, pread64, SYS_pread64, (int fd, void *buf, size_t n, off64_t off), fd, buf, n, off)
LOWER(ssize_t, pwrite, SYS_pwrite64, (int fd, const void *buf, size_t n, off_t off), fd, buf, n,
      off)
LOWER(ssize_t, pwrite64, SYS_pwrite64, (int fd, const void *buf, size_t n, off64_t off), fd, buf, n,
      off)
LOWER(int, ftruncate, SYS_ftruncate, (int fd, off_t len), fd, len)
LOWER(int, ftruncate64, SYS_ftruncate, (int fd, off64_t len), fd, len)

FOR_HDF5 int
open64(const char *name, int flags, ...)
{
    va_list args;
    mode_t  mode;

    va_start(args, flags);
    mode = (flags & O_CREAT) != 0 ? va_arg(args, mode_t) : 0;
    va_end(args);
    return fails(LOWER_ONCE) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, name, flags, mode);
}

/* The driver's own looks at names go through these: the linker puts them in the place of its calls (NAME.wrap). */
#define LOOK(type, call, bad, parameters, ...)                                                     \
    type __real_##call parameters;                                                                 \
    type __wrap_##call parameters;                                                                 \
    type __wrap_##call parameters                                                                  \
    {                                                                                              \
        return fails(LOOKS) ? (bad) : __real_##call(__VA_ARGS__);                                  \
    }
LOOK(char *, realpath, NULL, (const char *name, char *out), name, out)
LOOK(ssize_t, readlink, -1, (const char *name, char *out, size_t n), name, out, n)
LOOK(int, stat, -1, (const char *name, struct stat *st), name, st)
LOOK(int, lstat, -1, (const char *name, struct stat *st), name, st)

static bool
memory_fails(void)
{
    return fails(MEMORY_ONCE);
}

/* ---- what is done with the file ---- */

static verdict
read_values(hid_t file)
{
    int   data[VALUES] = {0}, want[VALUES];
    hid_t set = H5Dopen2(file, "d", H5P_DEFAULT);
    bool  ok = set >= 0 && H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;

    if (set >= 0)
        H5Dclose(set);
    if (!ok)
        return REFUSED;
    values(want, OLD);
    if (memcmp(data, want, sizeof data) == 0)
        return SAW_OLD;
    values(want, NEW);
    return memcmp(data, want, sizeof data) == 0 ? SAW_NEW : OTHER;
}

static verdict
do_read(const char *path)
{
    hid_t   file = H5Fopen(path, H5F_ACC_RDONLY, fapl);
    verdict v = file >= 0 ? read_values(file) : REFUSED;

    if (file >= 0)
        H5Fclose(file);
    return v;
}

static verdict
do_change(const char *path)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, fapl);
    bool  ok = file >= 0 && write_values(file, NEW);

    if (file >= 0)
        ok = H5Fclose(file) >= 0 && ok;
    return ok ? SAW_NEW : REFUSED;
}

static verdict
do_create(const char *path)
{
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    bool  ok = file >= 0 && write_values(file, NEW);

    if (file >= 0)
        ok = H5Fclose(file) >= 0 && ok;
    return ok ? SAW_NEW : REFUSED;
}

static verdict
do_delete(const char *path)
{
    return H5Fdelete(path, fapl) >= 0 ? SAW_OLD : REFUSED;
}

static const struct operation {
    const char *name;
    verdict (*run)(const char *path);
    bool lost, garbled;
    bool may_write; /* the new content may be there afterwards */
    bool by_link; /* the name is a symbolic link's; what does not write leaves the file protected */
} operations[] = {
    {"read", do_read, false, false, false, false},
    {"read what is lost", do_read, true, false, false, false},
    {"read what is garbled", do_read, false, true, false, false},
    {"change", do_change, false, false, true, false},
    {"change what is lost", do_change, true, false, true, false},
    {"create anew", do_create, false, false, true, false},
    {"create what is lost", do_create, true, false, true, false},
    {"read by a link", do_read, false, false, false, true},
    {"change by a link", do_change, false, false, true, true},
    {"delete a link", do_delete, false, false, false, true},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

/* ---- files, children ---- */

static verdict
in_child(verdict (*run)(const char *path), const char *path, const char *what)
{
    int   status = 0;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int quiet = open("/dev/null", O_WRONLY);

        dup2(quiet, STDERR_FILENO); /* that nobody protects the file, for one */
        alarm(PATIENCE);
        status = TOLD + (int)run(path);
        kind = KINDS; /* what HDF5 closes at exit is not looked at */
        exit(status);
    }
    assert_true(waitpid(pid, &status, 0) == pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) < TOLD)
        fail_msg("%s: ended by signal %d, or with status %d", what, WTERMSIG(status),
                 WEXITSTATUS(status));
    return (verdict)(WEXITSTATUS(status) - TOLD);
}

/* The name that the operation is given: the file's, or that of a link to it. */
static const char *
name_for(const scene *s, const struct operation *op)
{
    return op->by_link ? path_of("%s/link.h5", s->base) : s->paths[0];
}

static void
prepare(const scene *s, const struct operation *op)
{
    remove_tree(s->base);
    image_put(&s->image, s->base, NULL);
    if (op->by_link)
        assert_int_equal(symlink(s->paths[0], name_for(s, op)), 0);
    if (op->garbled)
        flip_bit(s->paths[0], s->image.at[0].size / 2);
    if (op->lost)
        remove_tree(path_of("%s/node0", s->base));
    if (op->lost)
        assert_int_equal(mkdir(path_of("%s/node0", s->base), 0777), 0);
}

/* Has the first file changed, while its redundancy file still says that it has not (CO1)? */
static bool
is_changed_unmarked(const scene *s)
{
    char why[1024];
    bool is = false;

    if (image_same_file(&s->image, path_of("node0/%s", s->j.ranks[0].names[0]), s->paths[0], why))
        return false;
    for (size_t i = 0; !is && i < s->image.n; i++) {
        const char *path = s->image.at[i].path;

        is = strncmp(path, "node0/", 6) == 0 && strstr(path, ".grp_") != NULL &&
             image_same_file(&s->image, path, path_of("%s/%s", s->base, path), why);
    }
    return is;
}

/* One fault; false: the operation makes fewer calls than that. */
static bool
one_point(const scene *s, const struct operation *op, fault_kind k, int nth)
{
    char    what[128];
    verdict v;
    bool    hit, told;

    snprintf(what, sizeof what, "%s, %s at %d", op->name, kind_names[k], nth);
    prepare(s, op);
    atomic_store(&shared->left, nth);
    shared->hit = false;
    kind = k;
    use_failing_calls();
    v = in_child(op->run, name_for(s, op), what);
    kind = KINDS;
    rset_sys_use(NULL);
    /* Garbled, and the redundancy file cannot be read: two faults, and nobody to ask what is right. */
    if ((v == OTHER && !op->garbled) || (!shared->hit && v == REFUSED) ||
        (!op->may_write && v == SAW_NEW))
        fail_msg("%s: it comes to %d", what, v);
    if (!op->garbled && is_changed_unmarked(s))
        fail_msg("%s: it comes to %d, and the redundancy file says nothing of a change", what, v);
    hit = shared->hit;
    shared->hit = false;
    /* Nothing was left of it here: what a creation that was seen to fail has left is the program's. */
    told = v == REFUSED && op->lost && op->may_write;
    if (op->by_link && !op->may_write)
        flip_bit(s->paths[0], s->image.at[0].size / 2);
    v = in_child(do_read, s->paths[0], what);
    if (!told && v != SAW_OLD && (v != SAW_NEW || !op->may_write))
        fail_msg("%s: opened again: %s", what, v == REFUSED ? "refused" : "another content");
    return hit;
}

/* A rebuild is the engine's, which sweeps try at all points: here only some of them. */
static void
faults(void **state)
{
    const scene *s = *state;

    for (int o = 0; o < OPERATIONS; o++)
        for (int k = 0; k < KINDS; k++) {
            const bool rebuilds = operations[o].lost || operations[o].garbled;
            const int  step = k == LOOKS ? 1 : !rebuilds ? every_step() : k == MEMORY_ONCE ? 23 : 7;
            int        nth = rebuilds || k == LOOKS ? 0 : every_skip();

            while (nth < MOST && one_point(s, &operations[o], (fault_kind)k, nth))
                nth += step;
            assert_true(nth >= 2 && nth <= MOST - 1);
        }
}

static void
make_lists(const char *base)
{
    H5FD_redset_config_t config;

    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    sec2 = H5Pcreate(H5P_FILE_ACCESS);
    fapl = H5Pcreate(H5P_FILE_ACCESS);
    H5FD_redset_config_init(&config);
    config.required = 0;
    snprintf(config.search, sizeof config.search, "%s/node1:%s/node2", base, base);
    assert_true(H5Pset_fapl_sec2(sec2) >= 0 && H5Pset_fapl_redset(fapl, &config) >= 0);
}

static int
set_up(void **state)
{
    scene *s = calloc(1, sizeof *s);

    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    s->base = scratch_make();
    make_lists(s->base);
    scene_begin(s, sec2, OLD);
    *state = s;
    return 0;
}

static int
tear_down(void **state)
{
    scene_end(*state);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(faults, set_up, tear_down),
    };

    alloc_fails = memory_fails;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
