/* covered.c: the content that a redundancy file covers, wherever its member has that. See member.h. */
#include "member.h"
#include "names/names.h"

#include <stdlib.h>

/* Did the file change since, or may it have? */
static bool
may_have_changed(const rset_evidence *ev)
{
    const uint64_t generation = rset_evidence_generation(ev);

    return ev->is_void ||
           (ev->undo.there && generation != 0 && ev->undo.head.generation == generation);
}

rset_status
rset_verify_covered(const rset_local *local, const rset_evidence *ev, bool content,
                    rset_damage *out, rset_err *err)
{
    const rset_info *info = ev->header.infos;
    const uint64_t   generation = info->desc.generation;
    const bool       changed = may_have_changed(ev);
    rset_local       at = *local;
    char            *shadow = NULL;
    rset_status      st;

    if (rset_evidence_has_shadow(ev, generation) &&
        (shadow = rset_name_of(RSET_NAME_SHADOW, local->prefix, generation)) == NULL)
        return rset_fail(err, RSET_NOMEM, "%s: no memory to verify it", rset_local_name(local));
    at.shadow = shadow;
    st = rset_verify_data(&at, info, content || changed, out, err);
    if (st == RSET_OK && out->any && changed && info->nfiles == 1 &&
        rset_undo_leads_to(&ev->undo, generation, info->files[0].attrs.size)) {
        at.undo = &ev->undo;
        st = rset_verify_data(&at, info, true, out, err);
    }
    free(shadow);
    return st;
}
