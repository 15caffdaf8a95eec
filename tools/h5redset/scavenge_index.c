/* scavenge_index.c: what is in the target, and what could not be brought there; h5redset(1) describes it. See scavenge.h. */
#include "exits.h"
#include "json.h"
#include "scavenge.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { INDEX_MAX = 1 << 30 };

static const char schema[] = "h5redset-scavenge/1";

/* ---- entries ---- */

/* Is everything there of what was protected together, as far as it was asked for? */
static bool
is_complete(const scavenge *s, const family *f)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->items[i].f == f && s->items[i].out.how == HOW_NOT)
            return false;
    return family_is_recorded(f);
}

static void
put_whose(json_t *to, const item *it)
{
    json_put_text(to, "name", it->name);
    json_put(to, "rank", it->m->rank >= 0 ? json_integer(it->m->rank) : json_null());
    json_put(to, "ranks",
             family_is_recorded(it->f) ? json_integer(it->f->desc.ranks) : json_null());
    json_put_generation(to, it->f->generation);
}

/* Where it was: of a file that was found nowhere the recorded path, and no host. */
static void
put_origin(json_t *to, const scavenge *s, const item *it)
{
    const sighting *from = it->out.from >= 0 ? &s->c->sightings->at[it->out.from] : it->m->seen;
    const char     *path = from != NULL           ? from->path
                           : it->m->known != NULL ? recorded_path(it->m->known)
                                                  : NULL;

    json_put_text(to, "host", from != NULL ? from->host : NULL);
    json_put_text(to, "path", path);
    if (it->m->seen != NULL && it->m->seen->renamed)
        json_put_text(to, "renamed_from", sighting_old_name(it->m->seen));
}

/* The files of an earlier index, by name. */
static json_t *
by_name(const json_t *old)
{
    const json_t *files = json_object_get(old, "files"), *one;
    json_t       *all = json_object();
    size_t        i;

    json_array_foreach((json_t *)files, i, one)
    {
        const char *name = json_string_value(json_object_get(one, "name"));

        if (name != NULL)
            json_put(all, name, json_deep_copy(one));
    }
    return all;
}

/* How a file that was kept came there, an earlier index says. */
static json_t *
earlier(const json_t *old, const item *it, const char *crc)
{
    char         *name = shown(it->name);
    const json_t *one = it->out.how == HOW_KEPT ? json_object_get(old, name) : NULL;
    const char   *sum = json_string_value(json_object_get(one, "crc64"));

    free(name);
    return sum != NULL && strcmp(sum, crc) == 0 ? json_deep_copy(one) : NULL;
}

static json_t *
there(const scavenge *s, const item *it, const json_t *old)
{
    char    crc[17];
    json_t *o;

    snprintf(crc, sizeof crc, "%016" PRIx64, it->out.crc);
    o = earlier(old, it, crc);
    if (o == NULL) {
        o = json_object();
        put_whose(o, it);
        json_put(o, "size", json_integer((json_int_t)it->out.size));
        json_put_text(o, "crc64", crc);
        json_put(o, "verified", json_boolean(it->out.verified));
        json_put_text(o, "how", scavenge_words[it->out.how]);
        put_origin(o, s, it);
    }
    return o;
}

static json_t *
not_there(const scavenge *s, const item *it)
{
    json_t *o = json_object();

    put_whose(o, it);
    put_origin(o, s, it);
    json_put_text(o, "why", it->out.why);
    return o;
}

/* What has a name in the target. */
static bool
look_at(const scavenge *s, const char *name, struct stat *sb)
{
    rset_dir *dir = NULL;
    bool      is = scavenge_enter(s, name, false, &dir, NULL) == RSET_OK &&
              rset_dir_stat(dir, rset_path_base(name), sb, NULL) == RSET_OK;

    if (dir != NULL)
        scavenge_leave(s, dir);
    return is;
}

/* Files that another run has brought, and that are still there. */
static void
add_earlier(const scavenge *s, json_t *old, json_t *files)
{
    const char *name;
    json_t     *one;

    for (size_t i = 0; i < s->n; i++) {
        char *mine = s->items[i].name != NULL ? shown(s->items[i].name) : NULL;

        if (mine != NULL)
            (void)json_object_del(old, mine);
        free(mine);
    }
    json_object_foreach(old, name, one)
    {
        struct stat sb;

        if (look_at(s, name, &sb))
            json_append(files, json_deep_copy(one));
    }
}

