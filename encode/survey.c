/* survey.c: what the disk says about one rank's protection. See member.h. */
#include "journal.h"

#include "tree.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GENERATION_RANDOM_BITS = 40 };

bool
rset_generation_newer(uint64_t a, uint64_t b)
{
    return a >> GENERATION_RANDOM_BITS > b >> GENERATION_RANDOM_BITS ||
           (a >> GENERATION_RANDOM_BITS == b >> GENERATION_RANDOM_BITS && a > b);
}

uint64_t
rset_generation_next(uint64_t last, uint64_t nonce)
{
    nonce &= (UINT64_C(1) << GENERATION_RANDOM_BITS) - 1;
    return ((last >> GENERATION_RANDOM_BITS) + 1) << GENERATION_RANDOM_BITS | nonce | 1;
}

/* ---- names ---- */

typedef enum {
    NAME_DESC,
    NAME_PLAIN,
    NAME_VOID,
    NAME_NEW,
    NAME_FIX,
    NAME_BESIDE,
    NAME_BACK, /* the way back to old content */
    NAME_OTHER
} name_kind;

static bool
strip(char *name, const char *suffix)
{
    size_t n = strlen(name), m = strlen(suffix);

    if (n <= m || strcmp(name + n - m, suffix) != 0)
        return false;
    name[n - m] = '\0';
    return true;
}

/* "<prefix><digits>.redset.<digits>.fix": a data file that a rebuild was writing. */
static bool
is_data_temp(const char *name, size_t prefix_len)
{
    size_t at = prefix_len + strspn(name + prefix_len, "0123456789");
    size_t digits;

    if (at == prefix_len || strncmp(name + at, ".redset.", 8) != 0)
        return false;
    at += 8;
    digits = strspn(name + at, "0123456789");
    return digits > 0 && strcmp(name + at + digits, RSET_SUFFIX_FIX) == 0;
}

char *
rset_beside_name(const char *prefix, const char *name)
{
    char *joined = NULL;

    return asprintf(&joined, "%s%s", prefix, name) < 0 ? NULL : joined;
}

/* What kind of file of ours is `name`, given our prefix? `parsed` is filled unless NAME_OTHER or a
 * what lies beside a data file. */
static name_kind
classify(const char *name, const char *prefix, rset_name *parsed)
{
    size_t    prefix_len = strlen(prefix);
    char      bare[NAME_MAX + 1];
    name_kind kind = NAME_PLAIN;

    if (strncmp(name, prefix, prefix_len) != 0 || strlen(name) >= sizeof bare)
        return NAME_OTHER;
    parsed->scheme = NULL;
    if (is_data_temp(name, prefix_len))
        return NAME_FIX;
    if (strcmp(name + prefix_len, RSET_NAME_BESIDE) == 0)
        return NAME_BESIDE;
    if (strcmp(name + prefix_len, RSET_NAME_OLD) == 0 ||
        strcmp(name + prefix_len, RSET_NAME_JOURNAL) == 0)
        return NAME_BACK;
    memcpy(bare, name, strlen(name) + 1);
    if (strip(bare, RSET_SUFFIX_VOID))
        kind = NAME_VOID;
    else if (strip(bare, RSET_SUFFIX_NEW))
        kind = NAME_NEW;
    else if (strip(bare, RSET_SUFFIX_FIX))
        kind = NAME_FIX;
    if (!rset_format_parse_name(bare, parsed) || parsed->prefix_len != prefix_len)
        return NAME_OTHER;
    if (parsed->scheme == NULL)
        return kind == NAME_PLAIN ? NAME_DESC : kind;
    return kind;
}

/* ---- collecting names of one prefix ---- */

typedef struct names {
    const char *prefix;
    char      **at;
    size_t      n, room;
    bool        nomem;
} names;

static bool
collect(const char *name, void *arg)
{
    names    *list = arg;
    rset_name parsed;

    if (classify(name, list->prefix, &parsed) == NAME_OTHER)
        return true;
    if (list->n == list->room) {
        size_t room = list->room > 0 ? 2 * list->room : 8;
        char **grown = realloc(list->at, room * sizeof *grown);

        list->nomem = grown == NULL;
        if (list->nomem)
            return false;
        list->at = grown;
        list->room = room;
    }
    list->at[list->n] = strdup(name);
    list->nomem = list->at[list->n] == NULL;
    list->n += !list->nomem;
    return !list->nomem;
}

static rset_status
collect_names(rset_dir *dir, const char *prefix, names *out, rset_err *err)
{
    rset_status st;

    *out = (names){.prefix = prefix};
    st = rset_dir_list(dir, collect, out, err);
    if (st == RSET_OK && out->nomem)
        st = rset_fail(err, RSET_NOMEM, "%s: no memory to list the directory", rset_dir_path(dir));
    return st;
}

static void
names_free(names *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->at[i]);
    free(list->at);
}

/* ---- reading ---- */

