/* look.c: what one owner has in one directory. See look_internal.h. */
#include "files.h"
#include "look_internal.h"
#include "looked.h"
#include "owner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- one directory ---- */

typedef struct visit {
    rset_dir   *dir;
    const char *host, *path;
    struct stat sb; /* of the directory */
    sightings  *out;
    uint64_t    owner; /* whose files are looked at */
    bool        wants_older;
    strings  prefixes; /* of what says that a file was protected, or an older generation of one */
    strings  others;   /* what may be data files */
    strings  replaced; /* names of what other programs had made of files */
    rset_err failed;   /* the first name that could not be looked at: not all is known then */
} visit;

static bool
has_file(visit *v, const char *name)
{
    struct stat sb;

    return looked_at(v->dir, name, &sb, &v->failed) && S_ISREG(sb.st_mode);
}

/* Older generations that are kept are files of their own: none is the newest, nor a file that was renamed. */
static bool
is_of_older(const char *prefix)
{
    char      *base = must_print("%.*s", (int)strlen(prefix) - 1, prefix);
    const bool is = rset_name_kept(base) != 0;

    free(base);
    return is;
}

/* What protects a data file that is kept has this prefix, also where nothing is left of it. */
static void
add_kept(visit *v, const char *name)
{
    char *prefix = must_print("%s.", name);

    strings_add_once(&v->prefixes, prefix);
    free(prefix);
}

/* What lies under a name of somebody else's does not count. */
static bool
is_his(visit *v, const char *name)
{
    struct stat sb;

    return !owner_matters() ||
           (looked_at(v->dir, name, &sb, &v->failed) && owner_of(&sb) == v->owner);
}

static bool
visit_name(const char *name, void *arg)
{
    visit   *v = arg;
    rset_err err = RSET_ERR_NONE;
    char    *prefix = NULL;
    bool     ours = false;
    uint64_t number;

    if (!is_his(v, name))
        return true;
    if (rset_name_seen(name, &ours, &prefix, &err) != RSET_OK)
        no_memory();
    if (prefix != NULL)
        strings_add_once(&v->prefixes, prefix);
    free(prefix);
    if (rset_name_kept(name) != 0)
        add_kept(v, name);
    if (rset_name_changed(name, &number) > 0)
        strings_add(&v->replaced, name);
    if (!ours && has_file(v, name))
        strings_add(&v->others, name);
    return true;
}

static sighting *
add(const visit *v, const char *prefix, const char *name)
{
    sighting *s = sightings_add(v->out);

    s->owner = v->owner;
    s->host = must_copy(v->host);
    s->prefix = must_copy(prefix);
    sighting_place(s, v->path, name);
    s->older = rset_name_kept(name);
    s->aside = rset_name_is_put_aside(name);
    s->device = (uint64_t)v->sb.st_dev;
    s->inode = (uint64_t)v->sb.st_ino;
    s->changed = (uint64_t)v->sb.st_mtim.tv_sec * 1000000000 + (uint64_t)v->sb.st_mtim.tv_nsec;
    return s;
}

/* A file without anything of ours beside it: it may be one whose redundancy is lost. */
static void
look_at_bare(rset_dir *dir, sighting *s)
{
    rset_file  *file = NULL;
    struct stat sb;

    if (rset_file_open(dir, s->name, &file, NULL) == RSET_OK &&
        rset_file_stat(file, &sb, NULL) == RSET_OK) {
        s->there = true;
        s->size = (uint64_t)sb.st_size;
        s->said.mark = rset_file_get_mark(file);
        s->said.any = s->said.mark != 0;
    }
    rset_file_close(file, NULL);
}

/* The data file of a prefix: of what is kept, and where there is one, the prefix without its dot; else as its header records. */
static char *
data_name(visit *v, const char *prefix)
{
    size_t        n = strlen(prefix);
    const bool    dot = n > 0 && prefix[n - 1] == '.';
    char         *plain = must_print("%.*s", (int)(n - dot), prefix);
    rset_evidence ev = {0};
    rset_err      ignored = RSET_ERR_NONE;
    char         *name = plain;

    if (rset_name_kept(plain) != 0 || (dot && has_file(v, plain)))
        return plain;
    if (rset_survey(v->dir, prefix, plain, &ev, &ignored) == RSET_OK && ev.has_header &&
        ev.header.infos[0].nfiles > 0) {
        name = must_copy(rset_path_base(ev.header.infos[0].files[0].path));
        free(plain);
    }
    rset_evidence_free(&ev);
    return name;
}

/* The files of one prefix; where a commit is prepared also as they will be once it is finished. */
static void
look_at_both(const visit *v, const char *prefix, const char *name)
{
    sighting *s = add(v, prefix, name);

    look_at(s, false);
    if (s->said.next == 0 || s->said.next == rset_evidence_generation(&s->said))
        return;
    s = add(v, prefix, name);
    s->ahead = true;
    look_at(s, false);
}

static void
leave_out(strings *list, const char *text)
{
    const int at = strings_find(list, text);

    if (at >= 0)
        list->at[at][0] = '\0';
}

