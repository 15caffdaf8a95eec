/* pending.h: files of one rank (root=) of which other ranks shall have replicas: noted when they are closed, copied when all
 * ranks come together the next time to close a file, or in MPI_Finalize. */
#ifndef RSET_PENDING_H
#define RSET_PENDING_H

#include "team.h"

/* This rank has protected the file at `path`, under this generation; config->replicas members of its set shall have it, and
 * config->keep generations of it.
 * Without memory they do not get it, until it is written again. Local. */
void rset_pending_note(rset_team *team, const rset_config *config, const char *path,
                       uint64_t generation);

/* All ranks have come to close a file of `config`, and RSET_TEAM_PENDING was said: replicas are made of what is noted on any
 * of them. What cannot be copied stays noted, and is said once in note_out, which is otherwise left as it is. Collective. */
void rset_pending_copy(rset_team *team, const rset_config *config, char note_out[RSET_ERR_TEXT]);

/* In MPI_Finalize, for all teams that have come together once and whose files root= names: the rest of it. say(text) is
 * called for what is to be said; so it is where files are noted of a team that never came together. Then nothing is noted any more.
 * Collective over each of them, bounded by its timeout. */
void rset_pending_end(void (*say)(const char *text));

#endif
