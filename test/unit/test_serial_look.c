/* test_serial_look.c: what one process alone reads when it looks for what others have of its file (recover/serial.c): each directory
 * once, no header of what cannot concern the file, no file of another user, and no more directories than it may. */
#include "image.h"
#include "job.h"
#include "picture/picture.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { RANKS = 5, LOST = 1 };

/* ---- what is read ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ino_t           listed[64]; /* directories, in the order in which they were */
static int             listings;
static const char     *watched; /* part of the names whose opens are counted */
static int             opens;

static DIR *
note_listing(int fd)
{
    struct stat sb;

    pthread_mutex_lock(&lock);
    if (fstat(fd, &sb) == 0 && listings < 64)
        listed[listings++] = sb.st_ino;
    pthread_mutex_unlock(&lock);
    return rset_sys_posix.fdopendir(fd);
}

static int
note_open(int fd, const char *name, int flags, mode_t mode)
{
    pthread_mutex_lock(&lock);
    opens += watched != NULL && strstr(name, watched) != NULL;
    pthread_mutex_unlock(&lock);
    return rset_sys_posix.openat(fd, name, flags, mode);
}

static void
watch(const char *names)
{
    static rset_sys sys;

    sys = rset_sys_posix;
    sys.fdopendir = note_listing;
    sys.openat = note_open;
    watched = names;
    listings = opens = 0;
    rset_sys_use(&sys);
}

static int
times_listed(const char *dir)
{
    struct stat sb;
    int         n = 0;

    assert_int_equal(stat(dir, &sb), 0);
    for (int i = 0; i < listings; i++)
        n += listed[i] == sb.st_ino;
    return n;
}

/* ---- a job, and one of its ranks alone ---- */

typedef struct world {
    char *base;
    job   job;
    char *paths[RANKS]; /* as they are recorded */
    image image;
} world;

static void
world_open(world *w, const rset_scheme *scheme)
{
    static const size_t sizes[] = {4000, 3000, 2000, 1000, 500};

    *w = (world){.base = scratch_make()};
    job_init(&w->job, w->base, RANKS, scheme, 1, RANKS);
    for (int r = 0; r < RANKS; r++) {
        w->paths[r] = strdup(path_of("%s/%s", w->job.ranks[r].dir, w->job.ranks[r].names[0]));
        w->job.ranks[r].path = w->paths[r];
    }
    job_write_data(&w->job, sizes, RANKS, 1);
    assert_int_equal(job_protect(&w->job), RSET_OK);
    w->image = image_take(w->base);
}

static void
world_close(world *w)
{
    for (int r = 0; r < RANKS; r++)
        free(w->paths[r]);
    image_free(&w->image);
    job_free(&w->job);
    remove_tree(w->base);
    free(w->base);
}

static rset_status
recover_alone(const world *w, const char *const *search, rset_err *err)
{
    const job_rank *k = &w->job.ranks[LOST];
    rset_local      local = {.prefix = k->prefix,
                             .nfiles = 1,
                             .names = (const char *const *)k->names,
                             .paths = (const char *const *)&w->paths[LOST]};
    rset_evidence   ev = {0};
    rset_outcome    out;
    rset_status     st;

    assert_int_equal(rset_dir_open(k->dir, false, &local.dir, err), RSET_OK);
    assert_int_equal(rset_survey_local(&local, &ev, err), RSET_OK);
    watch(NULL);
    st = rset_recover_serial(&(rset_serial_args){.local = &local,
                                                 .evidence = &ev,
                                                 .search = search,
                                                 .rank = -1,
                                                 .content = RSET_CONTENT_ALL},
                             &out, err);
    rset_sys_use(NULL);
    rset_evidence_free(&ev);
    rset_dir_close(local.dir);
    return st;
}

/* ---- each directory once ---- */

static void
lose(const world *w, int how)
{
    bool lost[JOB_RANKS] = {false};

    lost[LOST] = true;
    if (how == 0)
        assert_int_equal(unlink(job_data(&w->job, LOST)), 0);
    else if (how == 1)
        assert_int_equal(truncate(job_data(&w->job, LOST), 7), 0);
    else if (how == 2)
        job_lose(&w->job, lost);
}

/* The file is missing, cut off, lost with all that lies beside it, or whole: then nobody looks. Directories that headers record are
 * named as well, or one of them alone is. */
static void
each_directory_is_listed_once(void **state)
{
    const rset_scheme *const schemes[] = {&rset_scheme_xor, &rset_scheme_partner, &rset_scheme_rs};

    (void)state;
    for (size_t k = 0; k < sizeof schemes / sizeof *schemes; k++)
        for (int how = 0; how < 4; how++)
            for (int named = how == 2; named < 2; named++) { /* no path leads to all of them */
                const char *search[RANKS + 2] = {NULL};
                char        why[1024];
                rset_err    err = RSET_ERR_NONE;
                world       w;

                world_open(&w, schemes[k]);
                for (int r = 0; r < RANKS && named != 0; r++)
                    search[r] = w.job.ranks[r].dir;
                search[named != 0 ? RANKS : 0] = w.job.ranks[LOST + 1].dir;
                lose(&w, how);
                if (recover_alone(&w, search, &err) != RSET_OK)
                    fail_msg("%s", err.text);
                for (int r = 0; r < RANKS; r++)
                    if (how == 3 || r != LOST || how != 2)
                        assert_int_equal(times_listed(w.job.ranks[r].dir), how != 3);
                if (how == 0 && !image_same(&w.image, w.base, NULL, IMAGE_CONTENT, why))
                    fail_msg("%s", why);
                world_close(&w);
            }
}