/* `old`: files of earlier runs, by name; those of this run are taken out. */
static json_t *
make_index(const scavenge *s, json_t *old)
{
    json_t *all = json_object(), *files = json_array(), *lost = json_array(),
           *failed = json_array();
    bool complete = false;

    for (size_t i = 0; i < s->n; i++) {
        const item *it = &s->items[i];

        if (i == 0 || it->f != s->items[i - 1].f)
            complete = is_complete(s, it->f);
        if (it->out.how != HOW_NOT) {
            json_t *one = there(s, it, old);

            json_put(one, "complete", json_boolean(complete));
            json_append(files, one);
        } else {
            json_append(it->out.status == EXITS_UNRECOVERABLE ? lost : failed, not_there(s, it));
        }
    }
    add_earlier(s, old, files);
    json_put_text(all, "schema", schema);
    json_put_text(all, "version", REDSET_VERSION);
    json_put_text(all, "checksum", "CRC-64/XZ");
    json_put(all, "files", files);
    json_put(all, "unrecoverable", lost);
    json_put(all, "failed", failed);
    return all;
}

/* ---- the file ---- */

/* NULL: there is none. One that is not ours is not replaced unless the user says so; what is no file is not opened. */
static rset_status
read_index(const scavenge *s, json_t **out, rset_err *err)
{
    rset_status st = RSET_OK;
    uint8_t    *text = NULL;
    size_t      len = 0;
    const char *is;
    struct stat sb;

    *out = rset_file_slurp(s->target, SCAVENGE_INDEX, INDEX_MAX, &text, &len, NULL) == RSET_OK
               ? json_loadb((const char *)text, len, JSON_REJECT_DUPLICATES, NULL)
               : NULL;
    is = json_string_value(json_object_get(*out, "schema"));
    if (is == NULL || strcmp(is, schema) != 0) {
        json_decref(*out);
        *out = NULL;
        if (look_at(s, SCAVENGE_INDEX, &sb) && !s->o->force)
            st = rset_fail(err, RSET_IO,
                           "%s/" SCAVENGE_INDEX ": is there, and is no index of h5redset scavenge; "
                           "move it away, or replace it with --force",
                           s->o->to);
    }
    free(text);
    return st;
}

/* What all files permit that this run has brought, and the index of earlier runs; false: there are none. */
static bool
permitted(const scavenge *s, rset_access *out)
{
    bool        any = false;
    struct stat sb;

    *out = RSET_ACCESS_ALL;
    for (size_t i = 0; i <= s->n; i++) {
        const char *name = i == s->n                        ? SCAVENGE_INDEX
                           : s->items[i].out.how != HOW_NOT ? s->items[i].name
                                                            : NULL;

        if (name != NULL && look_at(s, name, &sb) && S_ISREG(sb.st_mode)) {
            any = true;
            *out = rset_access_both(*out, rset_access_of(&sb));
        }
    }
    return any;
}

static rset_status
write_text(const scavenge *s, const char *text, rset_err *err)
{
    rset_access access;
    const bool  any = permitted(s, &access);
    rset_dir   *dir = NULL;
    rset_file  *file = NULL;
    rset_status st = rset_dir_open(s->stage, false, &dir, err), closed;

    if (st == RSET_OK)
        st = rset_file_create(dir, "index", any ? &access : NULL, &file, err);
    if (st == RSET_OK)
        st = rset_file_write(file, 0, text, strlen(text), err);
    if (st == RSET_OK)
        st = rset_file_sync(file, err);
    closed = rset_file_close(file, err);
    if (st == RSET_OK)
        st = closed;
    if (st == RSET_OK)
        st = scavenge_publish(s, dir, "index", SCAVENGE_INDEX, true, err);
    rset_dir_close(dir);
    return st;
}

rset_status
scavenge_write_index(const scavenge *s, rset_err *err)
{
    json_t     *old = NULL, *files, *now;
    char       *text;
    rset_status st = read_index(s, &old, err);

    if (st != RSET_OK)
        return st;
    files = by_name(old);
    now = make_index(s, files);
    text = json_dumps(now, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    if (text == NULL)
        no_memory();
    if (old == NULL || !json_equal(old, now)) {
        char *line = must_print("%s\n", text);

        st = write_text(s, line, err);
        free(line);
    }
    free(text);
    json_decref(old);
    json_decref(files);
    json_decref(now);
    return st;
}
