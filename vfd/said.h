/* said.h: the only printing of the driver: lines on stderr. What is said again and again is said a few times, and then counted. Local. */
#ifndef RSET_SAID_H
#define RSET_SAID_H

enum { RSET_SAID_MANY = 8 };

/* "redset: TEXT", unless this process has said just that, or `most` texts that differ from it in numbers only. The last of
 * RSET_SAID_MANY says that more will be counted. Threads may call it at the same time. */
void rset_said(const char *text, int most);

/* This text, as it is. A pipe that nobody reads, or a file that may not grow, raises no signal in the program. */
void rset_say(const char *text);

/* At the end: how often what was counted only would have been said. */
void rset_said_sum_up(void);

#endif
