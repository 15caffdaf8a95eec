/* sample.c: see sample.h. */
#include "sample.h"

#include "store/recall.h"

#include "points.h"
#include "tripwire.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { WHY = 1024 };

const char *const sample_plan_names[] = {"SINGLE", "PARTNER", "XOR", "RS"};

static void
only_own_files(int rank, void *arg)
{
    (void)arg;
    tripwire_only(rank);
}

void
sample_open(sample *s, survival_plan plan, int n, int k, const size_t *sizes, int nsizes)
{
    *s = (sample){.base = scratch_make(), .set = {.plan = plan, .n = n, .k = k}};
    snprintf(s->what, sizeof s->what, "%s %d", sample_plan_names[plan], k);
    job_init(&s->job, s->base, n, rset_scheme_by_name(sample_plan_names[plan]), k, n);
    s->job.before = only_own_files;
    job_write_data(&s->job, sizes, nsizes, 1);
    if (job_protect(&s->job) != RSET_OK)
        fail_msg("%s: %s", s->what, job_text(&s->job));
    s->image = image_take(s->base);
    for (int r = 0; r < n; r++)
        s->set.ranks[r].length = sizes[r % nsizes];
}

void
sample_close(sample *s)
{
    remove_tree(s->base);
    free(s->base);
    image_free(&s->image);
    job_free(&s->job);
}

/* ---- putting back ---- */

static void
remove_strangers(const sample *s, int r)
{
    const char    *dir = s->job.ranks[r].dir;
    DIR           *d = opendir(dir);
    struct dirent *e;

    while (d != NULL && (e = readdir(d)) != NULL) {
        const char *path = path_of("node%d/%s", r, e->d_name);

        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
            image_find(&s->image, path) == NULL) {
            if (unlinkat(dirfd(d), e->d_name, 0) != 0)
                remove_tree(path_of("%s/%s", s->base, path));
        }
    }
    if (d != NULL)
        closedir(d);
}

static bool
untouched(const image_file *f, const char *path)
{
    struct stat sb;

    return lstat(path, &sb) == 0 && sb.st_ino == f->st.st_ino &&
           sb.st_ctim.tv_sec == f->st.st_ctim.tv_sec && sb.st_ctim.tv_nsec == f->st.st_ctim.tv_nsec;
}

void
sample_restore(const sample *s)
{
    rset_recall_forget();
    for (int r = 0; r < s->job.n; r++)
        remove_strangers(s, r);
    for (size_t i = 0; i < s->image.n; i++) {
        image_file *f = &s->image.at[i];
        const char *path = path_of("%s/%s", s->base, f->path);

        if (untouched(f, path))
            continue;
        image_put(&s->image, s->base, f->path);
        if (lstat(path, &f->st) != 0) /* the very file that is there from now on */
            fail_msg("%s cannot be put back", path);
    }
}

/* ---- what is expected ---- */

static void
arm(const sample *s)
{
    tripwire_place places[JOB_RANKS];

    for (int r = 0; r < s->job.n; r++)
        places[r] =
            (tripwire_place){s->job.ranks[r].dir, s->job.ranks[r].names[0], s->job.ranks[r].prefix};
    tripwire_arm(places, s->job.n);
}

/* Recovers; *why: what is wrong whatever was expected, or "". */
static rset_status
recover(sample *s, char *why)
{
    char        where[TRIPWIRE_TEXT];
    rset_status st;

    arm(s);
    st = job_recover_watched(&s->job, why);
    tripwire_disarm();
    if (tripwire_escapes(where) > 0 && why[0] == '\0')
        snprintf(why, WHY, "P7: %.900s", where);
    return st;
}

