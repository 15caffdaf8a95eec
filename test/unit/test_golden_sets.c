/* test_golden_sets.c: whole file sets that LLNL redset 0.4.0 wrote (FORMAT.md 12) are written by our
 * encoder byte for byte (P8), and rebuilt after every loss that the scheme covers, in
 * parallel and in one process, to the same bytes (P1); what cannot be rebuilt is refused
 * with nothing changed. */
#include "golden.h"
#include "image.h"
#include "job.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#ifndef FORMAT_VECTORS
#define FORMAT_VECTORS "test/golden/vectors"
#endif

/* One vector: the job that its headers describe, in a scratch copy with the recorded attributes. */
typedef struct golden {
    const char *name;
    char       *base; /* the copy */
    image       image;
    rset_header headers[JOB_RANKS];
    rset_attrs  attrs[JOB_RANKS][JOB_FILES];
    job         job;
} golden;

/* ---- from headers to a job ---- */

static void
read_rank(golden *g, int rank)
{
    job_rank      *k = &g->job.ranks[rank];
    rset_err       err = RSET_ERR_NONE;
    DIR           *d;
    struct dirent *e;

    assert_true(asprintf(&k->dir, "%s/node%d", g->base, rank) > 0);
    d = opendir(k->dir);
    if (d == NULL)
        fail_msg("%s: no node%d", g->name, rank);
    while ((e = readdir(d)) != NULL) {
        rset_name parsed;
        size_t    size;
        uint8_t  *buf;

        if (!rset_format_parse_name(e->d_name, &parsed) || parsed.scheme == NULL)
            continue;
        buf = read_file(path_of("%s/%s", k->dir, e->d_name), &size);
        if (rset_format_unpack_header(buf, size, e->d_name, parsed.member, &g->headers[rank],
                                      &err) != RSET_OK)
            fail_msg("%s", err.text);
        k->prefix = strndup(e->d_name, parsed.prefix_len);
        free(buf);
    }
    closedir(d);
    assert_non_null(k->prefix);
}

static void
describe_rank(golden *g, int rank)
{
    job_rank        *k = &g->job.ranks[rank];
    const rset_info *info = &g->headers[rank].infos[0];

    k->desc = info->desc;
    k->nfiles = info->nfiles;
    k->attrs = g->attrs[rank];
    assert_true(info->nfiles <= JOB_FILES);
    for (int i = 0; i < info->nfiles; i++) {
        k->names[i] = strdup(info->files[i].path);
        g->attrs[rank][i] = info->files[i].attrs;
    }
    k->members = calloc((size_t)k->desc.members, sizeof *k->members);
    for (int p = 0; p < g->job.n; p++)
        if (g->headers[p].infos[0].desc.set == k->desc.set)
            k->members[g->headers[p].infos[0].desc.member] = p;
}

/* Version control keeps neither mode nor times: the headers do. */
static void
apply_attrs(golden *g, int rank)
{
    const job_rank *k = &g->job.ranks[rank];

    for (int i = 0; i < k->nfiles; i++) {
        const char       *path = path_of("%s/%s", k->dir, k->names[i]);
        const rset_attrs *a = &g->attrs[rank][i];
        struct timespec   times[2] = {{(time_t)a->atime_secs, (long)a->atime_nsecs},
                                      {(time_t)a->mtime_secs, (long)a->mtime_nsecs}};

        if (geteuid() == 0) /* root gives rebuilt files to the directory's owner only */
            assert_true(chown(path, (uid_t)a->uid, (gid_t)a->gid) == 0 &&
                        chown(k->dir, (uid_t)a->uid, (gid_t)a->gid) == 0);
        assert_int_equal(chmod(path, (mode_t)(a->mode & 07777)), 0);
        assert_int_equal(utimensat(-100 /* AT_FDCWD */, path, times, 0), 0);
    }
}

static void
golden_open(golden *g, const char *name)
{
    image raw = image_take(path_of("%s/%s", vectors(), name));

    *g = (golden){.name = name, .base = scratch_make()};
    if (raw.n == 0)
        fail_msg("no vector %s in %s: set FORMAT_VECTORS", name, vectors());
    image_put(&raw, g->base, NULL);
    image_free(&raw);
    g->job = (job){.content = RSET_CONTENT_ALL, .timeout = 60};
    read_rank(g, 0);
    g->job.n = g->headers[0].infos[0].desc.ranks;
    for (int r = 1; r < g->job.n; r++)
        read_rank(g, r);
    for (int r = 0; r < g->job.n; r++)
        describe_rank(g, r);
    for (int r = 0; r < g->job.n; r++)
        apply_attrs(g, r);
    g->image = image_take(g->base);
}

static void
golden_close(golden *g)
{
    remove_tree(g->base);
    free(g->base);
    image_free(&g->image);
    for (int r = 0; r < g->job.n; r++)
        rset_header_free(&g->headers[r]);
    job_free(&g->job);
}

/* ---- comparing ---- */

