/* search.c: finds the pieces that one process can reach: which rank's file this is, and what the other members of its set
 * have. See serial_internal.h. */
#include "names/names.h"
#include "serial_internal.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- directories ---- */

static rset_status
add_dir(rset_search *s, const char *path, size_t len)
{
    for (size_t i = 0; i < s->ndirs; i++)
        if (strlen(s->dirs[i]) == len && memcmp(s->dirs[i], path, len) == 0)
            return RSET_OK;
    if (s->ndirs == s->room) {
        size_t room = s->room > 0 ? 2 * s->room : 8;
        char **grown = realloc(s->dirs, room * sizeof *grown);

        if (grown == NULL)
            return rset_fail(s->err, RSET_NOMEM, "no memory for directory names");
        s->dirs = grown;
        s->room = room;
    }
    s->dirs[s->ndirs] = strndup(path, len);
    if (s->dirs[s->ndirs] == NULL)
        return rset_fail(s->err, RSET_NOMEM, "no memory for directory names");
    s->ndirs++;
    return RSET_OK;
}

/* Recorded paths say where other members' files were; read-only, so a hostile one does no harm. */
static rset_status
add_recorded_dirs(rset_search *s, const rset_header *h)
{
    rset_status st = RSET_OK;

    for (int d = 0; d < h->ninfos; d++)
        for (int i = 0; st == RSET_OK && i < h->infos[d].nfiles; i++) {
            const char *path = h->infos[d].files[i].path, *base = rset_path_base(path);

            if (base > path + 1)
                st = add_dir(s, path, (size_t)(base - path) - 1);
        }
    return st;
}

/* Lists every directory, also those that are added meanwhile. */
static rset_status
each_dir(rset_search *s, bool (*visit)(const char *name, void *arg))
{
    s->st = RSET_OK;
    for (size_t i = 0; s->st == RSET_OK && i < s->ndirs; i++) {
        rset_err ignored = RSET_ERR_NONE;

        if (rset_dir_open(s->dirs[i], false, &s->dir, &ignored) != RSET_OK)
            continue;
        rset_dir_list(s->dir, visit, s, &ignored);
        rset_dir_close(s->dir);
        s->dir = NULL;
    }
    return s->st;
}

/* ---- whose file is it ---- */

/* The name without that suffix, if it has it. */
static void
leave_out(char *name, const char *suffix)
{
    const size_t n = strlen(name), m = strlen(suffix);

    if (n > m && strcmp(name + n - m, suffix) == 0)
        name[n - m] = '\0';
}

/* The redundancy file `name` (void mark or not) of s->dir taken apart; false: it is none. Of a generation that is kept there may be
 * no more than an update. */
static bool
redundancy_name(const rset_search *s, const char *name, char *bare, size_t size, rset_name *parsed)
{
    size_t n = strlen(name);

    if (n >= size)
        return false;
    memcpy(bare, name, n + 1);
    leave_out(bare, RSET_SUFFIX_VOID);
    if (rset_name_kept(s->args->local->names[0]) != 0)
        leave_out(bare, RSET_SUFFIX_REDO);
    return rset_format_parse_name(bare, parsed) && parsed->scheme != NULL;
}

/* Does the redundancy file protect a file of the generation that is wanted? Of those that are kept, none is taken for another. */
static bool
is_of_generation(const rset_search *s, char *bare, const rset_name *parsed)
{
    char *end = bare + parsed->prefix_len - 1;
    bool  is;

    *end = '\0';
    is = rset_name_kept(bare) == rset_name_kept(s->args->local->names[0]);
    *end = '.';
    return is;
}

/* Surveys the redundancy files that belong to `name` in s->dir. */
static rset_status
survey_of(rset_search *s, const char *name, const rset_name *parsed, char **prefix_out,
          rset_evidence *ev, rset_err *err)
{
    char       *prefix = strndup(name, parsed->prefix_len);
    rset_status st = prefix != NULL ? rset_survey(s->dir, prefix, name, ev, err) : RSET_NOMEM;

    if (st != RSET_OK) {
        free(prefix);
        return st;
    }
    *prefix_out = prefix;
    return RSET_OK;
}

/* Takes the descriptor of a record that may be of the wanted file: files of several ranks often share a
 * base name, each in its own directory, so the whole path counts more, and files that were moved are
 * told by base name only where it is one rank's (P7: no rank is ever given another rank's content). */
