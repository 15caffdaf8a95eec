/* names_place.c: see names_place.h. */
#include "names_place.h"

#include "common/bytes.h"
#include "common/crc64.h"
#include "image.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- calls that are counted, and a machine that is started again ---- */

_Atomic int names_lists, names_syncs, names_writes;
uint64_t    names_boot;
bool        names_sync_fails;

static struct dirent *
count_readdir(DIR *dir)
{
    names_lists++;
    return rset_sys_posix.readdir(dir);
}

static int
count_fsync(int fd)
{
    names_syncs++;
    errno = EIO;
    return names_sync_fails ? -1 : rset_sys_posix.fsync(fd);
}

static ssize_t
count_pwrite(int fd, const void *buf, size_t len, off_t off)
{
    names_writes++;
    return rset_sys_posix.pwrite(fd, buf, len, off);
}

static uint64_t
this_boot(void)
{
    return names_boot;
}

void
names_count(void)
{
    static rset_sys table;

    table = rset_sys_posix;
    table.readdir = count_readdir;
    table.fsync = count_fsync;
    table.pwrite = count_pwrite;
    table.boot = this_boot;
    rset_sys_use(&table);
    names_boot = 1;
    names_sync_fails = false;
    names_lists = names_syncs = names_writes = 0;
}

/* ---- one directory ---- */

int
names_begin(void **state)
{
    names_place *p = calloc(1, sizeof *p);
    rset_err     err = RSET_ERR_NONE;

    assert_non_null(p);
    p->base = scratch_make();
    assert_int_equal(rset_dir_open(p->base, false, &p->dir, &err), RSET_OK);
    names_count();
    *state = p;
    return 0;
}

int
names_end(void **state)
{
    names_place *p = *state;

    rset_sys_use(NULL);
    rset_dir_close(p->dir);
    remove_tree(p->base);
    free(p->base);
    free(p);
    return 0;
}

const char *
names_at(const names_place *p, const char *name)
{
    return path_of("%s/%s", p->base, name);
}

void
names_make(const names_place *p, const char *name)
{
    write_file(names_at(p, name), "x", 1);
}

rset_status
names_note(const names_place *p, const char *name)
{
    rset_err err = RSET_ERR_NONE;

    return rset_names_note(p->dir, "f.h5.", &name, 1, &err);
}

size_t
names_find(const names_place *p, const char *name, bool *is_out)
{
    rset_names names;
    rset_err   err = RSET_ERR_NONE;
    size_t     n;

    assert_int_equal(rset_names_find(p->dir, "f.h5.", "f.h5", &names, &err), RSET_OK);
    *is_out = false;
    for (size_t i = 0; i < names.n; i++)
        *is_out = *is_out || strcmp(names.at[i], name) == 0;
    n = names.n;
    rset_names_free(&names);
    return n;
}

void
assert_names_found(const names_place *p, const char *name, size_t n)
{
    bool is;

    assert_int_equal(names_find(p, name, &is), n);
    assert_true(is);
}

void
names_protect(const names_place *p)
{
    assert_int_equal(names_note(p, R), RSET_OK);
    assert_int_equal(names_note(p, D), RSET_OK);
    names_make(p, R);
    names_make(p, D);
    names_make(p, "f.h5");
    names_lists = names_syncs = names_writes = 0;
}

void
names_write_all(const names_place *p, const char *stems, size_t len, uint64_t count,
                uint64_t length, uint64_t older)
{
    uint8_t buf[48 + 512] = "RSETNAM3";

    memcpy(buf + 48, stems, len);
    rset_put64(buf + 8, names_boot);
    rset_put64(buf + 16, count);
    rset_put64(buf + 24, length);
    rset_put64(buf + 32, older);
    rset_put64(buf + 40, rset_crc64(rset_crc64(0, buf, 40), buf + 48, len));
    write_file(names_at(p, NAMES), buf, 48 + len);
}
