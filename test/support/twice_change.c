/* twice_change.c: see twice_change.h. */
#include "twice_change.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

rset_label change_label = {.job = 1, .step = 1, .ranks = TWICE_RANKS};

rset_label
step_of(uint64_t step)
{
    return (rset_label){.job = 1, .step = step, .ranks = TWICE_RANKS};
}

rset_label
one_process(void)
{
    static uint64_t next = 1000;

    return (rset_label){.job = next++, .step = 1, .ranks = 1};
}

typedef struct change {
    uint64_t off;
    size_t   len;
} change;

/* Within a block, over several, the same again, beyond the end. */
static const change changes[CHANGES] = {{10, 1}, {4000, 9000}, {9, 100}, {29990, 5000}, {1, 2}};

void
change_open(change_of *c, const twice *w, int r)
{
    const job_rank *k = &w->job.ranks[r];
    rset_err        err = RSET_ERR_NONE;

    *c = (change_of){.names = {k->names[0]}, .paths = {k->names[0]}};
    assert_int_equal(rset_dir_open(k->dir, false, &c->dir, &err), RSET_OK);
    c->local = (rset_local){
        .dir = c->dir, .prefix = k->prefix, .nfiles = 1, .names = c->names, .paths = c->paths};
    assert_int_equal(rset_survey(c->dir, k->prefix, k->names[0], &c->ev, &err), RSET_OK);
}

void
change_close(change_of *c, change_end end)
{
    rset_err err = RSET_ERR_NONE;

    if (end == END_BLIND)
        assert_int_equal(rset_journal_give_up(c->journal, &err), RSET_OK);
    if (end == END_CLOSED && c->journal != NULL)
        assert_int_equal(rset_journal_close(c->journal, &change_label, &err), RSET_OK);
    else
        rset_journal_leave(c->journal);
    rset_evidence_free(&c->ev);
    rset_dir_close(c->dir);
}

void
change_bytes(change_of *c, const twice *w, int r, uint64_t off, size_t len)
{
    static uint8_t buf[16384];
    rset_err       err = RSET_ERR_NONE;
    int            fd = open(job_data(&w->job, r), O_RDWR);

    fill_random(buf, len, off + len);
    assert_int_equal(rset_journal_save(c->journal, off, len, &err), RSET_OK);
    assert_int_equal(pwrite(fd, buf, len, (off_t)off), len);
    close(fd);
}

void
update(const twice *w, int r, int n, change_end end)
{
    change_of c;
    rset_err  err = RSET_ERR_NONE;

    change_open(&c, w, r);
    assert_int_equal(rset_change_begin(&c.local, &c.ev, true, &c.journal, &err), RSET_OK);
    for (int i = 0; i < n; i++)
        change_bytes(&c, w, r, changes[i].off, changes[i].len);
    change_close(&c, end);
}

void
update_all(const twice *w, int n, change_end end)
{
    for (int r = 0; r < TWICE_RANKS; r++)
        update(w, r, n, end);
}

const char *
beside_of(const twice *w, int r, const char *name)
{
    return path_of("%s/%s%s", w->job.ranks[r].dir, w->job.ranks[r].prefix, name);
}

const char *
journal_of(const twice *w, int r)
{
    return journal_in(w->job.ranks[r].dir, w->job.ranks[r].prefix);
}

const char *
shadow_of(const twice *w, int r)
{
    char       *name = rset_name_of(RSET_NAME_SHADOW, w->job.ranks[r].prefix, SHADOW_GENERATION);
    const char *path = path_of("%s/%s", w->job.ranks[r].dir, name);

    free(name);
    return path;
}

void
note_name(const twice *w, int r, const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    rset_dir   *dir = NULL;
    rset_err    err = RSET_ERR_NONE;

    assert_int_equal(rset_dir_open(w->job.ranks[r].dir, false, &dir, &err), RSET_OK);
    assert_int_equal(rset_names_note(dir, w->job.ranks[r].prefix, &name, 1, &err), RSET_OK);
    rset_dir_close(dir);
}

void
write_shadow(const twice *w, int r, size_t size)
{
    static uint8_t buf[16384];

    note_name(w, r, shadow_of(w, r));
    fill_random(buf, size, 4711);
    write_file(shadow_of(w, r), buf, size);
}

void
put_in_place(const twice *w, int r)
{
    change_of     c;
    rset_err      err = RSET_ERR_NONE;
    rset_journal *journal = NULL;
    char         *name = rset_name_of(RSET_NAME_SHADOW, w->job.ranks[r].prefix, SHADOW_GENERATION);

    change_open(&c, w, r);
    c.local.shadow = name;
    assert_int_equal(rset_shadow_settle(&c.local, &c.ev, true, &journal, &err), RSET_OK);
    assert_int_equal(rset_journal_close(journal, &change_label, &err), RSET_OK);
    change_close(&c, END_KILLED);
    free(name);
}

void
lose_redundancy(const twice *w, int r)
{
    const char *name = job_redundancy(&w->job, r);

    unlink(name);
    unlink(path_of("%s" RSET_SUFFIX_VOID, name));
}

void
assert_data_as(const twice *w, const image *img)
{
    for (int r = 0; r < TWICE_RANKS; r++)
        twice_assert_image(w, img, job_data(&w->job, r) + strlen(w->base) + 1, IMAGE_CONTENT);
}

void
assert_left_as_it_is(twice *w)
{
    image before = image_take(w->base);

    assert_int_equal(job_recover(&w->job), RSET_OK);
    assert_false(w->job.ranks[0].out.protected_);
    twice_assert_image(w, &before, NULL, IMAGE_CONTENT);
    image_free(&before);
}

void
hide(const twice *w, int r, bool hidden)
{
    const char *plain = job_redundancy(&w->job, r);
    const char *name = hidden && exists(plain) ? plain : path_of("%s" RSET_SUFFIX_VOID, plain);
    const char *away = path_of("%s/away%d", w->base, r);

    assert_int_equal(hidden ? rename(name, away) : rename(away, name), 0);
}