static void
assert_same(const golden *g, const image *img, const char *under, image_strictness how,
            const char *what)
{
    char why[1024];

    if (!image_same(img, g->base, under, how, why))
        fail_msg("%s, %s: %s", g->name, what, why);
}

/* Mode, owner and time of change are those that the headers record. */
static void
assert_attrs(const golden *g, int rank, const char *what)
{
    const job_rank *k = &g->job.ranks[rank];

    for (int i = 0; i < k->nfiles; i++) {
        const rset_attrs *a = &g->attrs[rank][i];
        struct stat       sb;

        assert_int_equal(stat(path_of("%s/%s", k->dir, k->names[i]), &sb), 0);
        if (sb.st_mode != a->mode || (uint64_t)sb.st_mtim.tv_sec != a->mtime_secs ||
            (uint64_t)sb.st_mtim.tv_nsec != a->mtime_nsecs ||
            (geteuid() == 0 && (sb.st_uid != a->uid || sb.st_gid != a->gid)))
            fail_msg("%s, %s: %s has other attributes than recorded", g->name, what, k->names[i]);
    }
}

static void
name_losses(const golden *g, const bool *lost, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "lost");

    for (int r = 0; r < g->job.n; r++)
        if (lost[r])
            used += (size_t)snprintf(text + used, size - used, " %d", r);
}

static void
put_back(const golden *g, const bool *lost)
{
    for (int r = 0; r < g->job.n; r++)
        if (lost[r])
            image_put(&g->image, g->base, path_of("node%d", r));
}

/* ---- encode ---- */

static void
encodes_as_upstream(void **state)
{
    golden g;
    char   text[64] = "encode";

    golden_open(&g, *state);
    for (int r = 0; r < g.job.n; r++) {
        assert_int_equal(unlink(path_of("%s", job_redundancy(&g.job, r))), 0);
        assert_int_equal(unlink(path_of("%s", job_descriptor(&g.job, r))), 0);
    }
    if (job_protect(&g.job) != RSET_OK)
        fail_msg("%s: %s", g.name, job_text(&g.job));
    assert_same(&g, &g.image, NULL, IMAGE_CONTENT, text);
    golden_close(&g);
}

/* ---- rebuild ---- */

/* Which losses are gone through: all of them, but only some of more than two ranks in large sets. */
static bool
chosen(const golden *g, unsigned mask, int losses)
{
    return g->job.n <= 8 || losses <= 2 || mask % 16 == 0;
}

static void
recover_one_loss(golden *g, const bool *lost)
{
    char  what[128];
    image before;
    bool  should = job_survives(&g->job, lost), did;

    name_losses(g, lost, what, sizeof what);
    job_lose(&g->job, lost);
    before = image_take(g->base);
    did = job_recover(&g->job) == RSET_OK;
    if (should && !did)
        fail_msg("%s, %s: refused: %s", g->name, what, job_text(&g->job));
    if (!should && g->job.ranks[0].st != RSET_LOST)
        fail_msg("%s, %s: %s instead of lost (%s)", g->name, what,
                 rset_status_name(g->job.ranks[0].st), job_text(&g->job));
    if (did) {
        assert_same(g, &g->image, NULL, IMAGE_CONTENT, what);
        for (int r = 0; r < g->job.n; r++) {
            assert_attrs(g, r, what);
            assert_int_equal(g->job.ranks[r].out.replaced, lost[r] && g->job.ranks[r].nfiles > 0);
            assert_true(g->job.ranks[r].out.protected_);
            assert_false(g->job.ranks[r].out.reprotect);
        }
    } else {
        assert_same(g, &before, NULL, IMAGE_UNTOUCHED, what);
        put_back(g, lost);
    }
    image_free(&before);
}

static void
recovers_whatever_is_covered(void **state)
{
    golden g;
    int    recovered = 0, refused = 0;

    golden_open(&g, *state);
    for (unsigned mask = 0; mask + 1 < 1u << g.job.n; mask++) {
        bool lost[JOB_RANKS];

        if (!chosen(&g, mask, job_mask(&g.job, mask, lost)))
            continue;
        recover_one_loss(&g, lost);
        recovered += job_survives(&g.job, lost);
        refused += !job_survives(&g.job, lost);
    }
    print_message("%s: %d losses recovered, %d refused\n", g.name, recovered, refused);
    golden_close(&g);
}

/* ---- offline ---- */

/* Each lost rank on its own, the others still lost: its data comes back, and its redundancy file
 * where that can be computed without the other lost ones. */
