/* progress.h: a bar on stderr while much is read: bytes, rate, time left. Silent when stderr is no terminal. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct progress {
    bool quiet; /* never shown: another process shows it */
} progress;

/* What the engine reads from now on counts, up to `total` bytes. One at a time. */
void progress_begin(const progress *p, const char *doing, uint64_t total);
void progress_end(const progress *p);

#endif