/* Mode and times of all data files. */
static bool
same_attrs(const sample *s, char *why)
{
    for (int r = 0; r < s->job.n; r++) {
        const image_file *f = sample_original(s, sample_data(s, r));
        struct stat       sb;

        if (stat(sample_data(s, r), &sb) != 0 || sb.st_mode != f->st.st_mode ||
            sb.st_mtim.tv_sec != f->st.st_mtim.tv_sec ||
            sb.st_mtim.tv_nsec != f->st.st_mtim.tv_nsec) {
            snprintf(why, WHY, "rank %d's data file has another mode or time", r);
            return false;
        }
    }
    return true;
}

static bool
same_data(const sample *s, char *why)
{
    for (int r = 0; r < s->job.n; r++)
        if (!image_same(&s->image, s->base, path_of("node%d/%s", r, s->job.ranks[r].names[0]),
                        IMAGE_CONTENT, why))
            return false;
    return same_attrs(s, why);
}

/* Everything is back: a second look has nothing to do. */
static void
check_whole(sample *s, char *why)
{
    if (!s->job.ranks[0].out.protected_)
        snprintf(why, WHY, "not protected, although all of it could be rebuilt");
    else if (image_same(&s->image, s->base, NULL, IMAGE_CONTENT, why) && same_attrs(s, why)) {
        why[0] = '\0';
        if (s->looks > 0 && ++s->looked % s->looks != 0)
            return;
        if (recover(s, why) != RSET_OK || !s->job.ranks[0].out.protected_)
            snprintf(why, WHY, "a second recovery says: %.900s", job_text(&s->job));
        else if (tripwire_changes() > 0)
            snprintf(why, WHY, "a second recovery changed something");
    }
}

static void
check_refused(sample *s, const image *before, char *why)
{
    if (tripwire_changes() > 0)
        snprintf(why, WHY, "refused after %lu calls that change files", tripwire_changes());
    else if (image_same(before, s->base, NULL, IMAGE_UNTOUCHED, why))
        why[0] = '\0';
}

void
sample_expect(sample *s, survival expected)
{
    image       before = expected == SURVIVES_NOT ? image_take(s->base) : (image){0};
    char        why[WHY] = "";
    rset_status st = recover(s, why), due = expected == SURVIVES_NOT ? RSET_LOST : RSET_OK;

    points_tried();
    if (why[0] != '\0')
        ;
    else if (st != due)
        snprintf(why, WHY, "%s instead of %s: %.800s", rset_status_name(st), rset_status_name(due),
                 job_text(&s->job));
    else if (expected == SURVIVES_NOT)
        check_refused(s, &before, why);
    else if (expected == SURVIVES_WHOLE)
        check_whole(s, why);
    else if (expected == SURVIVES_UNVERIFIED &&
             (s->job.ranks[0].out.protected_ || s->job.ranks[0].out.reprotect))
        snprintf(why, WHY, "what nobody can verify passes for what was protected");
    else if (expected == SURVIVES_DATA &&
             (s->job.ranks[0].out.protected_ || !s->job.ranks[0].out.reprotect))
        snprintf(why, WHY, "does not know that it must be protected again");
    else if (same_data(s, why))
        why[0] = '\0';
    if (why[0] != '\0')
        points_wrong("%s: %s", s->what, why);
    image_free(&before);
}

void
sample_expect_untouched(sample *s)
{
    image       before = image_take(s->base);
    char        why[WHY] = "";
    rset_status st = recover(s, why);

    points_tried();
    if (why[0] == '\0' && st == RSET_OK &&
        (s->job.ranks[0].out.protected_ || s->job.ranks[0].out.reprotect ||
         s->job.ranks[0].out.note[0] == '\0'))
        snprintf(why, WHY,
                 "opened without a warning, or as verified, although nothing is recorded");
    else if (why[0] == '\0' && st != RSET_OK && st != RSET_LOST && st != RSET_ABSENT)
        snprintf(why, WHY, "%s although nothing is recorded", rset_status_name(st));
    if (why[0] == '\0')
        check_refused(s, &before, why);
    if (why[0] != '\0')
        points_wrong("%s: %s", s->what, why);
    image_free(&before);
}

