/* progress.h: a bar on stderr while much is read: bytes, rate, time left. Silent when stderr is no terminal. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* What the engine reads from now on counts, up to `total` bytes. One at a time. `show`: false where another
 * process shows its own. */
void progress_begin(bool show, const char *doing, uint64_t total);
void progress_end(void);

#endif
