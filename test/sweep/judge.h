/* judge.h: after a fault: is what can be opened OLD, NEW or refused, the same on all ranks, and is what
 * was said about protection true (reliability.md)? */
#ifndef JUDGE_H
#define JUDGE_H

#include "scene.h"

/* What a fault has left, for judging. Breaches are counted with sweep_violation, under `what`. */
typedef struct judge_case {
    scene      *scene;
    const char *what;
    bool unsynced; /* files that are not protected may hold anything: what the application wrote
                             was not durable */
    bool weak;  /* the fault may have cost the undo journal: the operation is not firm (scene.h) */
    bool twice; /* the operation was run once more: two generations may have its new content */
    bool died;  /* the whole job did: no rank went on without the others */
    unsigned
        reported; /* SCENE_ bits: content that a rank was told is protected; 0: it was not told so */
    unsigned losses; /* bit r: also try the case with node r lost */
} judge_case;

/* Judges the directories as they are now: recovers them, and again with one more node lost. Leaves them in
 * some other state. A state that was judged before is not judged again. */
void judge(const judge_case *c);

/* After a run: sets c->reported to the content that is there, when a rank was told that it is protected.
 * Content that is not allowed is counted. */
void judge_told(judge_case *c);

/* One recover of what is there now, without a fault; the verdict as SCENE_ bits, 0 when it was none (and
 * counted). `allowed`: verdicts that are none of them are counted. *protected_out may be NULL. */
unsigned judge_recover(const judge_case *c, unsigned allowed, const char *when,
                       bool *protected_out);

#endif