static void
recover_serial_one_loss(golden *g, const bool *lost, bool only)
{
    char what[128];
    bool should = job_survives(&g->job, lost);

    name_losses(g, lost, what, sizeof what);
    job_lose(&g->job, lost);
    for (int r = 0; r < g->job.n; r++) {
        bool        one[JOB_RANKS] = {false};
        image       before;
        rset_status st;

        if (!lost[r] || g->job.ranks[r].nfiles == 0)
            continue;
        one[r] = true;
        before = image_take(g->base);
        st = job_recover_serial(&g->job, r);
        if (should && st != RSET_OK)
            fail_msg("%s, %s: refused rank %d alone: %s", g->name, what, r,
                     g->job.ranks[r].err.text);
        if (st != RSET_OK) {
            assert_same(g, &before, NULL, IMAGE_UNTOUCHED, what);
        } else {
            for (int i = 0; i < g->job.ranks[r].nfiles; i++)
                assert_same(g, &g->image, path_of("node%d/%s", r, g->job.ranks[r].names[i]),
                            IMAGE_CONTENT, what);
            assert_attrs(g, r, what);
            if (exists(job_redundancy(&g->job, r)))
                assert_same(g, &g->image, path_of("node%d", r), IMAGE_CONTENT, what);
            if (only)
                assert_same(g, &g->image, NULL, IMAGE_CONTENT, what);
            job_lose(&g->job, one);
        }
        image_free(&before);
    }
    put_back(g, lost);
}

/* One rank after the other: what came back helps those that follow, and in a second turn the
 * redundancy files are complete as well. */
static void
recover_in_turn(golden *g, const bool *lost)
{
    char what[128];

    name_losses(g, lost, what, sizeof what);
    job_lose(&g->job, lost);
    for (int turn = 0; turn < 2; turn++)
        for (int r = 0; r < g->job.n; r++)
            if (lost[r] && g->job.ranks[r].nfiles > 0 && job_recover_serial(&g->job, r) != RSET_OK)
                fail_msg("%s, %s: turn %d of rank %d: %s", g->name, what, turn, r,
                         g->job.ranks[r].err.text);
    for (int r = 0; r < g->job.n; r++)
        if (g->job.ranks[r].nfiles > 0)
            assert_same(g, &g->image, path_of("node%d", r), IMAGE_CONTENT, what);
    put_back(g, lost);
}

static void
recovers_serial(void **state)
{
    golden g;

    golden_open(&g, *state);
    for (unsigned mask = 1; mask + 1 < 1u << g.job.n; mask++) {
        bool lost[JOB_RANKS];
        int  losses = job_mask(&g.job, mask, lost);

        if (chosen(&g, mask, losses))
            recover_serial_one_loss(&g, lost, losses == 1);
        if (losses > 1 && losses < 4 && job_survives(&g.job, lost))
            recover_in_turn(&g, lost);
    }
    golden_close(&g);
}

/* ---- what upstream itself has rebuilt ---- */

/* Files with upstream's leftovers in a header are read, and a rank that is lost again comes back in
 * the clean form (FORMAT.md 10), which is that of the original set. */
static void
reads_rebuilt_sets(void **state)
{
    const char *const *pair = *state;
    golden             g, origin;

    golden_open(&g, pair[0]);
    golden_open(&origin, pair[1]);
    for (unsigned mask = 0; mask + 1 < 1u << g.job.n; mask++) {
        bool lost[JOB_RANKS];
        char what[128];
        bool should;

        job_mask(&g.job, mask, lost);
        should = job_survives(&g.job, lost);
        name_losses(&g, lost, what, sizeof what);
        job_lose(&g.job, lost);
        assert_int_equal(job_recover(&g.job), should ? RSET_OK : RSET_LOST);
        for (int r = 0; should && r < g.job.n; r++)
            assert_same(&g, lost[r] ? &origin.image : &g.image, path_of("node%d", r), IMAGE_CONTENT,
                        what);
        put_back(&g, lost);
    }
    golden_close(&g);
    golden_close(&origin);
}

#define FOR(name, test, vector)                                                                    \
    {                                                                                              \
        name ": " vector, test, NULL, NULL, (void *)(uintptr_t)vector                              \
    }
#define ALL(vector)                                                                                \
    FOR("P8 encodes as upstream", encodes_as_upstream, vector),                                    \
        FOR("P1 P2 every loss", recovers_whatever_is_covered, vector),                             \
        FOR("P10 every loss, one rank alone", recovers_serial, vector)

int
main(void)
{
    static const char *const xor_pair[] = {"xor_4_rebuilt", "xor_4"};
    static const char *const partner_pair[] = {"partner_4_r2_rebuilt", "partner_4_r2"};
    const struct CMUnitTest  tests[] = {
         ALL("single_2"),
         ALL("partner_3_r1"),
         ALL("partner_4_r2"),
         ALL("xor_4"),
         ALL("xor_5_set2"),
         ALL("xor_6_3nodes"),
         ALL("xor_12"),
         ALL("xor_3_empty"),
         ALL("rs_4_k1"),
         ALL("rs_4_k2"),
         ALL("rs_5_k2"),
         ALL("rs_6_k3"),
         {"P8 reads xor_4_rebuilt", reads_rebuilt_sets, NULL, NULL, (void *)(uintptr_t)xor_pair},
         {"P8 reads partner_4_r2_rebuilt", reads_rebuilt_sets, NULL, NULL,
          (void *)(uintptr_t)partner_pair},
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
