/* left.h: what a file is as this process leaves it, by the descriptor that it was written through. What is protected afterwards is
 * that, not what another process puts under its name meanwhile. */
#ifndef RSET_LEFT_H
#define RSET_LEFT_H

#include "handle.h"

/* A second descriptor of the file, from before the lower driver closes it: some write then. -1: the lower driver has none. Local. */
int rset_left_begin(const rset_handle *handle);
/* It has: the session knows the file now. `fd` is closed; -1 is accepted. Local. */
void rset_left_end(rset_handle *handle, int fd);
/* The same of a file that stays open. Local. */
void rset_left_note(rset_handle *handle);

#endif
