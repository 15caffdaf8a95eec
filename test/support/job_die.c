/* job_die.c: a job that dies in a commit: from there on the names of files are not changed any more. See job.h. */
#include "image.h"
#include "job.h"
#include "names/names.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool
ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);

    return n > m && strcmp(name + n - m, end) == 0;
}

static int
refuse_to_decide(int from_dir, const char *from, int to_dir, const char *to)
{
    if (ends_in(to, RSET_SUFFIX_REDO)) {
        errno = EIO;
        return -1;
    }
    return rset_sys_posix.renameat(from_dir, from, to_dir, to);
}

#define BESIDE ".redset" RSET_SUFFIX_NEW /* else it is a data file */

static unsigned publishing; /* these ranks do */

static int
refuse_to_publish(int from_dir, const char *from, int to_dir, const char *to)
{
    const int rank = atoi(from + strcspn(from, "0123456789"));

    if ((ends_in(from, RSET_SUFFIX_NEW) && !ends_in(from, BESIDE) &&
         !ends_in(to, RSET_SUFFIX_NEW)) ||
        ((publishing >> rank & 1) == 0 && ends_in(from, BESIDE))) {
        errno = EIO;
        return -1;
    }
    return rset_sys_posix.renameat(from_dir, from, to_dir, to);
}

static void
protect_refusing(job *j, int (*renames)(int, const char *, int, const char *))
{
    rset_sys sys = rset_sys_posix;

    sys.renameat = renames;
    rset_sys_use(&sys);
    job_next_generation(j);
    job_run(j, job_body_protect);
    rset_sys_use(NULL);
}

void
job_die_decided(job *j, unsigned decided)
{
    protect_refusing(j, refuse_to_decide);
    for (int r = 0; r < j->n; r++) {
        const char *name = job_redundancy(j, r), *delta = path_of("%s" RSET_SUFFIX_NEW, name);

        if ((decided >> r & 1) != 0)
            assert_int_equal(rename(delta, path_of("%s" RSET_SUFFIX_REDO, name)), 0);
        else
            assert_true(exists(delta));
    }
}

void
job_die_publishing(job *j, unsigned published)
{
    publishing = published;
    protect_refusing(j, refuse_to_publish);
}
