/* model_job.c: a job whose ranks write and protect, or give up waiting. See model_steps.h. */
#include "model_steps.h"

static void
make_void(model_disk *d)
{
    if (d->red != 0) {
        d->red_void = d->red;
        d->red = 0;
    }
}

static bool
creates_in_place(const model_world *w, int r)
{
    const model_disk *d = &w->d[r];

    return model_header_of(d) == 0 && d->next == 0 && model_base_of(d) == 0;
}

static void
write_step(const model_explorer *e, model_world *w, int r)
{
    model_disk   *d = &w->d[r];
    const uint8_t at = w->pc[r]++;

    if (e->s->deed[r] == DO_NOTHING) {
        w->pc[r] = W_ARRIVED;
    } else if (e->s->deed[r] == DO_CREATE && (at > 4 || !creates_in_place(w, r))) {
        d->shadow = at == W_BEGIN ? C_TORN : C_NEW;
        w->pc[r] = at == W_BEGIN ? 5 : W_ARRIVED;
    } else if (e->s->deed[r] == DO_CREATE) {
        if (at == W_BEGIN) {
            d->journal = J_OPEN;
            d->first = 1;
        } else {
            d->data = at == 1 ? C_TORN : C_NEW;
        }
        if (at == 2)
            w->pc[r] = W_ARRIVED;
    } else if (at == W_BEGIN) {
        d->journal = J_OPEN;
    } else if (at == 1) {
        make_void(d);
    } else {
        d->data = at == 2 ? C_TORN : C_NEW;
        if (at == 3)
            w->pc[r] = W_ARRIVED;
    }
}

static void
settle_step(model_world *w, int r)
{
    model_disk *d = &w->d[r];
    const bool  beside = d->shadow != C_NONE;

    switch (w->pc[r]++) {
    case W_SETTLE:
        if (!beside && d->journal == J_NONE) {
            d->journal = J_OPEN;
        } else if (beside) {
            d->journal = J_OPEN;
            d->first = model_header_of(d) == 0;
            d->replaced = 1;
        }
        break;
    case W_SETTLE_VOID: make_void(d); break;
    case W_SETTLE_ASIDE:
        if (beside && d->aside == C_NONE && d->data != C_NONE) {
            d->aside = d->data;
            d->data = C_NONE;
        }
        break;
    case W_SETTLE_PLACE:
        if (beside) {
            d->data = d->shadow;
            d->shadow = C_NONE;
            d->shadow_named = 0;
        }
        break;
    case W_SETTLE_CLOSE:
        d->journal = J_CLOSED;
        d->label = 1;
        d->label_ranks = MODEL_RANKS;
        break;
    default: w->pc[r] = W_ENDED; break;
    }
}

static void
publish_step(model_world *w, int r)
{
    model_disk *d = &w->d[r];

    switch (w->pc[r]++) {
    case W_PREPARE: d->shadow_named = d->shadow != C_NONE; break;
    case W_READY: d->next = 2; break;
    case W_PUBLISH:
        d->red = 2;
        d->next = 0;
        break;
    case W_PUBLISH_DATA:
        if (d->shadow_named) {
            d->data = d->shadow;
            d->shadow = C_NONE;
            d->shadow_named = 0;
        }
        break;
    default: /* W_CLEAN */
        d->red_void = 0;
        model_clear_change(d);
        w->pc[r] = W_DONE;
    }
}

static void
emit(model_explorer *e, const model_world *w, int r, uint8_t pc)
{
    model_world next = *w;

    next.pc[r] = pc;
    model_reach(e, &next);
}

void
model_job_steps(model_explorer *e, const model_world *w, int r)
{
    model_world next = *w;
    int         arrived = 0, voting = 0, able = 0;

    for (int i = 0; i < MODEL_RANKS; i++) {
        arrived += w->pc[i] == W_ARRIVED;
        voting += w->pc[i] == W_VOTED || w->pc[i] == W_UNABLE;
        able += w->pc[i] == W_VOTED;
    }
    if (w->pc[r] < W_ARRIVED) {
        write_step(e, &next, r);
        model_reach(e, &next);
    } else if (w->pc[r] == W_ARRIVED) {
        if (arrived == MODEL_RANKS && r == 0) {
            for (int i = 0; i < MODEL_RANKS; i++)
                next.pc[i] = W_PREPARE;
            model_reach(e, &next);
        }
        next = *w;
        next.gave_up = 1;
        next.pc[r] = W_SETTLE;
        model_reach(e, &next);
    } else if (w->pc[r] == W_VOTED || w->pc[r] == W_UNABLE) {
        if (w->voted == 0 && voting == MODEL_RANKS) { /* 1: all go on, 2: nobody does */
            next.voted = able == MODEL_RANKS ? 1 : 2;
            model_reach(e, &next);
        }
        if (w->voted != 0 && w->pc[r] == W_VOTED)
            emit(e, w, r, w->voted == 1 ? W_PUBLISH : W_DISCARD);
        if (w->pc[r] == W_VOTED)
            emit(e, w, r, W_SETTLE); /* in doubt: keeps what it has prepared */
        else
            emit(e, w, r, W_DISCARD);
    } else if (w->pc[r] == W_DISCARD) {
        next.d[r].next = 0;
        next.pc[r] = W_SETTLE;
        model_reach(e, &next);
    } else if (w->pc[r] >= W_SETTLE && w->pc[r] < W_ENDED) {
        settle_step(&next, r);
        model_reach(e, &next);
    } else if (w->pc[r] < W_DONE) {
        if (w->pc[r] == W_READY)
            emit(e, w, r, W_UNABLE);
        publish_step(&next, r);
        model_reach(e, &next);
    }
}
