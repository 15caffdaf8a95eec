/* test_no_memory.c: each allocation of parser, names, verification and reread fails in turn: the
 * caller is told so, nothing is handed out, nothing is left behind. sweep_oom does the same to whole
 * operations of several ranks; there are too many points there to try each for every change. */
#include "alloc.h"
#include "comm/comm_local.h"
#include "format/tree.h"
#include "format_samples.h"
#include "image.h"
#include "job.h"
#include "layout/layout.h"
#include "member/member.h"
#include "member/names.h"
#include "protect/protect.h"
#include "recover/recover.h"
#include "set/reread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

enum { NEVER = -1, MOST = 10000 };

static atomic_int left = NEVER; /* allocations until one fails, in whatever thread */

static bool
fails(void)
{
    int n = left;

    while (n != NEVER && !atomic_compare_exchange_weak(&left, &n, n - 1))
        ;
    return n == 0;
}

/* Runs it with the first allocation failing, then with the second ... until it needs no more. `run` frees
 * what it is given; a failed one is given nothing. `may_do_without`: some are for what only saves work. */
static void
each_failure_of(const char *what, bool may_do_without, rset_status (*run)(void *arg, rset_err *err),
                void *arg)
{
    for (int n = 0; n < MOST; n++) {
        rset_err    err = RSET_ERR_NONE;
        const long  before = alloc_live;
        rset_status st;
        bool        hit;

        left = n;
        st = run(arg, &err);
        hit = left == NEVER;
        left = NEVER;
        if ((st != (hit ? RSET_NOMEM : RSET_OK) && !(may_do_without && st == RSET_OK)) ||
            (st != RSET_OK && err.text[0] == '\0') || alloc_live != before)
            fail_msg("%s, allocation %d: %s (%s), %ld left behind", what, n, rset_status_name(st),
                     err.text, alloc_live - before);
        if (!hit) {
            assert_true(n > 0); /* it does allocate */
            return;
        }
    }
    fail_msg("%s: there is no end of allocations", what);
}

static void
each_failure(const char *what, rset_status (*run)(void *arg, rset_err *err), void *arg)
{
    each_failure_of(what, false, run, arg);
}

/* ---- headers, infos, descriptors, names ---- */

typedef struct sample {
    rset_header header;
    uint8_t    *buf;
    size_t      len;
    rset_desc   descs[8];
} sample;

static rset_status
pack_header(void *arg, rset_err *err)
{
    sample     *s = arg;
    uint8_t    *buf = NULL;
    size_t      len;
    rset_status st = rset_format_pack_header(&s->header, true, &buf, &len, err);

    free(buf);
    return st;
}

static rset_status
unpack_header(void *arg, rset_err *err)
{
    sample     *s = arg;
    rset_header h = {.infos = NULL};
    rset_status st = rset_format_unpack_header(s->buf, s->len, "file", s->header.member, &h, err);

    assert_int_equal(st == RSET_OK, h.infos != NULL);
    rset_header_free(&h);
    return st;
}

static rset_status
info_there_and_back(void *arg, rset_err *err)
{
    sample     *s = arg;
    rset_info   back = {.nfiles = 0}, copy = {.nfiles = 0};
    uint8_t    *buf = NULL;
    size_t      len = 0;
    rset_status st = rset_format_pack_info(&s->header.infos[0], true, &buf, &len, err);

    if (st == RSET_OK)
        st = rset_format_unpack_info(buf, len, "info", &back, err);
    if (st == RSET_OK)
        st = rset_info_copy(&back, &copy, err);
    free(buf);
    rset_info_free(&copy);
    rset_info_free(&back);
    return st;
}

static rset_status
descriptors_there_and_back(void *arg, rset_err *err)
{
    sample     *s = arg;
    rset_descs  back = {0};
    uint8_t    *buf = NULL;
    size_t      len = 0;
    rset_status st = rset_format_pack_descs(s->descs, s->header.ninfos, true, &buf, &len, err);

    if (st == RSET_OK)
        st = rset_format_unpack_descs(buf, len, "file", s->descs[0].rank, &back, err);
    free(buf);
    free(back.at);
    return st;
}

static rset_status
both_names(void *arg, rset_err *err)
{
    sample *s = arg;
    char   *desc = rset_format_desc_name("ckpt.h5.", 3);
    char   *redundancy = rset_format_redundancy_name("ckpt.h5.", &s->descs[0]);
    bool    both = desc != NULL && redundancy != NULL;

    free(desc);
    free(redundancy);
    return both ? RSET_OK : rset_fail(err, RSET_NOMEM, "no memory for names");
}

