/* newest_world.c: see newest_world.h. */
#include "newest_world.h"

#include "comm/comm_alone.h"
#include "comm/comm_local.h"
#include "image.h"
#include "protect/protect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

char   *newest_base;
uint8_t newest_content[NEWEST_CONTENTS][NEWEST_SIZE];

newest_outcome newest_seen;
newest_wish    newest_want;

/* ---- files ---- */

const char *
newest_file(int node)
{
    return path_of("%s/node%d/meta.h5", newest_base, node);
}

void
newest_protect(int node, uint64_t generation)
{
    static const char *const names[] = {"meta.h5"};
    const rset_wish          wish = {.scheme = &rset_scheme_single, .set_size = 1, .group = "g"};
    rset_local  local = {.prefix = "meta.h5.", .nfiles = 1, .names = names, .paths = names};
    rset_comm   alone;
    rset_layout layout;
    rset_err    err = RSET_ERR_NONE;

    assert_int_equal(rset_dir_open(path_of("%s/node%d", newest_base, node), true, &local.dir, &err),
                     0);
    rset_comm_alone(&alone, 1);
    assert_int_equal(rset_layout_form(&alone, &wish, "host", &layout, &err), RSET_OK);
    rset_protect_args args = {.world = &alone,
                              .set = &layout.set,
                              .ranks = layout.ranks,
                              .local = &local,
                              .desc = layout.desc,
                              .extra = true,
                              .host = "host"};

    args.desc.generation = generation;
    assert_int_equal(rset_protect(&args, &err), RSET_OK);
    rset_layout_free(&layout);
    rset_comm_free(&alone);
    rset_dir_close(local.dir);
}

void
newest_put(int node, uint64_t generation)
{
    write_file(newest_file(node), newest_content[generation], NEWEST_SIZE);
    newest_protect(node, generation << 40 | 1);
}

bool
newest_has(int node, int which)
{
    size_t   size = 0;
    uint8_t *data = exists(newest_file(node)) ? read_file(newest_file(node), &size) : NULL;
    bool     same = data != NULL && size == NEWEST_SIZE &&
                memcmp(data, newest_content[which], NEWEST_SIZE) == 0;

    free(data);
    return same;
}

void
newest_end(void)
{
    if (newest_base != NULL)
        remove_tree(newest_base);
    free(newest_base);
    newest_base = NULL;
}

void
newest_begin(void)
{
    newest_end();
    newest_base = scratch_make();
    memset(&newest_want, 0, sizeof newest_want);
    for (int r = 0; r < NEWEST_RANKS; r++) {
        mkdir(path_of("%s/node%d", newest_base, r), 0777);
        newest_want.together[r] = r;
        newest_want.name[r] = "meta.h5";
        fill_random(newest_content[r], NEWEST_SIZE, (uint64_t)r);
    }
}

/* ---- all ranks open it ---- */

static void
open_body(rset_comm *comm, void *arg)
{
    const int   r = comm->rank;
    const char *names[] = {newest_want.name[r]};
    char        path[4096], prefix[64], host[32];
    rset_local  local = {.prefix = prefix, .nfiles = 1, .names = names, .paths = names};

    (void)arg;
    snprintf(path, sizeof path, "%s/node%d", newest_base, newest_want.together[r]);
    snprintf(prefix, sizeof prefix, "%s.", newest_want.name[r]);
    snprintf(host, sizeof host, "host%d", newest_want.together[r]);
    rset_replica_args args = {.world = comm,
                              .local = &local,
                              .evidence = &newest_seen.evidence[r],
                              .host = host,
                              .content = newest_want.by_size ? RSET_CONTENT_NONE : RSET_CONTENT_ALL,
                              .readonly = (newest_want.readonly >> r & 1) != 0,
                              .tidy = true};

    if (newest_want.written[r] != 0)
        args.written = (uint64_t)newest_want.written[r] << 40 | 1;

    args.before = rset_dir_open(path, false, &local.dir, &newest_seen.err[r]);
    if (args.before == RSET_OK)
        args.before = rset_survey_local(&local, &newest_seen.evidence[r], &newest_seen.err[r]);
    if (newest_want.ready != NULL)
        newest_want.ready(r);
    newest_seen.st[r] = rset_replica_open(&args, &newest_seen.out[r], &newest_seen.err[r]);
    rset_evidence_free(&newest_seen.evidence[r]);
    rset_dir_close(local.dir);
}

rset_status
newest_open(void)
{
    rset_err err = RSET_ERR_NONE;

    memset(&newest_seen, 0, sizeof newest_seen);
    for (int r = 0; r < NEWEST_RANKS; r++)
        newest_seen.err[r] = (rset_err)RSET_ERR_NONE;
    assert_int_equal(rset_local_run(NEWEST_RANKS, 60, open_body, NULL, &err), RSET_OK);
    for (int r = 1; r < NEWEST_RANKS; r++)
        if (newest_seen.st[r] != newest_seen.st[0])
            fail_msg("rank 0: %d %s; rank %d: %d %s", newest_seen.st[0], newest_seen.err[0].text, r,
                     newest_seen.st[r], newest_seen.err[r].text);
    return newest_seen.st[0];
}

void
newest_expect(int which)
{
    if (newest_open() != RSET_OK)
        fail_msg("%s", newest_seen.err[0].text);
    for (int r = 0; r < NEWEST_RANKS; r++)
        assert_true(newest_has(newest_want.together[r], which));
    assert_int_equal(newest_open(), RSET_OK); /* and it is protected there */
    for (int r = 0; r < NEWEST_RANKS; r++) {
        assert_false(newest_seen.out[r].acted);
        assert_int_equal(newest_seen.out[r].generation, (uint64_t)which << 40 | 1);
    }
}

void
newest_expect_refused(rset_status st, const char *text)
{
    image before = image_take(newest_base);
    char  why[1024];

    assert_int_equal(newest_open(), st);
    for (int r = 0; r < NEWEST_RANKS; r++)
        if (strstr(newest_seen.err[r].text, text) == NULL)
            fail_msg("rank %d: %s", r, newest_seen.err[r].text);
    if (!image_same(&before, newest_base, NULL, IMAGE_UNTOUCHED, why))
        fail_msg("%s", why);
    image_free(&before);
}
