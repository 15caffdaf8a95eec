/* search.c: finds the pieces that one process can reach: which rank's file this is, and what the other members of its set
 * have. See serial_internal.h. */
#include "names/names.h"
#include "serial_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- whose file is it ---- */

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

/* With SINGLE a redundancy file records nothing but the file of its own name: a program that creates many files in one directory asks of
 * each whether the others record it. */
static bool
is_of_another_alone(const rset_search *s, const char *name)
{
    const char *prefix = s->args->local->prefix;
    size_t      n = strlen(prefix);
    rset_name   parsed;

    if (!rset_search_is_wanted(s, name, &parsed) || parsed.scheme != &rset_scheme_single)
        return false;
    n = parsed.prefix_len < n ? parsed.prefix_len : n;
    return strncmp(name, prefix, n) != 0;
}

static bool
visit_for_name(const char *name, void *arg)
{
    rset_search          *s = arg;
    rset_found_redundancy found;
    const rset_header    *h = &found.ev.header;

    if (is_of_another_alone(s, name) || !rset_search_open(s, name, &found))
        return true;
    for (int d = 0; d < h->ninfos; d++)
        consider(s, &h->infos[d]);
    if (concerns(s, h)) /* newer ones may lie where these were written */
        s->st = rset_search_add_recorded(s, h);
    rset_found_redundancy_free(&found);
    return s->st == RSET_OK;
}

