/* serial_tell.c: what one process says of its own file, once it is decided what becomes of it. See serial_internal.h. */
#include "serial_internal.h"

#include <stdio.h>
#include <string.h>

static rset_status
refuse(rset_serial *v)
{
    const char *name = rset_local_name(v->s.args->local);
    const bool  changed = v->decision.reason == RSET_REASON_CHANGED;
    char        text[RSET_ERR_TEXT], missing[256] = "", how[128] = "lost or damaged";

    if ((changed || v->decision.reason == RSET_REASON_UNRECOVERABLE) && v->s.pieces != NULL)
        rset_search_list_missing(&v->s, missing, sizeof missing);
    if (changed)
        rset_changed_say(&v->altered, how, sizeof how);
    if (missing[0] != '\0')
        return rset_fail(v->s.err, RSET_LOST,
                         "%s: %s, and pieces of members %s of its set are out of reach of this "
                         "process; open it under mpiexec with one rank on each of the nodes, or "
                         "name their directories with search=%s (%s)",
                         name, how, missing, changed ? "; changed=keep opens it as it is" : "",
                         v->why.text);
    rset_reason_say(v->decision.reason, &v->all, name, v->why.text[0] != '\0' ? v->why.text : NULL,
                    text, sizeof text);
    return rset_fail(v->s.err, v->decision.reason == RSET_REASON_BUSY ? RSET_BUSY : RSET_LOST, "%s",
                     text);
}

static void
say_renamed(rset_serial *v)
{
    if (rset_serial_was_renamed(v))
        snprintf(v->out->note, sizeof v->out->note,
                 "%s: was protected under the name %.*s, and what protects it has that name still; "
                 "opened as it is, which is what was protected; open it with all ranks to have it "
                 "protected under its new name",
                 rset_local_name(v->s.args->local), (int)strlen(v->renamed_from) - 1,
                 v->renamed_from);
}

/* Notes for the caller how the own file was restored. */
static void
say_restored(rset_serial *v)
{
    const rset_outcome *out = v->out;
    const char         *name = rset_local_name(v->s.args->local);
    char                how[576] = "rebuilt from the pieces within reach";

    if (rset_state_has_changed(v->mine.state))
        snprintf(how, sizeof how, "rolled back to what was protected last");
    else if (out->aside != 0)
        rset_put_aside_say(&out->altered, rset_path_base(name), out->aside, how, sizeof how);
    snprintf(v->out->note, sizeof v->out->note, "%s: %s", name, how);
}

/* Says what was decided; *v->s.err when it was refused. */
rset_status
rset_serial_conclude(rset_serial *v)
{
    const char *name = rset_local_name(v->s.args->local);

    v->out->reason = v->decision.reason;
    v->out->protected_ = v->decision.protection == RSET_PROTECTION_VALID;
    rset_outcome_note(v->out, &v->decision, &v->mine);
    if (v->decision.verdict == RSET_VERDICT_NEVER) {
        v->out->never = true;
        return rset_fail(v->s.err, RSET_ABSENT, "%s: nothing within reach records this file", name);
    }
    if (v->decision.verdict != RSET_VERDICT_KEEP && v->decision.verdict != RSET_VERDICT_RESTORE)
        return refuse(v);
    if (v->decision.verdict == RSET_VERDICT_RESTORE && v->out->replaced)
        say_restored(v);
    else
        rset_reason_say(v->decision.reason, &v->all, name, NULL, v->out->note, sizeof v->out->note);
    if (v->decision.reason == RSET_REASON_SERIAL_UNRECORDED)
        say_renamed(v);
    return RSET_OK;
}
