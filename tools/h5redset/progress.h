/* progress.h: how far work is that reads much, on stderr: nothing in the first 2 s of the command; then a bar where stderr is a
 * terminal, and a line for each 10 % where it is not. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* What the engine reads from now on counts, up to about `total` bytes; 0: there is nothing to do. One at a time. `show`: false
 * where another process shows its own. */
void progress_begin(bool show, const char *doing, uint64_t total);
void progress_end(void);

/* The bar goes until more is read: something else is to be said on the terminal. */
void progress_wipe(void);

#endif
