/* serial_report.c: what one process finds of its own file, and what the table says of that. See serial_internal.h. */
#include "commit/renamed.h"
#include "serial_internal.h"

#include <stdlib.h>

/* Is the content that of the generation of its redundancy file, or of the one that it has prepared? Asked only where a
 * commit is in doubt. */
static rset_status
is_either(const rset_serial_args *a, bool *is_out, rset_err *err)
{
    rset_evidence ahead = {0};
    rset_status   st = RSET_OK;

    *is_out = false;
    if (a->evidence->has_header)
        st = rset_is_as_recorded(a->local, &a->evidence->header.infos[0], is_out, err);
    if (st == RSET_OK && !*is_out)
        st = rset_survey_ahead(a->local->dir, a->local->prefix, a->local->names[0],
                               a->evidence->next, &ahead, err);
    if (st == RSET_OK && !*is_out && rset_evidence_generation(&ahead) == a->evidence->next)
        st = rset_is_as_recorded(a->local, &ahead.header.infos[0], is_out, err);
    rset_evidence_free(&ahead);
    return st;
}

/* Redundancy matters only to whoever wants all verified: a reader needs the data. */
static rset_status
verify_own(rset_serial *v)
{
    const rset_serial_args *a = v->s.args;
    rset_status             st =
        rset_classify_verify(a->local, a->evidence, a->content, &v->mine, &v->verified, v->s.err);

    v->mine.facts &= ~(unsigned)RSET_FACT_UNREAD;
    if (a->content != RSET_CONTENT_ALL)
        v->mine.facts &= ~(unsigned)RSET_FACT_BARE;
    return st;
}

bool
rset_serial_was_renamed(rset_serial *v)
{
    const rset_serial_args *a = v->s.args;
    rset_evidence           found = {0};
    rset_err                ignored = RSET_ERR_NONE;

    if (!v->asked_name)
        (void)rset_renamed_find(a->local, a->evidence, &v->renamed_from, &found, &ignored);
    v->asked_name = true;
    rset_evidence_free(&found);
    return v->renamed_from != NULL;
}

/* In a dry run, once its commit would be finished: its content is in a shadow file still, which has the name then. */
static void
look_past_commit(rset_serial *v)
{
    if (v->s.args != &v->ahead || v->mine.state != RSET_STATE_COMMITTING)
        return;
    v->mine.state = RSET_STATE_CURRENT;
    if (v->ahead_shadow != NULL)
        v->mine.facts &= ~(unsigned)(RSET_FACT_MISSING | RSET_FACT_GONE);
}

rset_status
rset_serial_report(rset_serial *v)
{
    const rset_serial_args *a = v->s.args;
    rset_looked             looked = {.rank = a->rank, .readonly = a->readonly};
    bool                    pristine = false;
    rset_status             st;

    rset_verified_free(&v->verified);
    st = rset_classify_look(a->local, a->evidence, &v->standing, &looked, &v->mine, v->s.err);

    look_past_commit(v);
    if (st == RSET_OK && v->mine.state == RSET_STATE_CURRENT)
        st = verify_own(v);
    if (st == RSET_OK && (v->mine.facts & RSET_FACT_PREPARED) != 0 && looked.there)
        st = is_either(a, &pristine, v->s.err);
    if (st == RSET_OK && v->mine.state == RSET_STATE_UNKNOWN && looked.there &&
        (v->mine.facts & RSET_FACT_SIGN) != 0)
        pristine = rset_serial_was_renamed(v);
    v->mine.facts |= pristine ? RSET_FACT_PRISTINE : 0;
    return st;
}

void
rset_serial_decide(rset_serial *v)
{
    if (v->s.args->keep_changed)
        v->mine.facts |= RSET_FACT_KEEPS;
    v->mine.ours = v->s.args->own_run && (v->mine.facts & RSET_FACT_CHANGED) != 0;
    v->all = rset_summarise(&v->mine);
    v->decision = rset_decide(&v->all, v->coverage, &v->policy);
}
