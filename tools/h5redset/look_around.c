/* look_around.c: see look.h: in which directories, and as whom. Root looks at the files of each owner as that owner; at what somebody
 * has recorded it looks for him alone. */
#include "below.h"
#include "files.h"
#include "look_internal.h"
#include "looked.h"
#include "owner.h"
#include "progress.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

/* ---- owners ---- */

/* Who has files in a directory, and how many have something of ours. */
typedef struct crowd {
    rset_dir *dir;
    rset_err  failed; /* the first name that could not be looked at: nobody knows whose it is */
    size_t    n, room;
    struct {
        uint64_t owner;
        bool     ours;
    } * at;
} crowd;

static void
add_owner(crowd *c, uint64_t owner, bool ours)
{
    size_t i = 0;

    while (i < c->n && c->at[i].owner != owner)
        i++;
    if (i == c->n) {
        c->at = must_have_room(c->at, c->n, &c->room, sizeof *c->at);
        c->at[c->n].owner = owner;
        c->at[c->n++].ours = false;
    }
    c->at[i].ours = c->at[i].ours || ours;
}

static bool
count_name(const char *name, void *arg)
{
    crowd      *c = arg;
    rset_err    ignored = RSET_ERR_NONE;
    char       *prefix = NULL;
    bool        ours = false;
    struct stat sb;

    if (!looked_at(c->dir, name, &sb, &c->failed))
        return true;
    if (rset_name_seen(name, &ours, &prefix, &ignored) != RSET_OK)
        no_memory();
    free(prefix);
    if (ours || S_ISREG(sb.st_mode))
        add_owner(c, owner_of(&sb), ours);
    return true;
}

static rset_status
find_owners(const char *path, crowd *out, rset_err *err)
{
    rset_status st = rset_dir_open(path, false, &out->dir, err);

    if (st == RSET_OK)
        st = rset_dir_list(out->dir, count_name, out, err);
    if (st == RSET_OK && out->failed.status != RSET_OK)
        st = rset_fail_as(err, &out->failed);
    rset_dir_close(out->dir);
    return st;
}

/* ---- directories ---- */

/* Where to look: `all`, what everybody has there, else what `owner` has. */
typedef struct spot {
    char    *path; /* owned */
    bool     all, named;
    uint64_t owner;
} spot;

typedef struct spots {
    size_t n, room;
    spot  *at;
} spots;

static void
add_spot(spots *list, const spot *one)
{
    for (size_t i = 0; i < list->n; i++)
        if ((list->at[i].all || list->at[i].owner == one->owner) &&
            strcmp(list->at[i].path, one->path) == 0)
            return;
    list->at = must_have_room(list->at, list->n, &list->room, sizeof *list->at);
    list->at[list->n] = *one;
    list->at[list->n++].path = must_copy(one->path);
}

/* A directory and all below it; of a file, the directory that it is or was in. False: not all of what was named could be read, which is
 * told. */
static bool
add_named(spots *list, const char *path, bool named)
{
    strings  dirs = {0}, failed = {0};
    rset_err err = RSET_ERR_NONE;
    bool     is = false, all;

    if (looked_is_directory(path, &is, &err) != RSET_OK) {
        strings_add(&failed, err.text);
    } else if (is) {
        walk_below(path, &dirs, &failed);
    } else {
        char *dir = dir_of(path);

        strings_add(&dirs, dir);
        free(dir);
    }
    for (size_t i = 0; i < dirs.n; i++)
        add_spot(list, &(spot){.path = dirs.at[i], .all = true, .named = named});
    for (size_t i = 0; named && i < failed.n; i++)
        print_error("%s", failed.at[i]);
    all = !named || failed.n == 0;
    strings_free(&dirs);
    strings_free(&failed);
    return all;
}

static void
add_recorded(spots *list, const sightings *seen, size_t from)
{
    for (size_t i = from; i < seen->n; i++)
        for (int r = 0; r < sighting_records(&seen->at[i])->ninfos; r++) {
            const char *path = recorded_path(&sighting_records(&seen->at[i])->infos[r]),
                       *base = rset_path_base(path);
            char *dir;

            if (path[0] != '/' || base <= path + 1)
                continue;
            dir = dir_of(path);
            add_spot(list, &(spot){.path = dir, .owner = seen->at[i].owner});
            free(dir);
        }
}

