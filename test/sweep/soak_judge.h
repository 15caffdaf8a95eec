/* soak_judge.h: one trial of the soak, and whether an open in it keeps what every user is promised: files of all ranks are of
 * one version, no older than the last that was told to be protected; or the open is refused, which it may not be while
 * no more is lost than the scheme survives; and who is told that files are protected has them so, to the bit. */
#ifndef SOAK_JUDGE_H
#define SOAK_JUDGE_H

#include "soak_damage.h"
#include "soak_history.h"

typedef struct soak_trial {
    soak_world w;
    /* the cycle: what was done since the last open */
    soak_operation op;
    soak_bytes
         before[SOAK_RANKS];  /* files as the operation found them; w.part has what it wanted */
    bool lasting[SOAK_RANKS]; /* the application's file has no undo journal while it changes */
    soak_damage damage;
    /* the whole trial */
    int  least;               /* version that ranks were told of last, -1: none */
    bool sound[SOAK_RANKS];   /* its protection, or its undo journal, is as the job left it */
    bool excused[SOAK_RANKS]; /* was damaged while nothing recorded what it is */
    bool torn;       /* some file has changed without an undo journal since all was protected */
    int  past;       /* version of the old copies */
    bool quiet;      /* all is protected, and nothing has happened since */
    bool still;      /* the same, but for damage, and jobs that died while they opened */
    char what[1024]; /* which cycle, for messages */
} soak_trial;

/* What opening came to. */
typedef enum { SOAK_OPENED, SOAK_PROTECTED, SOAK_REFUSED, SOAK_ABSENT, SOAK_WRONG } soak_verdict;

/* Counts and says what broke a promise, and tells the first times what came before it (soak_story.h), and what lay where, of which
 * version (soak_disk.h); the first time REDSET_SOAK_KEEP gets what the open had found. `found` NULL: it was no open; what is there
 * now. SOAK_WRONG. */
soak_verdict soak_wrong(const soak_trial *l, const image *found, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* All ranks were told that the newest version is protected. */
void soak_told(soak_trial *l);

/* Directories were damaged (l->damage): what is promised of them now? No less than before as long as a rank that nobody has touched
 * knows what was protected last, or anything else on disk tells of it; else the newest version that is left anywhere: an old
 * copy, of the whole or as moved files leave it where they were (docs/user-guide.md). Asked after damage only: what an open
 * makes of the files changes no promise. */
void soak_harmed(soak_trial *l);

/* What was protected survives what the scheme promises to survive: as many nodes as were touched since, whatever the job
 * has died in. */
bool soak_must_open(const soak_trial *l);

/* Is there a rank whose directory nobody has touched since all was protected? It knows. */
bool soak_somebody_knows(const soak_trial *l);

/* Opens all files once, without interruption, and judges what that comes to. */
soak_verdict soak_judge(soak_trial *l);

/* The same for one process that opens the file of rank l->w.alone, SOAK_ALONE, or only reads it, SOAK_READ, perhaps to die in
 * it. True: it was opened. */
bool soak_judge_serial(soak_trial *l, soak_operation op, const soak_death *death);

#endif
