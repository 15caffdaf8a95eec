/* forget.h: what lies beside a data file is removed. When is what remove.h says. Local. */
#ifndef RSET_FORGET_H
#define RSET_FORGET_H

#include "commit.h"

/* Removes all that lies beside the data file: redundancy, journals, shadow files that nobody writes, whatever crashed runs
 * left, in other directories of the data files as well; but for what `stays` names (NULL: nothing), local->shadow, and
 * other generations that have names of their own (kept.h, newer.h). Of what it removes the descriptor file is the last: where that is cut
 * short, it says still that the file was protected, and with which others. */
rset_status rset_forget_others(const rset_local *local, const rset_commit *stays, rset_err *err);

/* The same; the redundancy file `name` stays, and the descriptor file of `rank`, which is this member's. */
rset_status rset_forget_all_but(const rset_local *local, const char *name, int rank, rset_err *err);

/* Removes the data file `data`, which is one of a generation of these files, and all that protects it: that first, so that the
 * file is never rebuilt from what is left of it. */
rset_status rset_forget_data(const rset_local *local, const char *data, rset_err *err);

#endif
