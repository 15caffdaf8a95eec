/* outcome.c: what became of one rank's files. See recover.h. */
#include "recover.h"

rset_action
rset_outcome_action(const rset_outcome *outcome)
{
    return rset_act(&outcome->decided, &outcome->found);
}

void
rset_outcome_note(rset_outcome *outcome, const rset_decision *decided, const rset_report *found)
{
    if (rset_act(decided, found) == RSET_ACTION_NOTHING &&
        rset_outcome_action(outcome) != RSET_ACTION_NOTHING)
        return;
    outcome->decided = *decided;
    outcome->found = *found;
}

bool
rset_outcome_was_lost(const rset_outcome *outcome)
{
    return (outcome->found.facts & RSET_FACT_MISSING) != 0;
}