static void
headers_and_names(void **state)
{
    static const struct {
        const rset_scheme *scheme;
        int                members, parity;
    } kinds[] = {{&rset_scheme_single, 1, 0},
                 {&rset_scheme_partner, 5, 2},
                 {&rset_scheme_xor, 5, 1},
                 {&rset_scheme_rs, 5, 2}};

    (void)state;
    for (int k = 0; k < 4; k++) {
        sample s = {.header =
                        sample_header(kinds[k].scheme, kinds[k].members, kinds[k].parity, 0, 3)};

        s.buf = sample_pack(&s.header, &s.len);
        for (int d = 0; d < s.header.ninfos; d++)
            s.descs[d] = s.header.infos[d].desc;
        each_failure("writing a header", pack_header, &s);
        each_failure("reading a header", unpack_header, &s);
        each_failure("an info", info_there_and_back, &s);
        each_failure("descriptors", descriptors_there_and_back, &s);
        each_failure("names", both_names, &s);
        free(s.buf);
        rset_header_free(&s.header);
    }
}

/* ---- data files and a payload ---- */

enum { FILES = 3, BLOCK = 1000, PAYLOAD = 2500, BYTES = 4000 };

static const char *const names[FILES] = {"a", "b", "c"};
static const size_t      sizes[FILES] = {2500, 500, 1000};

typedef struct scene {
    char          *base;
    rset_dir      *dir;
    uint8_t        bytes[BYTES];
    rset_local     local;
    rset_info      info;
    rset_file_info files[FILES];
    rset_info      own; /* the header's, whose scheme says how long the payload is */
    rset_evidence  ev;
} scene;

static void
sums_of(rset_sums *sums, const uint8_t *bytes, size_t n)
{
    assert_int_equal(rset_sums_init(sums, n, BLOCK), 0);
    rset_sums_add(sums, 0, bytes, n);
    rset_sums_finish(sums);
}

static int
scene_open(void **state)
{
    rset_err err = RSET_ERR_NONE;
    scene   *s = calloc(1, sizeof *s);

    s->base = scratch_make();
    assert_int_equal(rset_dir_open(s->base, false, &s->dir, &err), RSET_OK);
    fill_random(s->bytes, sizeof s->bytes, 1);
    s->local = (rset_local){
        .dir = s->dir, .prefix = "a.", .nfiles = FILES, .names = names, .paths = names};
    s->info = (rset_info){.nfiles = FILES, .files = s->files};
    for (size_t i = 0, at = 0; i < FILES; at += sizes[i++]) {
        s->files[i].attrs.size = sizes[i];
        s->files[i].has_sums = true;
        sums_of(&s->files[i].sums, s->bytes + at, sizes[i]);
        write_file(path_of("%s/%s", s->base, names[i]), s->bytes + at, sizes[i]);
    }
    s->ev = (rset_evidence){.has_header = true, .name = strdup("redundancy")};
    s->own.desc = (rset_desc){.scheme = &rset_scheme_rs, .parity = 2};
    s->ev.header = (rset_header){
        .has_payload_sums = true, .chunk = PAYLOAD / 2, .ninfos = 1, .infos = &s->own};
    sums_of(&s->ev.header.payload, s->bytes, PAYLOAD);
    write_file(path_of("%s/redundancy", s->base), s->bytes, PAYLOAD);
    *state = s;
    return 0;
}

static int
scene_close(void **state)
{
    scene *s = *state;

    for (int i = 0; i < FILES; i++)
        rset_sums_free(&s->files[i].sums);
    rset_sums_free(&s->ev.header.payload);
    free(s->ev.name);
    rset_dir_close(s->dir);
    remove_tree(s->base);
    free(s->base);
    free(s);
    return 0;
}

static rset_status
verify_data(void *arg, rset_err *err)
{
    scene      *s = arg;
    rset_ranges bad = {0};
    bool        damaged;
    rset_status st = rset_verify_data(&s->local, &s->info, true, &bad, &damaged, err);

    rset_ranges_free(&bad);
    return st;
}

static rset_status
verify_payload(void *arg, rset_err *err)
{
    scene      *s = arg;
    rset_ranges bad = {0};
    rset_status st = rset_verify_payload(&s->local, &s->ev, true, &bad, err);

    rset_ranges_free(&bad);
    return st;
}

static rset_status
create_files(void *arg, rset_err *err)
{
    scene       *s = arg;
    rset_logical l;
    rset_status  st = rset_logical_create(&s->local, &s->info, &l, err);

    if (st == RSET_OK)
        st = rset_logical_close(&l, err);
    for (int i = 0; i < FILES; i++)
        remove_tree(path_of("%s/a.0.redset.%d.fix", s->base, i));
    return st;
}

