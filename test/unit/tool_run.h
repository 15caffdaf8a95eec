/* tool_run.h: h5redset in this process, while one of its looks fails. For tests that link it (test_tool_*.c). */
#ifndef TOOL_RUN_H
#define TOOL_RUN_H

#include "failing.h"

#include <stdbool.h>
#include <sys/stat.h>

/* The outcome of a run. */
typedef struct tool_run {
    int   status;  /* exit status */
    char *said[2]; /* on stdout and stderr */
    bool  hit;     /* there was a look of that number */
} tool_run;

/* `run`: h5redset_main; `argv` ends with NULL. Look number `at` (from 1 on; 0: none), whichever thread makes it, fails with EIO. What it says of
 * ages is blotted out: time goes on. tool_run_free. */
tool_run tool_run_do(int (*run)(int argc, char **argv), const char *const *argv, int at);
void     tool_run_free(tool_run *r);

/* The tool's own looks at paths go through this: the linker puts it in the place of those calls (NAME.wrap). Once in a program. */
#define TOOL_RUN_LOOK(name)                                                                        \
    int __real_##name(const char *path, struct stat *out);                                         \
    int __wrap_##name(const char *path, struct stat *out);                                         \
    int __wrap_##name(const char *path, struct stat *out)                                          \
    {                                                                                              \
        return failing_now(FAILING_FSTATAT) ? -1 : __real_##name(path, out);                       \
    }

/* Is its exit status 0, or does it say what the look failed with? */
bool tool_run_says_why(const tool_run *r);

#endif