/* Reads and checks the header of `name`. Any failure but lack of memory means: not there. */
static rset_status
read_header(rset_dir *dir, const char *name, const rset_name *parsed, rset_header *header_out,
            size_t *total_out, rset_err *err)
{
    rset_err    ignored = RSET_ERR_NONE;
    uint8_t     head[RSET_TREE_HEAD], *buf = NULL;
    rset_file  *file = NULL;
    struct stat info;
    size_t      got = 0, total = 0;
    rset_status st = rset_file_open(dir, name, &file, &ignored);

    if (st == RSET_OK)
        st = rset_file_stat(file, &info, &ignored);
    if (st == RSET_OK)
        st = rset_file_read(file, 0, head, sizeof head, &got, &ignored);
    if (st == RSET_OK && got < sizeof head)
        st = RSET_DAMAGED;
    if (st == RSET_OK)
        st = rset_tree_total(head, (uint64_t)info.st_size, name, &total, &ignored);
    if (st == RSET_OK && (buf = malloc(total)) == NULL)
        st = RSET_NOMEM;
    if (st == RSET_OK)
        st = rset_file_read(file, 0, buf, total, &got, &ignored);
    if (st == RSET_OK)
        st = got == total
                 ? rset_format_unpack_header(buf, total, name, parsed->member, header_out, &ignored)
                 : RSET_DAMAGED;
    if (st == RSET_OK)
        *total_out = total;
    free(buf);
    rset_file_close(file, NULL);
    if (st == RSET_NOMEM)
        return rset_fail(err, RSET_NOMEM, "%s/%s: no memory for its header", rset_dir_path(dir),
                         name);
    return st;
}

/* Does the header say what its file's name says? A file that was copied under another name is
 * somebody else's. */
static bool
names_itself(const rset_header *h, const rset_name *parsed)
{
    const rset_desc *d = &h->infos[0].desc;

    return d->rank == parsed->rank && d->scheme == parsed->scheme && d->set == parsed->set &&
           d->sets == parsed->sets && d->member == parsed->member && d->members == parsed->members;
}

/* `ahead`: a generation whose unpublished file counts as published, 0 for none. */
static rset_status
take_redundancy(rset_dir *dir, const char *name, name_kind kind, const rset_name *parsed,
                uint64_t ahead, rset_evidence *ev, rset_err *err)
{
    rset_header header = {0};
    size_t      total = 0;
    rset_status st = read_header(dir, name, parsed, &header, &total, err);
    uint64_t    generation;

    if (st != RSET_OK)
        return st == RSET_NOMEM ? st : RSET_OK;
    generation = header.infos[0].desc.generation;
    if (!names_itself(&header, parsed)) {
        st = RSET_OK;
    } else if (kind == NAME_NEW && (generation != ahead || ahead == 0)) {
        if (ev->next_name == NULL || rset_generation_newer(generation, ev->next)) {
            free(ev->next_name);
            ev->next = generation;
            ev->next_name = strdup(name);
        }
    } else if (!ev->has_header ||
               rset_generation_newer(generation, ev->header.infos[0].desc.generation)) {
        rset_header_free(&ev->header);
        free(ev->name);
        ev->header = header;
        header = (rset_header){0};
        ev->has_header = true;
        ev->is_void = kind == NAME_VOID;
        ev->payload_at = total;
        ev->name = strdup(name);
    }
    rset_header_free(&header);
    if ((ev->has_header && ev->name == NULL) || (ev->next != 0 && ev->next_name == NULL))
        return rset_fail(err, RSET_NOMEM, "%s: no memory", name);
    return st;
}

static rset_status
take_descriptor(rset_dir *dir, const char *name, const rset_name *parsed, rset_evidence *ev,
                rset_err *err)
{
    rset_err    ignored = RSET_ERR_NONE;
    uint8_t    *buf = NULL;
    rset_desc  *descs = NULL;
    size_t      len = 0;
    int         n = 0;
    rset_status st = rset_file_slurp(dir, name, RSET_TREE_MAX_BYTES, &buf, &len, &ignored);

    if (st == RSET_OK)
        st = rset_format_unpack_descs(buf, len, name, parsed->rank, &descs, &n, &ignored);
    if (st == RSET_OK && n > 0 && descs[0].rank == parsed->rank &&
        (!ev->has_desc || rset_generation_newer(descs[0].generation, ev->desc.generation))) {
        ev->has_desc = true;
        ev->desc = descs[0];
    }
    free(descs);
    free(buf);
    return st == RSET_NOMEM ? rset_fail(err, st, "%s: no memory", name) : RSET_OK;
}

static void
take_mark(rset_dir *dir, const char *data_name, rset_evidence *ev)
{
    rset_err   ignored = RSET_ERR_NONE;
    rset_file *file = NULL;

    if (rset_file_open(dir, data_name, &file, &ignored) == RSET_OK)
        ev->mark = rset_file_get_mark(file);
    rset_file_close(file, NULL);
}