/* Is this a data file that was given its name without what protects it, recognised as the next open by all ranks does? What lies
 * under the name itself is of the file that it has replaced. Where that cannot be told it is looked at as what it is. */
static bool
is_renamed(visit *v, rset_left_behind *left, const char *name)
{
    const files_place at = {.dir = v->path, .name = name};
    rset_evidence     found = {0};
    rset_err          ignored = RSET_ERR_NONE;
    struct stat       file;
    files             f = {0};
    char             *old = NULL;
    bool              is;

    if (!looked_at(v->dir, name, &file, &v->failed) ||
        !rset_left_behind_fits(left, (uint64_t)file.st_size) ||
        files_open(&at, &f, &ignored) != RSET_OK)
        return false;
    (void)rset_left_behind_take(left, &f.local, &f.evidence, &old, &found, &ignored);
    is = old != NULL;
    if (is) {
        sighting *s = add(v, old, name);

        s->renamed = true;
        look_at(s, false);
        leave_out(&v->prefixes, old);
        leave_out(&v->prefixes, f.prefix);
    }
    rset_evidence_free(&found);
    free(old);
    files_close(&f);
    return is;
}

static rset_status
look_for_renamed(visit *v, rset_err *err)
{
    rset_left_behind left;
    rset_status      st = rset_left_behind_list(v->dir, &left, err);

    for (size_t i = 0; st == RSET_OK && left.n > 0 && i < v->others.n; i++)
        if (is_renamed(v, &left, v->others.at[i]))
            v->others.at[i][0] = '\0';
    rset_left_behind_free(&left);
    return st;
}

static void
count_space(visit *v, size_t from)
{
    rset_space counted = {0};

    for (size_t i = from; i < v->out->n; i++) {
        sighting   *s = &v->out->at[i];
        files       f = {0};
        rset_err    err = RSET_ERR_NONE;
        rset_status st = RSET_OK;

        if ((s->older == 0 || s->aside) && !s->ahead && !s->replaced) {
            st = files_open_seen(s, &f, &err);
            if (st == RSET_OK)
                st = rset_space_of(&counted, &f.local, &s->bytes, &err);
        }
        (void)looked(st, &err, &v->failed);
        files_close(&f);
    }
    rset_space_free(&counted);
}

static void
look_at_replaced(visit *v)
{
    struct stat file;

    for (size_t i = 0; i < v->replaced.n; i++) {
        const char *name = v->replaced.at[i];
        sighting   *s;

        if (!rset_changed_is(v->dir, name) || !looked_at(v->dir, name, &file, &v->failed))
            continue;
        s = add(v, "", name);
        s->replaced = true;
        s->size = (uint64_t)file.st_size;
        s->altered.when = file.st_mtim.tv_sec > 0 ? (uint64_t)file.st_mtim.tv_sec : 0;
    }
}

static void
look_at_all(visit *v)
{
    for (size_t i = 0; i < v->prefixes.n; i++) {
        const char *prefix = v->prefixes.at[i];
        char       *name;

        if (prefix[0] == '\0' || (is_of_older(prefix) && !v->wants_older))
            continue;
        name = data_name(v, prefix);
        if (!has_file(v, name) || is_his(v, name))
            look_at_both(v, prefix, name);
        leave_out(&v->others, name);
        free(name);
    }
    for (size_t i = 0; i < v->others.n; i++)
        if (v->others.at[i][0] != '\0')
            look_at_bare(v->dir, add(v, "", v->others.at[i]));
    look_at_replaced(v);
}

/* Notes the first file that is there and could not be looked at: it may be anything. Where one could be, and not be read, its set says what
 * it is. */
static void
note_unknown(visit *v, size_t from)
{
    for (size_t i = from; i < v->out->n; i++)
        if (sighting_is_unknown(&v->out->at[i]) && v->failed.status == RSET_OK)
            (void)rset_fail(&v->failed, RSET_IO, "%s", v->out->at[i].trouble);
}

bool
look_in(const places *where, const char *path, uint64_t owner, sightings *out, bool *named_out,
        rset_err *err)
{
    const size_t from = out->n;
    visit        v = {
               .host = where->host, .path = path, .out = out, .owner = owner, .wants_older = where->older};
    rset_status st = rset_dir_open(path, false, &v.dir, err);

    if (st == RSET_OK && stat(path, &v.sb) != 0)
        st = rset_fail_errno(err, RSET_IO, errno, "%s", path);
    *named_out = false;
    if (st == RSET_OK) /* is that where the user has named it, or only called so? */
        st = far_is_below(&where->paths, v.dir, false, named_out, err);
    if (st == RSET_OK)
        st = rset_dir_list(v.dir, visit_name, &v, err);
    if (st == RSET_OK) {
        st = look_for_renamed(&v, err);
        look_at_all(&v); /* what there is counts, whatever else it may be */
        note_unknown(&v, from);
        if (where->older)
            count_space(&v, from);
    }
    if (st == RSET_OK && v.failed.status != RSET_OK)
        st = rset_fail_as(err, &v.failed);
    rset_dir_close(v.dir);
    strings_free(&v.prefixes);
    strings_free(&v.others);
    strings_free(&v.replaced);
    return st == RSET_OK;
}
