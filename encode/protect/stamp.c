/* stamp.c: when, by whom and as what a generation is protected: what one rank says, and what all agree on. See protect.h. */
#include "protect_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What cannot be recorded is left out. */
static void
take(char to[RSET_STAMP_TEXT + 1], const char *text)
{
    to[0] = '\0';
    if (text != NULL && rset_stamp_may_be(text))
        snprintf(to, RSET_STAMP_TEXT + 1, "%s", text);
}

/* By its name, as far as the environment has it: a directory service may not answer (P5). The environment is that of whoever runs
 * this, which is not the user that files are written for where root's tool works for their owner. */
static void
take_user(char to[RSET_STAMP_TEXT + 1])
{
    if (rset_user() == getuid())
        take(to, secure_getenv("USER"));
    if (to[0] == '\0' && rset_user() == getuid())
        take(to, secure_getenv("LOGNAME"));
    if (to[0] == '\0')
        snprintf(to, RSET_STAMP_TEXT + 1, "%lu", (unsigned long)rset_user());
}

void
rset_stamp_now(const char *job, const char *label, rset_stamp_text *out)
{
    const time_t now = time(NULL);

    *out = (rset_stamp_text){.time = now > 0 ? (uint64_t)now : 0};
    take(out->job, job != NULL && job[0] != '\0' ? job : secure_getenv("SLURM_JOB_ID"));
    take(out->label, label);
    take_user(out->user);
}

void
rset_stamp_again(const rset_stamp *recorded, rset_stamp_text *out)
{
    *out = (rset_stamp_text){.time = recorded->time, .since = recorded->since};
    take(out->job, recorded->job);
    take(out->user, recorded->user);
    take(out->label, recorded->label);
}

/* ---- all ranks ---- */

typedef struct proposal {
    uint64_t        from, label_from; /* the ranks that it is of, plus 1 */
    rset_stamp_text text;
} proposal;

_Static_assert(sizeof(proposal) <= sizeof(rset_err), "what rset_reduce takes");

/* Rank 0 says when, which job and who; the lowest rank that has a label, that. */
static void
merge(void *into, const void *other)
{
    proposal       *a = into;
    const proposal *b = other, *named = b->label_from < a->label_from ? b : a;
    proposal        both = b->from < a->from ? *b : *a;

    both.label_from = named->label_from;
    memcpy(both.text.label, named->text.label, sizeof both.text.label);
    *a = both;
}

/* `room` with this text, which another rank has sent; NULL, and it is freed, where there is none that may be recorded. */
static char *
settle(char *room, char text[RSET_STAMP_TEXT + 1])
{
    text[RSET_STAMP_TEXT] = '\0';
    if (room != NULL && rset_stamp_may_be(text)) {
        snprintf(room, RSET_STAMP_TEXT + 1, "%s", text);
        return room;
    }
    free(room);
    return NULL;
}

/* So that nothing can fail on one rank once all have agreed. */
static rset_status
make_room(protect *p, rset_stamp *stamp)
{
    stamp->job = calloc(1, RSET_STAMP_TEXT + 1);
    stamp->user = calloc(1, RSET_STAMP_TEXT + 1);
    stamp->label = calloc(1, RSET_STAMP_TEXT + 1);
    return stamp->job != NULL && stamp->user != NULL && stamp->label != NULL
               ? RSET_OK
               : rset_fail(p->err, RSET_NOMEM, "no memory to protect %s", p->local.prefix);
}

rset_status
rset_protect_agree(protect *p, rset_status own)
{
    rset_comm           *world = p->args->world;
    proposal             all = {.from = (uint64_t)world->rank + 1, .label_from = UINT64_MAX};
    const rset_reduction what = {&all, sizeof all, merge};
    rset_stamp           stamp = {0};
    rset_status          st = own;

    if (p->args->stamp != NULL && p->args->extra)
        all.text = *p->args->stamp;
    if (all.text.label[0] != '\0')
        all.label_from = all.from;
    if (st == RSET_OK)
        st = make_room(p, &stamp);
    st = rset_reduce(world, st, p->args->host, &what, p->err);
    if (st != RSET_OK)
        all.text = (rset_stamp_text){0};
    stamp.time = all.text.time <= INT64_MAX ? all.text.time : 0;
    stamp.since = all.text.since;
    stamp.job = settle(stamp.job, all.text.job);
    stamp.user = settle(stamp.user, all.text.user);
    stamp.label = settle(stamp.label, all.text.label);
    if (st == RSET_OK)
        p->header.infos[0].stamp = stamp;
    return st;
}
