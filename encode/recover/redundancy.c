/* redundancy.c: redundancy that nobody waited for at the open is verified afterwards. See recover.h. */
#include "recover.h"

/* As it was protected then, and not changed since. */
static bool
is_of(const rset_evidence *ev, uint64_t generation)
{
    return ev->has_header && ev->over_name == NULL && !ev->is_void &&
           rset_evidence_generation(ev) == generation;
}

/* A commit may have put another one in its place meanwhile. */
static bool
is_so_still(const rset_local *local, uint64_t generation)
{
    rset_evidence ev = {0};
    rset_err      ignored = RSET_ERR_NONE;
    bool          is = rset_survey_local(local, &ev, &ignored) == RSET_OK && is_of(&ev, generation);

    rset_evidence_free(&ev);
    return is;
}

bool
rset_find_damaged_redundancy(const rset_local *local, uint64_t generation, const rset_pace *pace,
                             void (*found)(void *arg))
{
    rset_evidence ev = {0};
    rset_err      ignored = RSET_ERR_NONE;
    rset_damage   is = {0};
    bool          damaged = false;

    if (rset_survey_local(local, &ev, &ignored) == RSET_OK && is_of(&ev, generation))
        damaged = rset_verify_payload_slowly(local, &ev, pace, &is, &ignored) == RSET_OK &&
                  is.any && pace->go_on(pace->arg) && is_so_still(local, generation);
    if (damaged) {
        if (found != NULL)
            found(pace->arg);
        rset_distrust(local, &ev);
    }
    rset_damage_free(&is);
    rset_evidence_free(&ev);
    return damaged;
}