rset_status
rset_search_for_name(rset_search *s)
{
    const rset_local *local = s->args->local;
    rset_status       st = rset_search_each(s, visit_for_name, s);

    if (st == RSET_OK && s->known && s->rivals > 0)
        return rset_fail(s->err, RSET_LOST,
                         "%s/%s: lost, and files of this name of rank %d and of other ranks are "
                         "recorded within reach, none of them for this path; bring it back where "
                         "it was written, open it under mpiexec with all its ranks, or name its "
                         "rank: h5redset rebuild --rank N",
                         rset_dir_path(local->dir), local->names[0], s->desc.rank);
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

/* By its name: is it that of another member of the set, which was not found yet? */
static bool
may_be_piece(const rset_search *s, const char *name, rset_name *parsed)
{
    return rset_search_is_wanted(s, name, parsed) && parsed->scheme == s->desc.scheme &&
           parsed->set == s->desc.set && parsed->members == s->desc.members &&
           parsed->member != s->desc.member && !s->pieces[parsed->member].found;
}

/* What was found is the member's from now on. */
static rset_status
take_piece(rset_search *s, rset_found_redundancy *found, rset_found_member *p)
{
    const rset_header *h = &p->evidence.header;
    rset_status        st = rset_dir_open(rset_dir_path(s->dir), false, &p->dir, s->err);

    p->prefix = found->prefix;
    p->evidence = found->ev;
    *found = (rset_found_redundancy){0};
    if (st == RSET_OK)
        st = set_names(p, &h->infos[0], s->err);
    if (st == RSET_OK)
        st = rset_search_add_recorded(s, h);
    p->found = st == RSET_OK;
    if (!p->found)
        piece_free(p);
    return st;
}

static bool
visit_for_pieces(const char *name, void *arg)
{
    rset_search          *s = arg;
    rset_found_redundancy found;
    rset_name             parsed;
    const rset_desc      *d;

    if (!may_be_piece(s, name, &parsed) || !rset_search_survey(s, name, &parsed, &found))
        return true;
    d = &found.ev.header.infos[0].desc;
    if (d->generation == s->desc.generation && d->member == parsed.member)
        s->st = take_piece(s, &found, &s->pieces[parsed.member]);
    rset_found_redundancy_free(&found);
    return s->st == RSET_OK;
}

/* Where a file of that name is; found where it was the first. */
static void
find_file(const rset_search *s, const char *name, rset_found_member *p)
{
    rset_err ignored = RSET_ERR_NONE;

    for (size_t i = 0; i < s->ndirs && !p->found; i++) {
        p->found = rset_dir_open(s->dirs[i], false, &p->dir, &ignored) == RSET_OK &&
                   rset_dir_has_file(p->dir, name);
        if (!p->found) {
            rset_dir_close(p->dir);
            p->dir = NULL;
        }
    }
}

/* A member whose redundancy file is out of reach may still have its data where neighbours recorded
 * it, or beside ours. */
static rset_status
find_bare_data(rset_search *s, const rset_info *info)
{
    rset_found_member *p = &s->pieces[info->desc.member];
    char              *name;

    if (p->found || info->desc.member == s->desc.member || info->nfiles == 0)
        return RSET_OK;
    name = rset_join_names(rset_path_base(info->files[0].path), rset_search_suffix(s));
    if (name != NULL)
        find_file(s, name, p);
    if (name != NULL && p->found)
        p->prefix = rset_join_names(name, ".");
    free(name);
    if (name == NULL || (p->found && p->prefix == NULL))
        return rset_fail(s->err, RSET_NOMEM, "no memory for file names");
    return p->found ? set_names(p, info, s->err) : RSET_OK;
}

rset_status
rset_search_pieces(rset_search *s)
{
    rset_status st;

    s->pieces = calloc((size_t)s->desc.members, sizeof *s->pieces);
    if (s->pieces == NULL)
        return rset_fail(s->err, RSET_NOMEM, "no memory for %d members", s->desc.members);
    st = s->args->evidence->has_header ? rset_search_add_recorded(s, &s->args->evidence->header)
                                       : RSET_OK;
    if (st == RSET_OK)
        st = rset_search_older(s);
    if (st == RSET_OK)
        st = rset_search_each(s, visit_for_pieces, s);
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

/* ---- what is out of reach ---- */

/* On which host this member's files were protected, as its own header or a neighbour's says; NULL: nothing within reach
 * does. */
static const char *
recorded_host(const rset_search *s, int member)
{
    for (int m = 0; m < s->desc.members; m++) {
        const rset_evidence *ev = m == s->desc.member ? s->args->evidence : &s->pieces[m].evidence;

        for (int d = 0; ev->has_header && d < ev->header.ninfos; d++) {
            const rset_info *info = &ev->header.infos[d];

            if (info->desc.member == member && info->desc.generation == s->desc.generation &&
                info->host != NULL)
                return info->host;
        }
    }
    return NULL;
}

void
rset_search_list_missing(const rset_search *s, char *buf, size_t size)
{
    size_t used = 0;

    buf[0] = '\0';
    for (int m = 0; m < s->desc.members; m++) {
        const char *host = recorded_host(s, m);

        if (m == s->desc.member || s->pieces[m].found)
            continue;
        if (used + 24 + (host != NULL ? strlen(host) : 0) > size)
            return;
        used += (size_t)snprintf(buf + used, size - used, "%s%d%s%s%s", used > 0 ? ", " : "", m,
                                 host != NULL ? " (on " : "", host != NULL ? host : "",
                                 host != NULL ? ")" : "");
    }
}

/* ---- deleted, or lost ---- */

typedef struct looking_for_one {
    rset_search *s;
    bool         left;
} looking_for_one;

static bool
visit_for_one_left(const char *name, void *arg)
{
    looking_for_one      *l = arg;
    rset_search          *s = l->s;
    rset_found_redundancy found;
    char                 *base;

    if (!rset_search_open(s, name, &found))
        return true;
    base = strndup(found.prefix, strlen(found.prefix) - 1);
    l->left = rset_evidence_generation(&found.ev) == s->desc.generation &&
              (base == NULL || rset_dir_has_file(s->dir, base));
    free(base);
    rset_found_redundancy_free(&found);
    return !l->left;
}

rset_status
rset_search_for_one_left(rset_search *s, bool *left_out)
{
    const bool      any = s->any;
    looking_for_one l = {.s = s};
    rset_status     st;

    *left_out = false;
    for (int m = 0; !*left_out && m < s->desc.members;
         m++) /* of the own set, whatever they are called now */
        *left_out = m != s->desc.member && s->pieces[m].found &&
                    !rset_evidence_gone(&s->pieces[m].local, &s->pieces[m].evidence);
    if (*left_out)
        return RSET_OK;
    s->any = true; /* and of all ranks */
    st = rset_search_each(s, visit_for_one_left, &l);
    s->any = any;
    *left_out = l.left;
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
