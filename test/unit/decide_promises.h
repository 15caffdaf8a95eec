/* decide_promises.h: what is promised of the decision (recover/decide.h), in terms of what lies on the disks of four ranks,
 * not of the table's rows. */
#ifndef DECIDE_PROMISES_H
#define DECIDE_PROMISES_H

#include "recover/decide.h"

#include <stdbool.h>

enum { RANKS = 4, KINDS = 26 };

#define FACT(f)  RSET_FACT_##f
#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- what one rank can be in ---- */

/* Which content lies there. Those that are the same from rank to rank belong together. */
typedef enum { V_NONE, V_PROTECTED, V_TORN, V_STEP_A, V_STEP_B, V_OWN, V_OLDER, V_ANY } version;

typedef struct kind {
    const char *name;
    rset_state  state;
    unsigned    facts;
    rset_label  label;
    version     has;
} kind;

extern const kind kinds[KINDS];

/* ---- all of them ---- */

typedef struct scene {
    const kind   *of[RANKS];
    rset_summary  all;
    rset_policy   policy;
    rset_coverage coverage;
    rset_decision then;
} scene;

rset_summary sum_up(const kind *const *of, int n);
int          how_many(const scene *s, version v);

/* Asked some hundred million times. */
static inline int
in_state(const scene *s, rset_state state)
{
    return (int)s->all.count[state];
}

static inline bool
any_fact(const scene *s, unsigned fact)
{
    return (s->all.facts & fact) != 0;
}

/* The run that protected them has changed all, or all ranks want what somebody else has changed as it is. */
bool is_wanted_changed(const scene *s);

/* ---- the promises ---- */

/* Fails the test: that promise does not hold there. */
void complain(const scene *s, const char *promise);

#define PROMISE(s, words, holds)                                                                   \
    do {                                                                                           \
        if (!(holds))                                                                              \
            complain(s, words);                                                                    \
    } while (0)

void keep_promises(const scene *s);
/* What is promised of the decision of one process alone. */
void keep_serial_promises(const scene *s);
/* Both kinds: what has to be opened, what may not be, and what is said of it (decide_answers.c). */
void keep_answers(const scene *s);

#endif
