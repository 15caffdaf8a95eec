/* tool_run.h: h5redset in this process, while one of its looks fails. For tests that link it (test_tool_*.c). */
#ifndef TOOL_RUN_H
#define TOOL_RUN_H

#include <stdbool.h>

/* The outcome of a run. */
typedef struct tool_run {
    int   status;  /* exit status */
    char *said[2]; /* on stdout and stderr */
    bool  hit;     /* there was a look of that number */
} tool_run;

/* `run`: h5redset_main; `argv` ends with NULL. Look number `at` (from 1 on; 0: none) of the main thread fails with EIO. What it says of
 * ages is blotted out: time goes on. tool_run_free. */
tool_run tool_run_do(int (*run)(int argc, char **argv), const char *const *argv, int at);
void     tool_run_free(tool_run *r);

/* Has it said anything? */
bool tool_run_says(const tool_run *r);

#endif