/* The first file as it was before it changed: no block was kept. */
static rset_status
open_old(void *arg, rset_err *err)
{
    scene          *s = arg;
    rset_local      local = s->local;
    const rset_undo undo = {.there = true, .aside = true};
    rset_logical    l;
    rset_status     st;

    local.undo = &undo;
    st = rset_logical_open(&local, &s->info, &l, err);
    return st == RSET_OK ? rset_logical_close(&l, err) : st;
}

static void
verification(void **state)
{
    scene *s = *state;

    write_file(path_of("%s/a.redset.0000000000000000.old", s->base), s->bytes, sizes[0]);
    write_file(path_of("%s/a.redset.journal", s->base), s->bytes, 1);
    each_failure("verifying data", verify_data, s);
    each_failure("verifying a payload", verify_payload, s);
    each_failure("opening what was", open_old, s);
    each_failure("creating files", create_files, s);
    write_file(path_of("%s/a", s->base), s->bytes, 1); /* too short */
    write_file(path_of("%s/c", s->base), s->bytes, sizes[2]);
    write_file(path_of("%s/redundancy", s->base), s->bytes, 1);
    each_failure("verifying damaged data", verify_data, s);
    each_failure("verifying a damaged payload", verify_payload, s);
    write_file(path_of("%s/redundancy", s->base), s->bytes + 1, PAYLOAD);
    each_failure("verifying another payload", verify_payload, s);
}

/* ---- the reread ---- */

static rset_status
read_again(void *arg, bool payload, uint64_t off, void *buf, size_t len, rset_err *err)
{
    scene *s = arg;

    (void)payload;
    (void)err;
    memcpy(buf, s->bytes + off, len);
    return RSET_OK;
}

/* Single bytes, far apart, so that the list of them grows. */
static rset_status
reread(void *arg, rset_err *err)
{
    scene      *s = arg;
    rset_reread w = {0};
    rset_status st = rset_reread_begin(&s->info, &s->ev.header.payload, &w, err);

    for (uint64_t off = 0; off < BYTES; off += 50)
        rset_reread_data(&w, off, s->bytes + off, 1);
    for (uint64_t off = 0; off < PAYLOAD; off += 100)
        rset_reread_payload(&w, off, s->bytes + off, 1);
    if (st == RSET_OK)
        st = rset_reread_check(&w, RSET_REREAD_AGAIN, read_again, s, "file", err);
    rset_reread_free(&w);
    return st;
}

static void
rereads(void **state)
{
    each_failure("a reread", reread, *state);
}

/* ---- dividing and protecting, one rank alone ---- */

typedef struct errand {
    scene      *scene;
    rset_status st;
    rset_err   *err;
} errand;

static void
divide_and_protect(rset_comm *world, void *arg)
{
    errand     *e = arg;
    rset_wish   wish = {.scheme = &rset_scheme_single, .set_size = 1, .group = "here"};
    rset_layout layout = {0};

    e->st = rset_layout_form(world, &wish, "here", &layout, e->err);
    if (e->st == RSET_OK) {
        rset_protect_args args = {.world = world,
                                  .set = &layout.set,
                                  .ranks = layout.ranks,
                                  .local = &e->scene->local,
                                  .desc = layout.desc,
                                  .extra = true,
                                  .host = "here"};

        args.desc.generation = rset_generation_next(0, 1);
        e->st = rset_protect(&args, e->err);
        rset_layout_free(&layout);
    }
}

/* Who has no memory to talk to the others is one of them that does not come. */
static rset_status
silent_or(rset_status st, const rset_err *err)
{
    return st == RSET_PEER && strstr(err->text, "memory") != NULL ? RSET_NOMEM : st;
}

static rset_status
protect_serial(void *arg, rset_err *err)
{
    errand      e = {.scene = arg, .err = err};
    rset_status st = rset_local_run(1, 60, divide_and_protect, &e, err);

    return silent_or(st == RSET_OK ? e.st : st, err);
}

static void
protection(void **state)
{
    each_failure_of("protecting", true, protect_serial, *state);
}

/* ---- jobs that begin anew each time ---- */

typedef struct world {
    char *base;
    job   job;
    image image; /* what each attempt begins with */
} world;

/* A job of n ranks has written its files; `protected_`: and protected them. */
static void
open_world(world *w, const rset_scheme *scheme, int n, bool protected_)
{
    static const size_t size = BYTES;

    *w = (world){.base = scratch_make()};
    job_init(&w->job, w->base, n, scheme, scheme == &rset_scheme_single ? 0 : 1, n);
    job_write_data(&w->job, &size, 1, 1);
    if (protected_)
        assert_int_equal(job_protect(&w->job), RSET_OK);
    for (int r = 0; r < n; r++)
        rset_evidence_free(&w->job.ranks[r].evidence);
}

static void
close_world(world *w)
{
    image_free(&w->image);
    job_free(&w->job);
    remove_tree(w->base);
    free(w->base);
}