/* ---- looking ---- */

/* Without what says that it is an older generation of a file, or what was made of one: these are asked for by the file's name. */
static void
cut_to_file(char *path)
{
    uint64_t     number;
    const size_t n = rset_name_changed(path, &number);

    path[n > 0 ? n : rset_name_recorded(path)] = '\0';
}

/* What was found in one directory: what of it was asked for. False: something is left that only seems to be where the user has said. */
static bool
note_asked(const places *where, sightings *out, size_t from, bool named)
{
    bool left = false;

    for (size_t i = from; i < out->n; i++) {
        char *path = must_copy(out->at[i].path);
        bool  within;

        cut_to_file(path);
        within = path_is_within(&where->paths, path);
        out->at[i].asked =
            within && (named || !where->changes || strings_find(&where->paths, path) >= 0);
        left = left || (within && !out->at[i].asked);
        free(path);
    }
    return !left;
}

/* `must`: what cannot be read has to be told. */
static bool
look_as(const places *where, const spot *at, uint64_t owner, bool must, sightings *out)
{
    rset_err     err = RSET_ERR_NONE;
    const size_t from = out->n;
    bool         named = false, all = owner_become(owner, &err) == RSET_OK;

    all = all && look_in(where, at->path, owner, out, &named, &err);
    owner_return();
    if (!all && must && err.status != RSET_ABSENT)
        print_error("%s", err.text);
    all = all || !must || err.status == RSET_ABSENT;
    if (!note_asked(where, out, from, named)) {
        print_error(
            "%s: is recorded, and a link leads from there out of what was named: nothing is "
            "changed there; name the directory itself",
            at->path);
        all = false;
    }
    return all;
}

static bool
look_for_all(const places *where, const spot *at, sightings *out)
{
    rset_err err = RSET_ERR_NONE;
    crowd    c = {0};
    bool     all = find_owners(at->path, &c, &err) == RSET_OK || err.status == RSET_ABSENT;

    if (!all && at->named)
        print_error("%s", err.text);
    all = all || !at->named;
    for (size_t i = 0; i < c.n; i++)
        all = look_as(where, at, c.at[i].owner, at->named && c.at[i].ours, out) && all;
    free(c.at);
    return all;
}

bool
look_around(const places *where, sightings *out)
{
    spots list = {0};
    bool  all = true;

    for (size_t i = 0; i < where->paths.n; i++)
        all = add_named(&list, where->paths.at[i], true) && all;
    for (size_t i = 0; i < where->search.n; i++)
        (void)add_named(&list, where->search.at[i], false);
    for (size_t i = 0; i < list.n; i++) {
        const size_t from = out->n;
        const spot   at = list.at[i];

        if (at.all && owner_matters())
            all = look_for_all(where, &at, out) && all;
        else
            all = look_as(where, &at, at.all ? owner_self() : at.owner, at.named, out) && all;
        add_recorded(&list, out, from);
    }
    for (size_t i = 0; i < list.n; i++)
        free(list.at[i].path);
    free(list.at);
    return all;
}

/* Does its redundancy file say what its content should be? */
static bool
is_compared(const sighting *s, bool older)
{
    return sighting_records(s)->ninfos > 0 && (older || s->older == 0);
}

void
look_closely(sightings *list, bool older, bool show)
{
    uint64_t total = 0;

    for (size_t i = 0; i < list->n; i++)
        if (is_compared(&list->at[i], older))
            total += list->at[i].size + list->at[i].redundancy_size;
    progress_begin(show, "verifying", total);
    for (size_t i = 0, next; i < list->n; i = next) {
        rset_err  err = RSET_ERR_NONE;
        sightings his = sightings_of(list, sightings_next_owner(list, i, &next));

        if (owner_become(his.at[0].owner, &err) != RSET_OK)
            continue; /* then nothing was seen of his */
        for (size_t k = 0; k < his.n; k++)
            if (is_compared(&his.at[k], older))
                look_at(&his.at[k], true);
        look_at_unrecorded(&his, older);
        owner_return();
    }
    progress_end();
}
