/* label.h: which close left a file changed without protection. Ranks that close a file in the same step of the same job
 * write the same label, so that the next job can tell whether all files are of one step (recover/decide.h). */
#ifndef RSET_LABEL_H
#define RSET_LABEL_H

#include <stdint.h>

typedef struct rset_label {
    uint64_t job;   /* a number of the job's own, 0: unknown */
    uint64_t step;  /* counts in that job */
    uint64_t ranks; /* that belong to it; 1: one process alone */
} rset_label;

#endif
