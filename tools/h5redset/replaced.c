/* replaced.c: see replaced.h. */
#include "replaced.h"

#include "exits.h"
#include "files.h"
#include "json.h"

#include <stdlib.h>
#include <string.h>

/* ---- whose they are ---- */

/* Storage that several nodes share is seen by each of them: the first of these is enough. */
static bool
is_seen_before(const sightings *all, const sighting *s)
{
    for (const sighting *t = all->at; t < s; t++)
        if (sighting_is_shared(t, s))
            return true;
    return false;
}

static bool
is_meant(const sightings *all, const sighting *s)
{
    return s->asked && !is_seen_before(all, s);
}

/* The path of the data file that it was. A new string. */
static char *
path_before(const sighting *s)
{
    uint64_t number;

    return must_print("%.*s", (int)rset_name_changed(s->path, &number), s->path);
}

static unsigned
generation_of(const sighting *s)
{
    uint64_t number = 0;

    (void)rset_name_changed(s->name, &number);
    return generation_number(number);
}

/* Of several files that are protected together the first has the sighting, and the others are recorded. */
static bool
is_one_of(const sighting *file, const char *path)
{
    const rset_info *own = sighting_records(file)->infos;
    bool             is = strcmp(file->path, path) == 0;

    for (int i = 1; own != NULL && !is && i < own->nfiles; i++) {
        char *other = absolute(own->files[i].path);

        is = strcmp(other, path) == 0;
        free(other);
    }
    return is;
}

static bool
is_of(const sighting *s, const sighting *file)
{
    char      *path = path_before(s);
    const bool is =
        s->owner == file->owner && strcmp(s->host, file->host) == 0 && is_one_of(file, path);

    free(path);
    return is;
}

/* -1: nothing says it. */
static int
rank_of(const catalog *c, const sighting *s)
{
    for (size_t i = 0; i < c->n; i++)
        for (int m = 0; m < c->sets[i]->desc.members; m++) {
            const member *one = &c->sets[i]->members[m];

            if (one->seen != NULL && is_of(s, one->seen))
                return one->rank;
        }
    return -1;
}

size_t
replaced_asked(const sightings *all)
{
    size_t n = 0;

    for (size_t i = 0; i < all->n; i++)
        n += is_meant(all, &all->at[i]);
    return n;
}

/* ---- shown ---- */

static void
print_one(const sighting *s, const catalog *c, FILE *to)
{
    const int rank = rank_of(c, s);
    char      size[32], when[40], whose[32] = "";

    rset_time_say(s->altered.when, when, sizeof when);
    if (rank >= 0)
        snprintf(whose, sizeof whose, "rank %d, ", rank);
    print_line(to, "  %sgeneration %u: %s:%s, %s, written%s", whose, generation_of(s), s->host,
               s->path, rset_amount_say(s->size, size), when);
}

void
report_replaced(const sightings *all, const catalog *c, FILE *to)
{
    if (replaced_asked(all) == 0)
        return;
    fputs("put aside, since another program had changed it, when the file was restored:\n", to);
    for (size_t i = 0; i < all->n; i++)
        if (is_meant(all, &all->at[i]))
            print_one(&all->at[i], c, to);
    fputs("    -> rename what you want to keep: two more commits of the file remove it, and "
          "'h5redset "
          "drop --changed' does so at once\n",
          to);
}

static json_t *
json_of_one(const sighting *s, const catalog *c)
{
    json_t   *o = json_object();
    const int rank = rank_of(c, s);

    json_put_text(o, "path", s->path);
    json_put_text(o, "host", s->host);
    json_put(o, "rank", rank >= 0 ? json_integer(rank) : json_null());
    json_put(o, "generation", json_integer((json_int_t)generation_of(s)));
    json_put(o, "size", json_integer((json_int_t)s->size));
    json_put(o, "time", json_integer((json_int_t)s->altered.when));
    return o;
}

json_t *
json_of_replaced(const sightings *all, const catalog *c)
{
    json_t *list = json_array();

    for (size_t i = 0; i < all->n; i++)
        if (is_meant(all, &all->at[i]))
            json_append(list, json_of_one(&all->at[i], c));
    return list;
}

/* ---- left, and removed ---- */

static void
tell(const job *j, const sighting *s, const char *what)
{
    job_tell(j, s->host, s->path, what);
}

static void
tell_left(const job *j, const sighting *s)
{
    tell(j, s,
         "stays there: another program had changed the file to this; 'h5redset drop --changed' "
         "removes it");
}

void
replaced_tell_left(const job *j, const sightings *all, const sighting *file)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i].by == j->rank && is_of(&all->at[i], file))
            tell_left(j, &all->at[i]);
}

void
replaced_tell_not_brought(const job *j, const sightings *all)
{
    for (size_t i = 0; j->rank == 0 && i < all->n; i++)
        if (is_meant(all, &all->at[i]))
            tell(j, &all->at[i],
                 "not brought: another program had changed the file to this; copy it if you want "
                 "to keep it");
}

static rset_status
remove_one(const options *o, const sighting *s, rset_err *err)
{
    char       *path = path_before(s);
    files       f = {0};
    rset_status st = files_open_path(path, (files_place){.within = &o->paths}, &f, err);

    if (st == RSET_OK)
        st = rset_changed_remove(f.dir, s->name, err);
    files_close(&f);
    free(path);
    return st;
}

int
replaced_remove(const job *j, const options *o, const sightings *all, const sighting *file)
{
    int worst = 0;

    for (size_t i = 0; i < all->n; i++) {
        const sighting *s = &all->at[i];
        rset_err        err = RSET_ERR_NONE;

        if (s->by != j->rank || (file != NULL ? !is_of(s, file) : !is_meant(all, s)))
            continue;
        if (!o->dry_run && remove_one(o, s, &err) != RSET_OK) {
            print_error("%s", err.text);
            worst = EXITS_ERROR;
        } else {
            tell(j, s, o->dry_run ? "would be removed" : "was removed");
        }
    }
    return worst;
}
