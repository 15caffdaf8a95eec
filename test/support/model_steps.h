/* model_steps.h: what the parts of the model (model.h) share: one state of all ranks, and the steps from it. Each step
 * that is possible goes to model_reach. */
#ifndef MODEL_STEPS_H
#define MODEL_STEPS_H

#include "model.h"

enum { PHASE_WRITE, PHASE_BETWEEN, PHASE_RECOVER };

/* `user`: how many versions that another program wrote are to be found, on the nodes that there are. */
typedef struct model_world {
    model_disk d[MODEL_RANKS];
    uint8_t    pc[MODEL_RANKS], action[MODEL_RANKS];
    uint8_t    phase, gave_up, failed, voted, told, target, crashes, losses, changes, user, serial;
} model_world;

typedef struct model_explorer {
    const model_scenario *s;
    model_result         *out;
    model_limits          limits;
    model_world          *todo;
    size_t                ntodo, room;
    model_world          *seen; /* open addressing; crashes of an unused slot are 255 */
    size_t                nseen, slots;
} model_explorer;

/* ---- model_states.c ---- */

void model_reach(model_explorer *e, const model_world *w);
void model_wrong(model_explorer *e, const model_world *w, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- model_decide.c ---- */

/* The newest generation of a redundancy file, void or not; that of which the journal has the old content. 0: none. */
int model_header_of(const model_disk *d);
int model_base_of(const model_disk *d);
/* What rank r has in that generation; and is it that? */
uint8_t model_version(const model_explorer *e, int r, int generation);
bool    model_is_version(uint8_t content, int generation);
bool    model_can_undo(const model_disk *d);
bool    model_has_data(const model_disk *d, int generation);
void    model_clear_change(model_disk *d);
/* Does the file hold what another program wrote? How many versions that one wrote has the disk, those put aside included? */
bool    model_is_user(const model_disk *d);
uint8_t model_users(const model_disk *d);

rset_coverage model_cover(const model_world *w, int generation);
/* Asks the table for all ranks: which generation they come to (*target), and what each does. `keeps`: with changed=keep. */
rset_decision model_decide(const model_world *w, bool keeps, uint8_t *target, uint8_t *action);

/* ---- model_job.c ---- */

enum {
    W_BEGIN = 0,
    W_ARRIVED = 10,
    W_PREPARE,
    W_READY,
    W_VOTED,
    W_UNABLE,
    W_PUBLISH,
    W_PUBLISH_DATA,
    W_CLEAN,
    W_DISCARD,
    W_DONE,
    W_SETTLE = 30,
    W_SETTLE_VOID,
    W_SETTLE_ASIDE,
    W_SETTLE_PLACE,
    W_SETTLE_CLOSE,
    W_SETTLE_LABEL,
    W_ENDED
};

/* All that one rank may do next. */
void model_job_steps(model_explorer *e, const model_world *w, int r);

/* ---- model_recovery.c ---- */

void model_begin_recovery(model_explorer *e, const model_world *w);
void model_recovery_steps(model_explorer *e, const model_world *w);
/* One process alone opens the file of rank r, with the others' pieces in reach or not. */
void model_serial_open(model_explorer *e, const model_world *w, int r, bool sees_all);

#endif
