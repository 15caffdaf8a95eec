/* sweep_older.c: damaged bytes in what older generations are kept as (keep=): their data, what leads back to it, and what protects
 * them. An older generation is what it was, or refused on all ranks, and while the scheme covers one rank the damage of one is
 * made good; the newest is not concerned. All of that is judged by judge.h and olders.h. */
#include "judge.h"
#include "names/names.h"
#include "olders.h"
#include "sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLE = 5, STRIDE = 97, HEAD = 64 };

static bool
is_older(const image_file *f)
{
    return f->size > 0 && image_after_generation(f->path) != NULL &&
           strstr(f->path, RSET_NAME_NAMES) == NULL;
}

/* What is protected as the newest is what it was, to the bit. */
static void
check_newest(const judge_case *c)
{
    const scene *s = c->scene;
    bool         protected_ = false;

    if (judge_recover(c, SCENE_OLD, "the newest", &protected_) == SCENE_OLD && !protected_)
        sweep_violation("%s: the newest is not protected any more", c->what);
    for (int r = 0; r < SCENE_RANKS; r++) {
        const char       *paths[] = {job_data(&s->job, r), job_redundancy(&s->job, r)};
        const image_file *was;

        for (int i = 0; i < 2; i++) {
            size_t   size = 0;
            uint8_t *now = exists(paths[i]) ? read_file(paths[i], &size) : NULL;

            was = image_find(&s->start, paths[i] + strlen(s->base) + 1);
            if (now == NULL || was == NULL || size != was->size ||
                memcmp(now, was->data, size) != 0)
                sweep_violation("%s: %s is another one", c->what, paths[i]);
            free(now);
        }
    }
}

/* One bit of each of `n` files, at these places. */
static void
flip(scene *s, const image_file *const *files, const size_t *at, int n)
{
    char       what[512];
    int        used = snprintf(what, sizeof what, "%s, bits of", scene_name(s));
    judge_case c = {.scene = s, .what = what};

    scene_begin(s);
    for (int i = 0; i < n; i++) {
        flip_bit(path_of("%s/%s", s->base, files[i]->path), at[i]);
        used += snprintf(what + used, sizeof what - (size_t)used, " %s:%zu", files[i]->path, at[i]);
    }
    sweep_point();
    olders_judge(&c, SCENE_OLD, n == 1 && scene_tolerance(s) > 0, "damaged");
    check_newest(&c);
}

static void
every_place(scene *s, const image_file *f)
{
    for (size_t at = 0; at < f->size; at += at < HEAD ? 1 : STRIDE)
        flip(s, &f, &at, 1);
}

static size_t
some_place(const image_file *f)
{
    const size_t within = f->size > HEAD && sweep_random(2) != 0 ? HEAD : f->size;

    return sweep_random((uint32_t)within);
}

/* Of two ranks, or of one: with SINGLE nobody else knows what a rank's file was when its own record is damaged as well. */
static void
some_places(scene *s, const image_file *const *files, int n)
{
    for (int i = 0; i < sweep_sample(SAMPLE); i++) {
        const image_file *two[2] = {files[sweep_random((uint32_t)n)], NULL};
        size_t            at[2] = {some_place(two[0])};

        do
            two[1] = files[sweep_random((uint32_t)n)];
        while (atoi(two[1]->path + strlen("node")) == atoi(two[0]->path + strlen("node")));
        at[1] = some_place(two[1]);
        flip(s, two, at, 1 + i % 2);
    }
}

static void
try_scene(scene *s)
{
    const image_file *files[256];
    int               n = 0;

    if ((s->op->flags & SCENE_ROOT) !=
        0) /* lies whole on each node, and is judged otherwise: unit.replicas_kept */
        return;
    for (size_t i = 0; s->nolder > 0 && i < s->start.n; i++)
        if (is_older(&s->start.at[i]) && n < 256)
            files[n++] = &s->start.at[i];
    for (int i = 0; sweep_all() && i < n; i++)
        every_place(s, files[i]);
    if (n > 0)
        some_places(s, files, n);
}

int
main(int argc, char **argv)
{
    sweep_begin("older", argc, argv);
    scene_each(1, try_scene);
    return sweep_end();
}