/* ---- whose files are believed ---- */

/* N7: it may be one that another user has put there, since nothing says whose file it was. */
static void
redundancy_of_another_user_does_not_count_where_its_data_is_lost(void **state)
{
    enum { STRANGER = 12345 };

    (void)state;
    if (geteuid() != 0) {
        print_message("SKIP: only root can give files away\n");
        return;
    }
    for (int strange = 0; strange < 2; strange++) {
        const char *search[RANKS + 1] = {NULL};
        rset_err    err = RSET_ERR_NONE;
        world       w;

        world_open(&w, &rset_scheme_partner);
        for (int r = 0; r < RANKS; r++)
            search[r] = w.job.ranks[r].dir;
        lose(&w, 0);
        assert_int_equal(unlink(job_data(&w.job, LOST + 1)), 0); /* it has a copy of what is lost */
        assert_true(strange == 0 ||
                    chown(job_redundancy(&w.job, LOST + 1), STRANGER, (gid_t)-1) == 0);
        assert_int_equal(recover_alone(&w, search, &err), strange == 0 ? RSET_OK : RSET_LOST);
        world_close(&w);
    }
}

/* ---- one that cannot concern it is not read, and they are not all kept open ---- */

enum { FILES = 300 };

/* Many files in one directory, each of a job of one rank; `elsewhere`: each is recorded as one of a directory of its own. */
static void
write_many(const char *base, bool elsewhere)
{
    for (int i = 0; i < FILES; i++) {
        static const size_t size = 100;
        char                path[4096];
        job                 one;

        job_init(&one, base, 1, &rset_scheme_single, 0, 1);
        free(one.ranks[0].names[0]);
        free(one.ranks[0].prefix);
        one.ranks[0].names[0] = strdup(path_of("ckpt_%d.h5", 1000 + i));
        one.ranks[0].prefix = strdup(path_of("ckpt_%d.h5.", 1000 + i));
        snprintf(path, sizeof path, "%s/%s", base, elsewhere ? path_of("%d", i) : "node0");
        assert_true(!elsewhere || mkdir(path, 0700) == 0);
        strcat(path, "/x");
        one.ranks[0].path = path;
        job_write_data(&one, &size, 1, i);
        assert_int_equal(job_protect(&one), RSET_OK);
        job_free(&one);
    }
}

static void
another_alone_is_not_read(void **state)
{
    char         *base = scratch_make();
    const char   *name = "ckpt_new.h5", *path = "/somewhere/ckpt_new.h5";
    rset_err      err = RSET_ERR_NONE;
    rset_evidence none = {0};
    rset_local    local = {.prefix = "ckpt_new.h5.", .nfiles = 1, .names = &name, .paths = &path};

    (void)state;
    write_many(base, false);
    assert_int_equal(rset_dir_open(path_of("%s/node0", base), false, &local.dir, &err), RSET_OK);
    watch("ckpt_1");
    assert_false(
        rset_recorded_nearby(&(rset_serial_args){.local = &local, .evidence = &none, .rank = -1}));
    rset_sys_use(NULL);
    assert_int_equal(opens, 0);
    assert_int_equal(listings, 1);
    rset_dir_close(local.dir);
    remove_tree(base);
    free(base);
}

static int
descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int  n = 0;

    assert_non_null(dir);
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n;
}

/* Headers that record one directory each, which are all there. */
static void
what_headers_record_is_looked_into_up_to_a_limit(void **state)
{
    char        *base = scratch_make(), *node;
    const int    before = descriptors();
    rset_err     err = RSET_ERR_NONE;
    rset_look    look;
    rset_look_at at = {.like = "ckpt_1000.h5",
                       .host = "host",
                       .recorded = true,
                       .alone = true,
                       .any_generation = true};

    (void)state;
    write_many(base, true);
    node = strdup(path_of("%s/node0", base));
    at.path = node;
    assert_int_equal(rset_look_around(&at, &look, &err), RSET_OK);
    assert_int_equal(look.found.n, FILES);
    assert_int_equal(look.ndirs, 1 + RSET_LOOK_DIRS);
    assert_int_equal(descriptors(), before);
    for (size_t i = 0; i < look.found.n; i++)
        assert_null(look.found.at[i].evidence.header.infos[0].files[0].sums.crc);
    rset_look_free(&look);
    free(node);
    remove_tree(base);
    free(base);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_directory_is_listed_once),
        cmocka_unit_test(redundancy_of_another_user_does_not_count_where_its_data_is_lost),
        cmocka_unit_test(another_alone_is_not_read),
        cmocka_unit_test(what_headers_record_is_looked_into_up_to_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
