/* search.c: finds the pieces that one process can reach: which rank's file this is, and what the other members of its set
 * have. See serial_internal.h. */
#include "commit/kept.h"
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

/* What comes after the name that is recorded of a data file: it says which generation has that name. */
static const char *
suffix_of(const char *base)
{
    return base + rset_name_recorded(base);
}

const char *
rset_search_suffix(const rset_search *s)
{
    return suffix_of(s->args->local->names[0]);
}

/* Does it protect a file of the generation that is wanted? Of those that are kept, none is taken for another. */
static bool
is_wanted(const rset_search *s, const rset_located *found)
{
    return (s->any || strcmp(suffix_of(found->base), rset_search_suffix(s)) == 0) &&
           rset_located_may_record(found->evidence.header.infos[0].desc.scheme, found->prefix,
                                   s->args->local->names[0]);
}

/* Is it of the set, and of its generation? */
static bool
is_of_set(const rset_search *s, const rset_desc *d)
{
    return s->known && d->generation == s->desc.generation && d->scheme == s->desc.scheme &&
           d->set == s->desc.set && d->members == s->desc.members;
}

bool
rset_search_learn(const rset_located *found, void *arg)
{
    rset_search       *s = arg;
    const rset_header *h = &found->evidence.header;

    if (!is_wanted(s, found))
        return false;
    for (int d = 0; d < h->ninfos; d++)
        consider(s, &h->infos[d]);
    return concerns(s, h) || is_of_set(s, &h->infos[0].desc);
}

rset_status
rset_search_check_name(const rset_search *s)
{
    const rset_local *local = s->args->local;

    if (!s->known || s->rivals == 0)
        return RSET_OK;
    return rset_fail(s->err, RSET_LOST,
                     "%s/%s: lost, and files of this name of rank %d and of other ranks are "
                     "recorded within reach, none of them for this path; bring it back where "
                     "it was written, open it under mpiexec with all its ranks, or name its "
                     "rank: h5redset rebuild --rank N",
                     rset_dir_path(local->dir), local->names[0], s->desc.rank);
}

/* ---- the other members ---- */

static void
piece_free(rset_found_member *p)
{
    for (int i = 0; i < p->nfiles; i++)
        free(p->names[i]);
    free(p->names);
    free(p->prefix);
    free(p->shadow);
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

/* Takes what was found as the member's, as it is by now. */
static rset_status
take_piece(const rset_search *s, const rset_located *found, rset_found_member *p)
{
    const int   member = found->evidence.header.infos[0].desc.member;
    rset_err    ignored = RSET_ERR_NONE, own = RSET_ERR_NONE;
    rset_status st = rset_dir_open(rset_dir_path(found->dir), false, &p->dir, &own);

    if (st == RSET_OK)
        (void)rset_kept_make_named_ready(p->dir, found->base, s->args->readonly || s->args->dry_run,
                                         &ignored);
    if (st == RSET_OK)
        st = rset_survey(p->dir, found->prefix, found->base, &p->evidence, &own);
    p->found = st == RSET_OK && p->evidence.has_header &&
               is_of_set(s, &p->evidence.header.infos[0].desc) &&
               p->evidence.header.infos[0].desc.member == member;
    if (p->found && (p->prefix = strdup(found->prefix)) == NULL)
        st = rset_fail(&own, RSET_NOMEM, "no memory for file names");
    if (p->found && st == RSET_OK)
        st = set_names(p, &p->evidence.header.infos[0], &own);
    if (p->found && st == RSET_OK)
        st = rset_evidence_shadow_name(&p->evidence, p->prefix,
                                       rset_evidence_generation(&p->evidence), &p->shadow, &own);
    if (!p->found || st != RSET_OK)
        piece_free(p);
    return st == RSET_NOMEM ? rset_fail_as(s->err, &own) : RSET_OK;
}

/* Where a file of that name is; found where it was the first. */
static void
find_file(const rset_search *s, const char *name, rset_found_member *p)
{
    for (int i = 0; i < s->look.ndirs && !p->found; i++) {
        const char *path = rset_dir_path(s->look.dirs[i].dir);

        p->found =
            rset_dir_open(path, false, &p->dir, NULL) == RSET_OK && rset_dir_has_file(p->dir, name);
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

static const rset_evidence *
evidence_of(const rset_search *s, int member)
{
    return member == s->desc.member ? s->args->evidence : &s->pieces[member].evidence;
}

rset_status
rset_search_pieces(rset_search *s)
{
    rset_status st = RSET_OK;

    s->pieces = calloc((size_t)s->desc.members, sizeof *s->pieces);
    if (s->pieces == NULL)
        return rset_fail(s->err, RSET_NOMEM, "no memory for %d members", s->desc.members);
    for (size_t i = 0; st == RSET_OK && i < s->look.found.n; i++) {
        const rset_located *found = &s->look.found.at[i];
        const rset_desc    *d = &found->evidence.header.infos[0].desc;

        if (is_wanted(s, found) && is_of_set(s, d) && d->member != s->desc.member &&
            !s->pieces[d->member].found)
            st = take_piece(s, found, &s->pieces[d->member]);
    }
    for (int m = 0; st == RSET_OK && m < s->desc.members; m++) {
        const rset_evidence *ev = evidence_of(s, m);

        for (int d = 0; st == RSET_OK && ev->has_header && d < ev->header.ninfos; d++)
            if (ev->header.infos[d].desc.generation == s->desc.generation)
                st = find_bare_data(s, &ev->header.infos[d]);
    }
    for (int m = 0; m < s->desc.members; m++) {
        rset_found_member *p = &s->pieces[m];

        p->local = (rset_local){.dir = p->found ? p->dir : NULL,
                                .prefix = p->prefix != NULL ? p->prefix : "",
                                .nfiles = p->nfiles,
                                .names = (const char *const *)p->names,
                                .shadow = p->shadow};
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
        const rset_evidence *ev = evidence_of(s, m);

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

bool
rset_search_has_one_left(const rset_search *s)
{
    bool left = false;

    for (int m = 0; !left && m < s->desc.members;
         m++) /* of the own set, whatever they are called now */
        left = m != s->desc.member && s->pieces[m].found &&
               !rset_evidence_gone(&s->pieces[m].local, &s->pieces[m].evidence);
    for (size_t i = 0; !left && i < s->look.found.n; i++) /* and of all ranks */
        left = s->look.found.at[i].inodes[0] != 0 &&
               rset_evidence_generation(&s->look.found.at[i].evidence) == s->desc.generation;
    return left;
}

void
rset_search_free(rset_search *s)
{
    for (int m = 0; s->pieces != NULL && m < s->desc.members; m++)
        piece_free(&s->pieces[m]);
    free(s->pieces);
    rset_look_free(&s->look);
}
