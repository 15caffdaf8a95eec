/* session_states.h: the states of a session, and what leads from one to another. The table of session_states.c is all there is to it;
 * docs/architecture.md shows the same. Pure. */
#ifndef RSET_SESSION_STATES_H
#define RSET_SESSION_STATES_H

#include <stdbool.h>

/* What the file is to this process. IN_DOUBT: a commit of it may count, and nobody here knows; so it may not change (P11). */
typedef enum rset_session_state {
    RSET_SESSION_TENTATIVE, /* opened, and not used yet: no rank was asked */
    RSET_SESSION_REFUSED,   /* the first use has failed */
    RSET_SESSION_CREATING,  /* a new file, whose place is not found yet */
    RSET_SESSION_CLEAN,     /* as it was opened, or committed since */
    RSET_SESSION_CHANGED,   /* changed in place since then */
    RSET_SESSION_CREATED,   /* a new file that has the name */
    RSET_SESSION_SHADOW,    /* a new file beside the old one, which has the name */
    RSET_SESSION_CLEAN_IN_DOUBT,
    RSET_SESSION_CHANGED_IN_DOUBT,
    RSET_SESSION_CREATED_IN_DOUBT,
    RSET_SESSION_SHADOW_IN_DOUBT,
    RSET_SESSION_STATES
} rset_session_state;

typedef enum rset_event {
    RSET_EVENT_CREATE,    /* it is opened to be created */
    RSET_EVENT_SHADOW,    /* the new file is written beside the old one */
    RSET_EVENT_NAME,      /* the new file gets the name before it is protected */
    RSET_EVENT_USE,       /* the first use has succeeded */
    RSET_EVENT_REFUSE,    /* or failed */
    RSET_EVENT_CHANGE,    /* bytes of the file that has the name change */
    RSET_EVENT_REVERT,    /* they are what they were */
    RSET_EVENT_HAND_OVER, /* what it is now is committed in the background */
    RSET_EVENT_COMMIT,    /* a commit has protected it */
    RSET_EVENT_FAIL,      /* a commit has not, and never will */
    RSET_EVENT_DOUBT,     /* a commit may have */
    RSET_EVENTS
} rset_event;

/* What is true of the file in a state. */
typedef enum rset_property {
    RSET_IS_IN_USE = 1,   /* the first use was a success: the program has it */
    RSET_IS_CHANGED = 2,  /* it is not what was protected last */
    RSET_IS_NEW = 4,      /* it is created, and no commit has protected it */
    RSET_IS_IN_DOUBT = 8, /* a commit of it may count */
} rset_property;

/* The state that the event leads to; RSET_SESSION_TENTATIVE, to which nothing leads: it cannot happen in this one. */
rset_session_state rset_session_after(rset_session_state state, rset_event event);

bool rset_session_state_is(rset_session_state state, rset_property what);

/* For people, in small letters. */
const char *rset_session_state_name(rset_session_state state);

#endif
