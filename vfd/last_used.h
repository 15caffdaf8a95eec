/* last_used.h: with which ranks, and which settings, files of a kind were used last: for calls that name files only. In the thread
 * that talks to other ranks (V3). No HDF5 and no MPI here. */
#ifndef RSET_LAST_USED_H
#define RSET_LAST_USED_H

#include "team.h"

/* Files of this kind were opened or closed together by `team`, with these settings. Of too many kinds the oldest is forgotten,
 * and without memory nothing is kept. Local. */
void rset_last_used_set(const rset_kind *kind, rset_team *team, const rset_config *config);

/* That, of the kind of the file at `path`: false: nothing is known. *config_out has no communicator; the team stands for it. To be
 * asked while MPI may be called only. Local. */
bool rset_last_used_find(const char *path, rset_team **team_out, rset_config *config_out);

#endif
