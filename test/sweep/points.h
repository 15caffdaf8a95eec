/* points.h: what every sweep says of itself: how many points were tried, how many came out wrong. */
#ifndef POINTS_H
#define POINTS_H

#include <stdbool.h>
#include <stdint.h>

/* Takes "change" (a sample) or "all" from the command line and returns whether it was "all"; ends the
 * program with status 2 when it is neither. `name` stands at the beginning of the last line. */
bool points_begin(const char *name, int argc, char **argv);

/* One more point was tried. */
void points_tried(void);

/* One more came out wrong; the first ones are printed. From the main thread only. */
void points_wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The next of some numbers that are the same in every run: 0 <= number < n. */
uint64_t points_random(uint64_t n);

/* Prints the last line; the exit status of main. */
int points_end(void);

#endif
