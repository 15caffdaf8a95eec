/* test_tool_sparse.c: a data file of 8 TiB that is nearly all holes is verified, copied and compared by h5redset (inside: main is
 * h5redset_main here) without being read from end to end. Bounded by the bytes that are read, not by time. */
#include "engine_damage.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define SIZE ((uint64_t)8 << 40)
#define MOST ((uint64_t)64 << 20) /* bytes that may be read */

int h5redset_main(int argc, char **argv);

/* ---- reading is counted, and fails beyond the limit ---- */

static atomic_uint_least64_t has_read;

static ssize_t
count_pread(int fd, void *buf, size_t len, off_t off)
{
    ssize_t got;

    if (has_read > MOST) {
        errno = EIO;
        return -1;
    }
    got = rset_sys_posix.pread(fd, buf, len, off);
    has_read += got > 0 ? (uint64_t)got : 0;
    return got;
}

static void
count_from_now(void)
{
    static rset_sys table;

    table = rset_sys_posix;
    table.pread = count_pread;
    has_read = 0;
    rset_sys_use(&table);
}

/* ---- a file of that size, recorded ---- */

static const uint64_t places[] = {0, (uint64_t)5 << 40, SIZE - 4096};
static const size_t   nplaces = sizeof places / sizeof *places;

static void
fill(uint8_t page[4096], size_t i)
{
    fill_random(page, 4096, i + 1);
}

/* False: this file system has no files of that size. */
static bool
make_large(const char *path)
{
    int  fd = open(path, O_WRONLY | O_TRUNC);
    bool is = fd >= 0 && ftruncate(fd, (off_t)SIZE) == 0;

    for (size_t i = 0; is && i < nplaces; i++) {
        uint8_t page[4096];

        fill(page, i);
        is = pwrite(fd, page, sizeof page, (off_t)places[i]) == sizeof page;
    }
    close(fd);
    return is;
}

static void
sum_up(rset_sums *out)
{
    assert_int_equal(
        rset_sums_init(out, SIZE, rset_sums_block_size(SIZE, rset_format_max_blocks(1, 1))), 0);
    for (size_t i = 0; i < nplaces; i++) {
        uint8_t page[4096];

        fill(page, i);
        rset_sums_add(out, places[i], page, sizeof page);
    }
    rset_sums_finish(out);
}

/* The redundancy file of rank r records that instead. */
static void
record_large(const world *w, int r)
{
    const char *path = job_redundancy(&w->job, r);
    size_t      size;
    uint8_t    *was = read_file(path, &size), *is;
    rset_header h = {0};
    rset_err    err = RSET_ERR_NONE;
    struct stat sb;
    rset_status st = rset_format_unpack_header(was, size, path, -1, &h, &err);
    rset_attrs *attrs;

    assert_int_equal(st, RSET_OK);
    attrs = &h.infos[0].files[0].attrs;
    assert_int_equal(stat(job_data(&w->job, r), &sb), 0);
    attrs->size = SIZE;
    attrs->mtime_secs = (uint64_t)sb.st_mtim.tv_sec;
    attrs->mtime_nsecs = (uint64_t)sb.st_mtim.tv_nsec;
    rset_sums_free(&h.infos[0].files[0].sums);
    sum_up(&h.infos[0].files[0].sums);
    h.total = 0;
    free(was);
    assert_int_equal(rset_format_pack_header(&h, true, &is, &size, &err), RSET_OK);
    write_file(path, is, size);
    free(is);
    rset_header_free(&h);
}

/* ---- the tool ---- */

/* The exit status; nothing is printed. */
static int
tool(const char *const *args, int n)
{
    const char *argv[8] = {"h5redset"};
    const int   null = open("/dev/null", O_WRONLY);
    int         was[2], status;

    memcpy(argv + 1, args, (size_t)n * sizeof *args);
    fflush(NULL);
    for (int fd = 1; fd <= 2; fd++) {
        was[fd - 1] = dup(fd);
        dup2(null, fd);
    }
    status = h5redset_main(n + 1, (char **)argv);
    fflush(NULL);
    for (int fd = 1; fd <= 2; fd++) {
        dup2(was[fd - 1], fd);
        close(was[fd - 1]);
    }
    close(null);
    return status;
}

/* Runs it, and counts. */
static int
tool_bounded(const char *const *args, int n)
{
    int status;

    count_from_now();
    status = tool(args, n);
    rset_sys_use(NULL);
    if (has_read > MOST) { /* the tool has a function of the name of cmocka's that would say it */
        fprintf(stderr, "%s: more than %llu MiB were read\n", args[0],
                (unsigned long long)(MOST >> 20));
        fail();
    }
    return status;
}

static void
check_copy(const char *path)
{
    const int   fd = open(path, O_RDONLY);
    struct stat sb;

    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &sb), 0);
    assert_true((uint64_t)sb.st_size == SIZE && sb.st_blocks < 4096);
    for (size_t i = 0; i < nplaces; i++) {
        uint8_t page[4096], want[4096];

        fill(want, i);
        assert_int_equal(pread(fd, page, sizeof page, (off_t)places[i]), sizeof page);
        assert_memory_equal(page, want, sizeof page);
    }
    close(fd);
}

static void
what_is_all_holes_is_not_read(void **state)
{
    const kind  single = {&rset_scheme_single, 0};
    const char *last;
    char       *target;
    world       w;

    (void)state;
    damage_open(&w, single, 8400);
    target = strdup(path_of("%s.safe", w.base));
    if (!make_large(job_data(&w.job, 1))) {
        printf("SKIP: no files of 8 TiB here\n");
        damage_close(&w);
        free(target);
        return;
    }
    record_large(&w, 1);
    assert_int_equal(tool_bounded((const char *[]){"status", "--verify", w.base}, 3), 0);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(tool_bounded((const char *[]){"scavenge", "--to", target, w.base}, 4), 0);
    }
    last = path_of("%s/ckpt_1.h5", target);
    check_copy(last);
    assert_int_equal(tool_bounded((const char *[]){"rebuild", w.base}, 2), 0);
    remove_tree(target);
    free(target);
    damage_close(&w);
}

/* What is not as recorded is seen, in a hole and beside one. */
static void
what_is_in_holes_is_seen(void **state)
{
    static const uint64_t at[] = {100, (uint64_t)3 << 40, ((uint64_t)5 << 40) + 9, SIZE - 5000};
    const kind            single = {&rset_scheme_single, 0};
    world                 w;

    (void)state;
    damage_open(&w, single, 8400);
    for (size_t i = 0; i < sizeof at / sizeof *at && make_large(job_data(&w.job, 1)); i++) {
        int fd;

        record_large(&w, 1);
        fd = open(job_data(&w.job, 1), O_WRONLY);
        assert_int_equal(pwrite(fd, "?", 1, (off_t)at[i]), 1);
        close(fd);
        assert_int_not_equal(tool_bounded((const char *[]){"status", "--verify", w.base}, 3), 0);
    }
    if (make_large(job_data(&w.job, 1))) {
        record_large(&w, 1);
        assert_int_equal(truncate(job_data(&w.job, 1), (off_t)(SIZE - 1)), 0);
        assert_int_not_equal(tool_bounded((const char *[]){"status", "--verify", w.base}, 3), 0);
    }
    damage_close(&w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_all_holes_is_not_read),
        cmocka_unit_test(what_is_in_holes_is_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