static void
consider(rset_search *s, const rset_info *info)
{
    const rset_local *local = s->args->local;
    const bool        own = s->args->evidence->has_header;
    const int         rank = own ? s->args->evidence->header.infos[0].desc.rank : s->args->rank;
    const bool        exact =
        own || (info->nfiles > 0 && rset_name_is_recorded_as(local->paths[0], info->files[0].path));

    if (info->nfiles == 0 ||
        !rset_name_is_recorded_as(local->names[0], rset_path_base(info->files[0].path)) ||
        (rank >= 0 && info->desc.rank != rank) || (s->known && s->exact && !exact))
        return;
    if (!s->known || s->exact != exact ||
        rset_generation_newer(info->desc.generation, s->desc.generation)) {
        s->desc = info->desc;
        s->known = true;
        s->exact = exact;
        s->rivals = 0;
    } else if (info->desc.generation == s->desc.generation && info->desc.rank != s->desc.rank) {
        s->rivals++;
    }
}

/* Does the redundancy file record the wanted file, or others of its set? */
static bool
concerns(const rset_search *s, const rset_header *h)
{
    for (int d = 0; d < h->ninfos; d++)
        if (h->infos[d].nfiles > 0 &&
            rset_name_is_recorded_as(s->args->local->names[0],
                                     rset_path_base(h->infos[d].files[0].path)))
            return true;
    return false;
}

static bool
visit_for_name(const char *name, void *arg)
{
    rset_search  *s = arg;
    rset_err      ignored = RSET_ERR_NONE;
    rset_evidence ev = {0};
    rset_name     parsed;
    char          bare[NAME_MAX + 1], *prefix = NULL;

    if (!redundancy_name(s, name, bare, sizeof bare, &parsed) ||
        !is_of_generation(s, bare, &parsed) ||
        survey_of(s, name, &parsed, &prefix, &ev, &ignored) != RSET_OK)
        return true;
    for (int d = 0; ev.has_header && d < ev.header.ninfos; d++)
        consider(s, &ev.header.infos[d]);
    if (ev.has_header && concerns(s, &ev.header)) /* newer ones may lie where these were written */
        s->st = add_recorded_dirs(s, &ev.header);
    free(prefix);
    rset_evidence_free(&ev);
    return s->st == RSET_OK;
}

rset_status
rset_search_begin(rset_search *s)
{
    const rset_serial_args *a = s->args;
    const char             *own = rset_dir_path(a->local->dir);
    rset_status             st = add_dir(s, own, strlen(own));

    for (size_t i = 0; st == RSET_OK && a->search != NULL && a->search[i] != NULL; i++)
        st = add_dir(s, a->search[i], strlen(a->search[i]));
    if (st == RSET_OK && a->evidence->has_header) {
        s->desc = a->evidence->header.infos[0].desc;
        s->known = s->exact = true;
        st = add_recorded_dirs(s, &a->evidence->header);
    }
    if (st == RSET_OK)
        st = each_dir(s, visit_for_name);
    if (st == RSET_OK && s->known && s->rivals > 0)
        return rset_fail(s->err, RSET_LOST,
                         "%s/%s: lost, and files of this name of rank %d and of other ranks are "
                         "recorded within reach, none of them for this path; bring it back where "
                         "it was written, open it under mpiexec with all its ranks, or name its "
                         "rank: h5redset rebuild --rank N",
                         own, a->local->names[0], s->desc.rank);
    return st;
}

/* ---- the other members ---- */

static void
piece_free(rset_found_member *p)
{
    for (int i = 0; i < p->nfiles; i++)
        free(p->names[i]);
    free(p->names);
    free(p->prefix);
    rset_evidence_free(&p->evidence);
    rset_dir_close(p->dir);
    *p = (rset_found_member){0};
}

/* As they are recorded; a generation that is kept is called as what protects it. */
static char *
name_of(const rset_found_member *p, const rset_info *info, int i)
{
    char *base = i == 0 ? strndup(p->prefix, strlen(p->prefix) - 1) : NULL;

    if (base != NULL && rset_name_kept(base) != 0)
        return base;
    free(base);
    return strdup(rset_path_base(info->files[i].path));
}

