/* placeholder.h: what has the data file's name while a shadow file is written and there is no old file: HDF5 wants to see
 * the name. Local. */
#ifndef RSET_PLACEHOLDER_H
#define RSET_PLACEHOLDER_H

#include "member.h"

rset_status rset_placeholder_make(const rset_local *local, rset_err *err);
bool        rset_placeholder_is(rset_file *file);
bool        rset_placeholder_has_name(rset_dir *dir, const char *name);
/* Removes it, if that is what has the name. */
void rset_placeholder_remove(const rset_local *local);

#endif