/* No allocation of the test's own fails. */
static void
begin_again(world *w)
{
    int may_fail = left;

    left = NEVER;
    for (int r = 0; r < w->job.n; r++)
        remove_tree(w->job.ranks[r].dir);
    image_put(&w->image, w->base, NULL);
    job_next_generation(&w->job);
    for (int r = 0; r < w->job.n; r++)
        rset_evidence_free(&w->job.ranks[r].evidence);
    left = may_fail;
}

/* What all ranks came to. */
static rset_status
run_all(world *w, void (*body)(rset_comm *comm, void *arg), rset_err *err)
{
    rset_status st = rset_local_run(w->job.n, 60, body, &w->job, err);

    for (int r = 0; st == RSET_OK && r < w->job.n; r++)
        if (w->job.ranks[r].st != RSET_OK)
            st = rset_fail(err, w->job.ranks[r].st, "%s", w->job.ranks[r].err.text);
    for (int r = 0; r < w->job.n; r++)
        rset_evidence_free(&w->job.ranks[r].evidence);
    return silent_or(st, err);
}

static rset_status
open_again(void *arg, rset_err *err)
{
    begin_again(arg);
    return run_all(arg, job_body_recover, err);
}

static rset_status
protect_parallel(void *arg, rset_err *err)
{
    begin_again(arg);
    return run_all(arg, job_body_protect, err);
}

static rset_status
rebuild_serial(void *arg, rset_err *err)
{
    world      *w = arg;
    rset_status st;

    begin_again(w);
    st = job_recover_serial(&w->job, 1);
    if (st != RSET_OK)
        (void)rset_fail(err, st, "%s", w->job.ranks[1].err.text);
    rset_evidence_free(&w->job.ranks[1].evidence);
    /* other members' files that cannot be looked at are done without; or it cannot be done */
    return st == RSET_LOST ? RSET_NOMEM : silent_or(st, err);
}

/* The rank's shadow file of the generation that is protected. */
static const char *
shadow_of(const job_rank *k)
{
    rset_evidence ev;
    rset_dir     *dir = NULL;
    char         *name;
    const char   *path;

    assert_int_equal(rset_dir_open(k->dir, false, &dir, NULL), RSET_OK);
    assert_int_equal(rset_survey(dir, k->prefix, k->names[0], &ev, NULL), RSET_OK);
    name = rset_shadow_name(k->prefix, rset_evidence_generation(&ev));
    assert_non_null(name);
    path = path_of("%s/%s", k->dir, name);
    free(name);
    rset_evidence_free(&ev);
    rset_dir_close(dir);
    return path;
}

/* One rank alone, whose job died in its commit. */
static void
finishing_a_commit(void **state)
{
    world       w;
    const char *data, *descriptor, *shadow;

    (void)state;
    open_world(&w, &rset_scheme_single, 1, true);
    data = job_data(&w.job, 0);
    descriptor = job_descriptor(&w.job, 0);
    shadow = shadow_of(&w.job.ranks[0]);
    assert_int_equal(rename(descriptor, path_of("%s" RSET_SUFFIX_NEW, descriptor)), 0);
    assert_int_equal(rename(data, shadow), 0);
    write_file(data, "old", 3);
    w.image = image_take(w.base);
    each_failure_of("finishing a commit", true, open_again, &w);
    assert_false(exists(shadow));
    assert_true(exists(descriptor));
    close_world(&w);
}

/* All of a striped set. */
static void
protecting_parallel(void **state)
{
    world w;

    (void)state;
    open_world(&w, &rset_scheme_xor, 3, false);
    w.image = image_take(w.base);
    each_failure_of("protecting together", true, protect_parallel, &w);
    assert_true(exists(job_redundancy(&w.job, 2)));
    close_world(&w);
}

/* P5: members of its set as threads; none of them waits for one that has no memory. */
static void
rebuilding_serial(void **state)
{
    world w;

    (void)state;
    open_world(&w, &rset_scheme_xor, 3, true);
    assert_int_equal(unlink(job_data(&w.job, 1)), 0);
    w.image = image_take(w.base);
    each_failure_of("rebuilding alone", true, rebuild_serial, &w);
    assert_true(exists(job_data(&w.job, 1)));
    close_world(&w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(protection, scene_open, scene_close),
        cmocka_unit_test(headers_and_names),
        cmocka_unit_test_setup_teardown(verification, scene_open, scene_close),
        cmocka_unit_test_setup_teardown(rereads, scene_open, scene_close),
        cmocka_unit_test(finishing_a_commit),
        cmocka_unit_test(protecting_parallel),
        cmocka_unit_test(rebuilding_serial),
    };

    alloc_fails = fails;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
