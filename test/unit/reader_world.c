/* reader_world.c: see reader_world.h. */
#include "reader_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

const size_t reader_sizes[6] = {300001, 4096, 4097, 70000, 0, 9};

static void
name_it(job_rank *k, const char *base, int node, const char *name)
{
    free(k->dir);
    free(k->prefix);
    free(k->names[0]);
    assert_true(asprintf(&k->dir, "%s/node%d", base, node) > 0);
    assert_true(asprintf(&k->names[0], "%s", name) > 0);
    assert_true(asprintf(&k->prefix, "%s.", name) > 0);
}

const char *
name_of(int step, int rank)
{
    return path_of("f%d.%d.h5", rank, step);
}

void
reader_world_open(world *w, const rset_scheme *scheme, int parity, int steps)
{
    *w = (world){.base = scratch_make(), .steps = steps};
    for (int s = 0; s < steps; s++) {
        job_init(&w->job[s], w->base, WRITERS, scheme, parity, NODES);
        for (int r = 0; r < WRITERS; r++)
            name_it(&w->job[s].ranks[r], w->base, r % NODES, name_of(s, r));
        job_write_data(&w->job[s], reader_sizes, 6, s + 1);
        if (job_protect(&w->job[s]) != RSET_OK)
            fail_msg("%s", job_text(&w->job[s]));
    }
    w->image = image_take(w->base);
}

void
reader_world_close(world *w)
{
    remove_tree(w->base);
    free(w->base);
    image_free(&w->image);
    for (int s = 0; s < w->steps; s++)
        job_free(&w->job[s]);
}

void
reader_world_lose(const world *w, unsigned lost)
{
    for (int k = 0; k < WRITERS; k++)
        remove_tree(path_of("%s/node%d", w->base, k));
    image_put(&w->image, w->base, NULL);
    for (int k = 0; k < WRITERS; k++) {
        if ((lost >> k & 1) != 0)
            remove_tree(path_of("%s/node%d", w->base, k));
        mkdir(path_of("%s/node%d", w->base, k), 0777);
    }
}

rset_status
read_all(const world *w, const reader *who, int n, job *readers)
{
    job_init(readers, w->base, n, &rset_scheme_single, 0, 1);
    readers->content = RSET_CONTENT_DATA;
    readers->reads = !w->writes;
    readers->required = w->required;
    readers->search = w->search;
    for (int i = 0; i < n; i++)
        name_it(&readers->ranks[i], w->base, who[i].node, name_of(who[i].step, who[i].file));
    return job_recover(readers);
}

rset_reason
expect_read(const world *w, const reader *who, int n)
{
    rset_reason reason;
    job         readers;

    if (read_all(w, who, n, &readers) != RSET_OK)
        fail_msg("%d ranks, rank 0 opens file %d of step %d: %s", n, who[0].file, who[0].step,
                 job_text(&readers));
    for (int i = 0; i < n; i++) {
        const char *was = path_of("node%d/%s", who[i].file % NODES, readers.ranks[i].names[0]);
        char        why[1024];

        if (!image_same_file(&w->image, was, job_data(&readers, i), why))
            fail_msg("%s", why);
    }
    reason = readers.ranks[0].out.reason;
    job_free(&readers);
    return reason;
}

void
expect_not_read(const world *w, const reader *who, int n, const char *text)
{
    image before = image_take(w->base);
    job   readers;
    char  why[1024];

    assert_int_equal(read_all(w, who, n, &readers), RSET_LOST);
    if (strstr(job_text(&readers), text) == NULL)
        fail_msg("not said: %s, but %s", text, job_text(&readers));
    if (!image_same(&before, w->base, NULL, IMAGE_UNTOUCHED, why))
        fail_msg("refused, but %s", why);
    image_free(&before);
    job_free(&readers);
}
