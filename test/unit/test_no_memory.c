/* test_no_memory.c: each allocation of parser, names, verification and reread fails in turn: the
 * caller is told so, nothing is handed out, nothing is left behind. Operations of several ranks: test_no_memory_jobs.c;
 * sweep_oom does the same to whole ones, where there are too many points to try each for every change. */
#include "comm/comm_local.h"
#include "format/tree.h"
#include "format_samples.h"
#include "image.h"
#include "layout/layout.h"
#include "member/member.h"
#include "no_memory.h"
#include "protect/protect.h"
#include "set/reread.h"
#include "sums.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

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
        sums_of(&s->files[i].sums, s->bytes + at, sizes[i], BLOCK);
        write_file(path_of("%s/%s", s->base, names[i]), s->bytes + at, sizes[i]);
    }
    s->ev = (rset_evidence){.has_header = true, .name = strdup("redundancy")};
    s->own.desc = (rset_desc){.scheme = &rset_scheme_rs, .parity = 2};
    s->ev.header = (rset_header){
        .has_payload_sums = true, .chunk = PAYLOAD / 2, .ninfos = 1, .infos = &s->own};
    sums_of(&s->ev.header.payload, s->bytes, PAYLOAD, BLOCK);
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
    rset_damage found = {0};
    rset_status st = rset_verify_data(&s->local, &s->info, true, &found, err);

    rset_damage_free(&found);
    return st;
}

static rset_status
verify_payload(void *arg, rset_err *err)
{
    scene      *s = arg;
    rset_damage found = {0};
    rset_status st = rset_verify_payload(&s->local, &s->ev, true, &found, err);

    rset_damage_free(&found);
    return st;
}

static rset_status
create_files(void *arg, rset_err *err)
{
    scene       *s = arg;
    rset_logical l;
    rset_status  st = rset_logical_create(&s->local, &s->info, &RSET_ACCESS_ALL, &l, err);

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

    write_file(path_of("%s/a.redset.0000000000000000.data", s->base), s->bytes, sizes[0]);
    write_file(path_of("%s/a.redset.0000000000000000.undo", s->base), s->bytes, 1);
    each_failure("verifying data", verify_data, s);
    each_failure("verifying a payload", verify_payload, s);
    each_failure("opening what was", open_old, s);
    /* whether what has the name only stands in for a shadow file: else its recorded mode is taken */
    each_failure_of("creating files", true, create_files, s);
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
        st = rset_reread_check(&w, read_again, s, "file", err);
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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(protection, scene_open, scene_close),
        cmocka_unit_test(headers_and_names),
        cmocka_unit_test_setup_teardown(verification, scene_open, scene_close),
        cmocka_unit_test_setup_teardown(rereads, scene_open, scene_close),
    };

    alloc_fails = fails;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