static rset_status
survey(rset_dir *dir, const char *prefix, const char *data_name, uint64_t ahead, rset_evidence *out,
       rset_err *err)
{
    names         list;
    rset_evidence ev = {0};
    int           published = 0;
    rset_status   st = collect_names(dir, prefix, &list, err);

    for (size_t i = 0; st == RSET_OK && i < list.n; i++) {
        rset_name parsed;
        name_kind kind = classify(list.at[i], prefix, &parsed);

        if (kind == NAME_PLAIN || kind == NAME_VOID || (kind == NAME_NEW && parsed.scheme != NULL))
            st = take_redundancy(dir, list.at[i], kind, &parsed, ahead, &ev, err);
        else if (kind == NAME_DESC)
            st = take_descriptor(dir, list.at[i], &parsed, &ev, err);
        ev.any = ev.any || kind == NAME_DESC || kind == NAME_PLAIN || kind == NAME_VOID ||
                 kind == NAME_BACK;
        ev.beside = ev.beside || kind == NAME_BESIDE;
        published += kind == NAME_PLAIN || kind == NAME_VOID;
        ev.litter = ev.litter || published > 1 ||
                    (kind != NAME_DESC && kind != NAME_PLAIN && kind != NAME_VOID);
    }
    names_free(&list);
    take_mark(dir, data_name, &ev);
    ev.any = ev.any || ev.mark != 0;
    if (st == RSET_OK && ev.has_header && ev.is_void && ev.header.infos[0].nfiles == 1 &&
        ev.header.infos[0].files[0].has_sums)
        st = rset_old_load(dir, prefix, ev.header.infos[0].desc.generation,
                           ev.header.infos[0].files[0].attrs.size, &ev.old, err);
    if (st != RSET_OK)
        rset_evidence_free(&ev);
    else
        *out = ev;
    return st;
}

rset_status
rset_survey(rset_dir *dir, const char *prefix, const char *data_name, rset_evidence *out,
            rset_err *err)
{
    return survey(dir, prefix, data_name, 0, out, err);
}

rset_status
rset_survey_ahead(rset_dir *dir, const char *prefix, const char *data_name, uint64_t generation,
                  rset_evidence *out, rset_err *err)
{
    rset_status st = survey(dir, prefix, data_name, generation, out, err);
    rset_name   parsed;

    if (st == RSET_OK && out->has_header && classify(out->name, prefix, &parsed) == NAME_NEW) {
        out->has_desc = true; /* its descriptor was written with it */
        out->desc = out->header.infos[0].desc;
    }
    return st;
}

void
rset_evidence_free(rset_evidence *ev)
{
    rset_header_free(&ev->header);
    rset_old_free(&ev->old);
    free(ev->name);
    free(ev->next_name);
    *ev = (rset_evidence){0};
}

bool
rset_evidence_described(const rset_evidence *ev)
{
    const rset_desc *a = &ev->desc, *b;

    if (!ev->has_header || !ev->has_desc)
        return false;
    b = &ev->header.infos[0].desc;
    return a->scheme == b->scheme && a->parity == b->parity && a->set == b->set &&
           a->sets == b->sets && a->member == b->member && a->members == b->members &&
           a->rank == b->rank && a->ranks == b->ranks && a->generation == b->generation;
}

/* ---- removing and marking ---- */

rset_status
rset_forget(rset_dir *dir, const char *prefix, const char *keep_a, const char *keep_b,
            rset_err *err)
{
    names       list;
    rset_status st = collect_names(dir, prefix, &list, err), first = st;

    for (size_t i = 0; i < list.n; i++) {
        if ((keep_a != NULL && strcmp(list.at[i], keep_a) == 0) ||
            (keep_b != NULL && strcmp(list.at[i], keep_b) == 0))
            continue;
        st = rset_dir_unlink(dir, list.at[i], err);
        if (first == RSET_OK)
            first = st;
    }
    names_free(&list);
    return first;
}

rset_status
rset_set_void(rset_dir *dir, rset_evidence *ev, bool is_void, rset_err *err)
{
    size_t      bare;
    char       *name;
    rset_status st;

    if (!ev->has_header || ev->is_void == is_void)
        return RSET_OK;
    bare = strlen(ev->name) - (ev->is_void ? strlen(RSET_SUFFIX_VOID) : 0);
    name = malloc(bare + sizeof RSET_SUFFIX_VOID);
    if (name == NULL)
        return rset_fail(err, RSET_NOMEM, "%s/%s: no memory", rset_dir_path(dir), ev->name);
    snprintf(name, bare + sizeof RSET_SUFFIX_VOID, "%.*s%s", (int)bare, ev->name,
             is_void ? RSET_SUFFIX_VOID : "");
    st = rset_dir_rename(dir, ev->name, name, err);
    if (st == RSET_OK)
        st = rset_dir_sync(dir, err);
    if (st != RSET_OK) {
        free(name);
        return st;
    }
    free(ev->name);
    ev->name = name;
    ev->is_void = is_void;
    return RSET_OK;
}
