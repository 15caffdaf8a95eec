/* older.c: one process rebuilds an older generation, of which others of the set may have only what leads back to it (member/kept.h).
 * See serial_internal.h. */
#include "member/kept.h"
#include "names/names.h"
#include "serial_internal.h"

#include <stdlib.h>
#include <string.h>

/* Is the redundancy with this prefix, which is of a generation that is kept, that of a member of the set? */
static rset_status
is_of_set(const rset_search *s, const char *prefix, const char *base, bool *is_out)
{
    rset_evidence    ev = {0};
    rset_status      st = rset_survey(s->dir, prefix, base, &ev, s->err);
    const rset_desc *d = ev.has_header ? &ev.header.infos[0].desc : NULL;

    *is_out = st == RSET_OK && d != NULL && d->generation == s->desc.generation &&
              d->set == s->desc.set && d->member != s->desc.member;
    rset_evidence_free(&ev);
    return st;
}

/* Where that cannot be done, its member has lost it as far as this process can tell. */
static rset_status
make_ready(const rset_search *s, const char *prefix, const char *base)
{
    rset_err    ignored = RSET_ERR_NONE;
    bool        is = false;
    rset_status st = is_of_set(s, prefix, base, &is);

    if (st == RSET_OK && is)
        (void)rset_kept_make_named_ready(s->dir, base, s->args->readonly, &ignored);
    return st;
}

static rset_status
make_all_ready(const rset_search *s, uint64_t generation)
{
    rset_prefixes list;
    rset_err      ignored = RSET_ERR_NONE;
    rset_status   st = RSET_OK;

    if (rset_names_prefixes(s->dir, NULL, &list, &ignored) != RSET_OK)
        list.n = 0;
    for (size_t i = 0; st == RSET_OK && i < list.n; i++) {
        char *base = strndup(list.at[i], strlen(list.at[i]) - 1);

        if (base == NULL)
            st = rset_fail(s->err, RSET_NOMEM, "no memory for file names");
        else if (rset_name_kept(base) == generation)
            st = make_ready(s, list.at[i], base);
        free(base);
    }
    rset_prefixes_free(&list);
    return st;
}

rset_status
rset_search_older(rset_search *s)
{
    const uint64_t generation = rset_name_kept(s->args->local->names[0]);
    rset_status    st = RSET_OK;

    for (size_t i = 0; generation != 0 && st == RSET_OK && i < s->ndirs; i++) {
        rset_err ignored = RSET_ERR_NONE;

        if (rset_dir_open(s->dirs[i], false, &s->dir, &ignored) != RSET_OK)
            continue;
        st = make_all_ready(s, generation);
        rset_dir_close(s->dir);
        s->dir = NULL;
    }
    return st;
}
