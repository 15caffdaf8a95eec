/* scavenge_there.c: files that are in the target already. See scavenge.h. */
#include "exits.h"
#include "owner.h"
#include "scavenge.h"

#include <stdlib.h>
#include <sys/stat.h>

enum { AT_ONCE = 4 << 20 };

/* Its size and checksum. */
static rset_status
sum_up(rset_file *file, uint64_t *size_out, uint64_t *crc_out, rset_err *err)
{
    struct stat sb;
    uint8_t    *buf = must_alloc(AT_ONCE);
    rset_status st = rset_file_stat(file, &sb, err);
    size_t      got = st == RSET_OK ? 1 : 0;

    *size_out = *crc_out = 0;
    while (st == RSET_OK && got > 0) {
        uint64_t       end;
        const uint64_t next = rset_file_next_data(file, *size_out, &end);

        *crc_out = rset_crc64_zeros(*crc_out, next - *size_out);
        st = rset_file_read(file, next, buf, end - next < AT_ONCE ? (size_t)(end - next) : AT_ONCE,
                            &got, err);
        *crc_out = rset_crc64(*crc_out, buf, got);
        *size_out = next + got;
    }
    free(buf);
    return st;
}

/* Of a file that nothing is recorded of: is it the one that would be copied? */
static bool
is_same_as_source(const item *it, uint64_t size, uint64_t crc)
{
    rset_err   ignored = RSET_ERR_NONE;
    rset_dir  *dir = NULL;
    rset_file *file = NULL;
    uint64_t   other = 0, sum = 0;
    bool       same = it->seen != NULL &&
                rset_dir_open(it->seen->dir, false, &dir, &ignored) == RSET_OK &&
                rset_file_open(dir, it->seen->name, &file, &ignored) == RSET_OK &&
                sum_up(file, &other, &sum, &ignored) == RSET_OK && other == size && sum == crc;

    rset_file_close(file, NULL);
    rset_dir_close(dir);
    return same;
}

static void
say_in_the_way(item *it, const char *path, const char *what)
{
    char *why = must_print("%s is there already, and %s; move it away, or replace it with --force",
                           path, what);

    outcome_fail(&it->out, EXITS_ERROR, why);
    it->done = true;
    free(why);
}

/* A file that is there stays: it is what would be brought, or it is in the way. */
static void
compare_target(const scavenge *s, item *it, const rset_file_info *file, rset_file *there)
{
    const bool has = file != NULL && file->has_sums;
    rset_err   err = RSET_ERR_NONE;
    uint64_t   size = 0, crc = 0;

    if (sum_up(there, &size, &crc, &err) != RSET_OK) {
        say_in_the_way(it, rset_file_path(there), "cannot be read");
    } else if (has ? size == file->sums.size && crc == file->sums.whole
                   : is_same_as_source(it, size, crc)) {
        it->out = (outcome){.how = HOW_KEPT, .verified = has, .size = size, .crc = crc, .from = -1};
        if (it->as_is || file == NULL)
            outcome_as_is(&it->out);
        it->done = true;
    } else if (!s->o->force) {
        say_in_the_way(it, rset_file_path(there), "has other content");
    } else if (!rset_file_lock(there, false)) {
        char *why =
            must_print("%s is to be replaced, and a program on %s has it open to change it: "
                       "close it there, and run this again",
                       rset_file_path(there), s->j->host);

        outcome_fail(&it->out, EXITS_ERROR, why);
        it->done = true;
        free(why);
    }
}

void
scavenge_look(const scavenge *s, item *it, const rset_file_info *file)
{
    char       *path = scavenge_path(s, it->name);
    rset_err    err = RSET_ERR_NONE;
    rset_dir   *at = NULL;
    rset_file  *there = NULL;
    rset_status st;

    owner_pause();
    st = scavenge_enter(s, it->name, false, &at, &err);
    if (st == RSET_OK)
        st = rset_file_open(at, rset_path_base(path), &there, &err);
    owner_resume();
    if (st == RSET_OK)
        compare_target(s, it, file, there);
    else if (st != RSET_ABSENT)
        say_in_the_way(it, path, "is no file that can be read");
    rset_file_close(there, NULL);
    if (at != NULL)
        scavenge_leave(s, at);
    free(path);
}
