/* model.h: the protocols of the engine on an abstract disk, so that every crash at every step of every rank can be
 * tried (docs/recovery.md). Three ranks in one XOR set; what is decided is asked of the real rset_decide.
 *
 * A scenario says what each rank does with its file. model_explore runs it with every interleaving, every crash of the
 * job, every rank that gives up waiting, then what may happen between two jobs (a node is lost, or comes back; another
 * program changes a file; one process opens one), then the recovery by all ranks, with a crash at every step of that as
 * well. At the end of each recovery that was not cut short, what ranks have is held against what was promised. */
#ifndef MODEL_H
#define MODEL_H

#include "recover/decide.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MODEL_RANKS = 3 };

/* What lies under a name. OLD: version 1, the last that was protected. NEW: version 2, as the program wrote it. BOTH:
 * this rank does not change its file. USER: another program has changed what was protected. */
typedef enum { C_NONE, C_OLD, C_NEW, C_TORN, C_BOTH, C_USER } model_content;

/* Of one rank; generations are 1 (OLD) and 2 (NEW), 0: none. */
typedef struct model_disk {
    uint8_t data; /* model_content under the file's name */
    uint8_t red,
        red_void;         /* generation of its redundancy file, and of the one with the void mark */
    uint8_t next;         /* of the prepared one */
    uint8_t shadow;       /* content of a shadow file */
    uint8_t shadow_named; /* it has the name of generation 2 */
    uint8_t aside;        /* content put aside, that of generation 1 */
    uint8_t journal;      /* 0: none, else model_journal */
    uint8_t first, replaced; /* flags of the journal */
    uint8_t label;           /* step of a closed one; 0: none */
    uint8_t label_ranks;
    uint8_t changed; /* how many versions that another program made of it were put aside */
} model_disk;

typedef enum { J_NONE, J_OPEN, J_CLOSED } model_journal;

/* What a rank does with its file before all close it. */
typedef enum {
    DO_CREATE, /* writes it anew: a shadow where there is something to lose, else in place */
    DO_UPDATE, /* changes it in place */
    DO_NOTHING /* opened it with the others, and changes nothing */
} model_deed;

typedef struct model_scenario {
    const char *name;
    bool        protected_; /* generation 1 is there when it begins */
    int         lost;       /* this rank has lost its node before, -1: none */
    model_deed  deed[MODEL_RANKS];
} model_scenario;

extern const model_scenario model_scenarios[];
extern const size_t         model_nscenarios;

typedef struct model_result {
    size_t states;            /* different ones that were seen */
    size_t recoveries;        /* that were judged */
    size_t old, new, refused; /* what they came to */
    size_t kept;              /* opened as another program left them (changed=keep) */
    size_t wrong;
    char   first_wrong[2048];
} model_result;

/* How often each may happen. */
typedef struct model_limits {
    int crashes; /* jobs that are killed, the first one included */
    int losses;  /* nodes that are lost between jobs */
    int changes; /* files that another program changes between jobs */
} model_limits;

void model_explore(const model_scenario *s, model_limits limits, model_result *out);

/* Did any run so far begin a recovery with two ranks like these, as far as their states go, what they have prepared, and
 * whether they write for the first time? */
bool model_saw(const rset_report *a, const rset_report *b);

/* How a rank's disk stands to `counts` and `prepared` (generations, 0: none), as classify.h has it for real ones. */
rset_report model_classify(const model_disk *d, int rank, int counts, int prepared);

#endif
