/* process.h: what the system says of this process and of the one that it was forked from. */
#ifndef RSET_PROCESS_H
#define RSET_PROCESS_H

#include <stdbool.h>

/* Was this process forked by another one, and has it executed no program since? False where that cannot be found out. */
bool rset_process_is_forked(void);

/* In such a process: was it forked before the library, or program, that lies at `at` was loaded? True only if the process that forked
 * it is there, runs the same program, and has something else at that place. */
bool rset_process_has_loaded(const void *at);

#endif