void
sample_expect_deleted(sample *s)
{
    image       before = image_take(s->base);
    char        why[WHY] = "";
    rset_status st;

    s->job.undelete = false;
    st = recover(s, why);
    points_tried();
    if (why[0] == '\0' && st != RSET_ABSENT)
        snprintf(why, WHY, "%s although all data files were deleted", rset_status_name(st));
    if (why[0] == '\0')
        check_refused(s, &before, why);
    if (why[0] != '\0')
        points_wrong("%s: %s", s->what, why);
    image_free(&before);
    s->job.undelete = true;
}

void
sample_expect_serial(sample *s, int r, bool possible)
{
    const job_rank *k = &s->job.ranks[r];
    image           before = image_take(s->base);
    char            why[WHY] = "", where[TRIPWIRE_TEXT];
    rset_status     st;

    points_tried();
    tripwire_arm(&(tripwire_place){k->dir, k->names[0], k->prefix}, 1);
    st = job_recover_serial(&s->job, r);
    tripwire_disarm();
    if (tripwire_escapes(where) > 0)
        snprintf(why, WHY, "P7: %.900s", where);
    else if (st != (possible ? RSET_OK : RSET_LOST))
        snprintf(why, WHY, "%s: %.800s", rset_status_name(st), k->err.text);
    else if (!possible)
        check_refused(s, &before, why);
    else if (image_same(&s->image, s->base, path_of("node%d/%s", r, k->names[0]), IMAGE_CONTENT,
                        why))
        why[0] = '\0';
    if (why[0] != '\0')
        points_wrong("%s: %s", s->what, why);
    image_free(&before);
}

/* ---- files ---- */

const char *
sample_data(const sample *s, int r)
{
    return job_data(&s->job, r);
}

const char *
sample_redundancy(const sample *s, int r)
{
    return job_redundancy(&s->job, r);
}

const char *
sample_descriptor(const sample *s, int r)
{
    return job_descriptor(&s->job, r);
}

const image_file *
sample_original(const sample *s, const char *path)
{
    const image_file *f = image_find(&s->image, path + strlen(s->base) + 1);

    if (f == NULL)
        fail_msg("%s: was never there", path);
    return f;
}

size_t
sample_payload_at(const sample *s, int r)
{
    const uint8_t *data = sample_original(s, sample_redundancy(s, r))->data;
    uint64_t       total = 0;

    for (int i = 0; i < 8; i++) /* FORMAT.md 2 */
        total = total << 8 | data[8 + i];
    return (size_t)total;
}

void
sample_lose_data(const sample *s, survival_set *m, int r)
{
    unlink(sample_data(s, r));
    survival_spoil(&m->ranks[r].data, 0, UINT64_MAX);
}

void
sample_lose_redundancy(const sample *s, survival_set *m, int r)
{
    unlink(sample_redundancy(s, r));
    unlink(sample_descriptor(s, r));
    m->ranks[r].head_lost = true;
}

void
sample_rot(const char *path, const void *data, size_t size)
{
    struct stat sb;

    assert_int_equal(stat(path, &sb), 0);
    write_file(path, data, size);
    assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[]){sb.st_atim, sb.st_mtim}, 0), 0);
}

void
sample_flip(const char *path, size_t byte, int bit)
{
    int         fd = open(path, O_RDWR | O_CLOEXEC);
    uint8_t     b;
    struct stat sb;

    if (fd < 0 || fstat(fd, &sb) != 0 || pread(fd, &b, 1, (off_t)byte) != 1)
        fail_msg("%s has no byte %zu", path, byte);
    b ^= (uint8_t)(1 << bit);
    if (pwrite(fd, &b, 1, (off_t)byte) != 1)
        fail_msg("%s cannot be written", path);
    assert_int_equal(futimens(fd, (struct timespec[]){sb.st_atim, sb.st_mtim}),
                     0); /* as a disk does it */
    close(fd);
}
