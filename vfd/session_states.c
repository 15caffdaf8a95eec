/* session_states.c: the table of states and events, and the only place where a session gets another state. See session_states.h. */
#include "session_internal.h"

#include <assert.h>

enum {
    IN_USE = RSET_IS_IN_USE,
    CHANGED = RSET_IS_CHANGED,
    NEW = RSET_IS_NEW,
    IN_DOUBT = RSET_IS_IN_DOUBT
};

#define ROW(state, name, is, ...) [RSET_SESSION_##state] = {name, is, {__VA_ARGS__}}
#define TO(event, state)          [RSET_EVENT_##event] = RSET_SESSION_##state

/* Of each state: its name, what is true in it, and which event leads where. An event that is not named cannot happen in it. */
static const struct row {
    const char        *name;
    unsigned           is;
    rset_session_state after[RSET_EVENTS];
} table[RSET_SESSION_STATES] = {
    ROW(TENTATIVE, "tentative", 0, TO(CREATE, CREATING), TO(USE, CLEAN), TO(REFUSE, REFUSED)),
    ROW(REFUSED, "refused", 0, 0),
    ROW(CREATING, "creating", NEW, TO(SHADOW, SHADOW), TO(NAME, CREATED), TO(CHANGE, CREATED)),
    ROW(CLEAN, "clean", IN_USE, TO(CHANGE, CHANGED), TO(HAND_OVER, CLEAN), TO(COMMIT, CLEAN),
        TO(FAIL, CLEAN), TO(DOUBT, CLEAN_IN_DOUBT)),
    ROW(CHANGED, "changed", IN_USE | CHANGED, TO(CHANGE, CHANGED), TO(REVERT, CLEAN),
        TO(HAND_OVER, CLEAN), TO(COMMIT, CLEAN), TO(FAIL, CHANGED), TO(DOUBT, CHANGED_IN_DOUBT)),
    ROW(CREATED, "created", IN_USE | CHANGED | NEW, TO(CHANGE, CREATED), TO(COMMIT, CLEAN),
        TO(FAIL, CREATED), TO(DOUBT, CREATED_IN_DOUBT)),
    ROW(SHADOW, "shadow", IN_USE | CHANGED | NEW, TO(NAME, CREATED), TO(CHANGE, SHADOW),
        TO(COMMIT, CLEAN), TO(FAIL, SHADOW), TO(DOUBT, SHADOW_IN_DOUBT)),
    ROW(CLEAN_IN_DOUBT, "clean, in doubt", IN_USE | IN_DOUBT, TO(COMMIT, CLEAN), TO(FAIL, CLEAN),
        TO(DOUBT, CLEAN_IN_DOUBT)),
    ROW(CHANGED_IN_DOUBT, "changed, in doubt", IN_USE | CHANGED | IN_DOUBT,
        TO(REVERT, CLEAN_IN_DOUBT), TO(COMMIT, CLEAN), TO(FAIL, CHANGED),
        TO(DOUBT, CHANGED_IN_DOUBT)),
    ROW(CREATED_IN_DOUBT, "created, in doubt", IN_USE | CHANGED | NEW | IN_DOUBT, TO(COMMIT, CLEAN),
        TO(FAIL, CREATED), TO(DOUBT, CREATED_IN_DOUBT)),
    ROW(SHADOW_IN_DOUBT, "shadow, in doubt", IN_USE | CHANGED | NEW | IN_DOUBT,
        TO(NAME, CREATED_IN_DOUBT), TO(COMMIT, CLEAN), TO(FAIL, SHADOW),
        TO(DOUBT, SHADOW_IN_DOUBT)),
};

rset_session_state
rset_session_after(rset_session_state state, rset_event event)
{
    return table[state].after[event];
}

const char *
rset_session_state_name(rset_session_state state)
{
    return table[state].name;
}

bool
rset_session_state_is(rset_session_state state, rset_property what)
{
    return (table[state].is & what) != 0;
}

/* ---- of a session ---- */

const char *
rset_session_state_text(const rset_session *session)
{
    return session != NULL ? rset_session_state_name(session->state) : "";
}

void
rset_session_step(rset_session *session, rset_event event)
{
    const rset_session_state next = rset_session_after(session->state, event);

    assert(next != RSET_SESSION_TENTATIVE); /* V1 */
    if (next != RSET_SESSION_TENTATIVE)
        session->state = next;
}

bool
rset_session_is(const rset_session *session, rset_property what)
{
    return rset_session_state_is(session->state, what);
}

bool
rset_session_is_in_use(const rset_session *session)
{
    return rset_session_is(session, RSET_IS_IN_USE);
}

bool
rset_session_is_changed(const rset_session *session)
{
    return rset_session_is(session, RSET_IS_CHANGED);
}