static rset_status
set_names(rset_found_member *p, const rset_info *info, rset_err *err)
{
    p->names = calloc((size_t)info->nfiles + 1, sizeof *p->names);
    if (p->names == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for file names");
    for (; p->nfiles < info->nfiles; p->nfiles++) {
        p->names[p->nfiles] = name_of(p, info, p->nfiles);
        if (p->names[p->nfiles] == NULL)
            return rset_fail(err, RSET_NOMEM, "no memory for file names");
    }
    return RSET_OK;
}

static bool
visit_for_pieces(const char *name, void *arg)
{
    rset_search      *s = arg;
    rset_err          ignored = RSET_ERR_NONE;
    rset_found_member p = {0};
    rset_name         parsed;
    char              bare[NAME_MAX + 1];
    const rset_desc  *d;

    if (!redundancy_name(s, name, bare, sizeof bare, &parsed) ||
        !is_of_generation(s, bare, &parsed) || parsed.scheme != s->desc.scheme ||
        parsed.set != s->desc.set || parsed.members != s->desc.members ||
        parsed.member == s->desc.member || s->pieces[parsed.member].found ||
        survey_of(s, name, &parsed, &p.prefix, &p.evidence, &ignored) != RSET_OK)
        return true;
    if (p.evidence.has_header) {
        d = &p.evidence.header.infos[0].desc;
        if (d->generation == s->desc.generation && d->member == parsed.member) {
            s->st = rset_dir_open(rset_dir_path(s->dir), false, &p.dir, s->err);
            if (s->st == RSET_OK)
                s->st = set_names(&p, &p.evidence.header.infos[0], s->err);
            if (s->st == RSET_OK)
                s->st = add_recorded_dirs(s, &p.evidence.header);
            p.found = s->st == RSET_OK;
        }
    }
    if (p.found)
        s->pieces[parsed.member] = p;
    else
        piece_free(&p);
    return s->st == RSET_OK;
}

/* A member whose redundancy file is out of reach may still have its data where neighbours recorded
 * it, or beside ours. */
static rset_status
find_bare_data(rset_search *s, const rset_info *info)
{
    rset_found_member *p = &s->pieces[info->desc.member];
    rset_err           ignored = RSET_ERR_NONE;

    if (p->found || info->desc.member == s->desc.member || info->nfiles == 0 ||
        rset_name_kept(s->args->local->names[0]) != 0) /* under that name is another generation */
        return RSET_OK;
    for (size_t i = 0; i < s->ndirs && !p->found; i++) {
        if (rset_dir_open(s->dirs[i], false, &p->dir, &ignored) == RSET_OK &&
            rset_dir_has_file(p->dir, rset_path_base(info->files[0].path)))
            p->found = true;
        else {
            rset_dir_close(p->dir);
            p->dir = NULL;
        }
    }
    if (!p->found)
        return RSET_OK;
    p->prefix = rset_join_names(rset_path_base(info->files[0].path), ".");
    if (p->prefix == NULL)
        return rset_fail(s->err, RSET_NOMEM, "no memory for file names");
    return set_names(p, info, s->err);
}

rset_status
rset_search_pieces(rset_search *s)
{
    rset_status st;

    s->pieces = calloc((size_t)s->desc.members, sizeof *s->pieces);
    if (s->pieces == NULL)
        return rset_fail(s->err, RSET_NOMEM, "no memory for %d members", s->desc.members);
    st = s->args->evidence->has_header ? add_recorded_dirs(s, &s->args->evidence->header) : RSET_OK;
    if (st == RSET_OK)
        st = rset_search_older(s);
    if (st == RSET_OK)
        st = each_dir(s, visit_for_pieces);
    for (int m = 0; st == RSET_OK && m < s->desc.members; m++) {
        const rset_evidence *ev = m == s->desc.member ? s->args->evidence : &s->pieces[m].evidence;

        for (int d = 0; st == RSET_OK && ev->has_header && d < ev->header.ninfos; d++)
            if (ev->header.infos[d].desc.generation == s->desc.generation)
                st = find_bare_data(s, &ev->header.infos[d]);
    }
    for (int m = 0; m < s->desc.members; m++) {
        rset_found_member *p = &s->pieces[m];

        p->local = (rset_local){.dir = p->found ? p->dir : NULL,
                                .prefix = p->prefix != NULL ? p->prefix : "",
                                .nfiles = p->nfiles,
                                .names = (const char *const *)p->names};
    }
    return st;
}

void
rset_search_free(rset_search *s)
{
    for (int m = 0; s->pieces != NULL && m < s->desc.members; m++)
        piece_free(&s->pieces[m]);
    free(s->pieces);
    for (size_t i = 0; i < s->ndirs; i++)
        free(s->dirs[i]);
    free(s->dirs);
}
