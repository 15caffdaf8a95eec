/* view.h: an older generation is opened (generation=): which file that is. */
#ifndef RSET_VIEW_H
#define RSET_VIEW_H

#include "config.h"

/* The file at `path` is about to be opened for reading. Where the configuration asks for an older generation of it, its path is
 * *at_out, a new string; whether the file is there is another question. NULL: the file itself is meant, or nobody has ever
 * protected it. RSET_USAGE: there is no such generation. Collective where there are other ranks: a rank that has lost its file
 * learns from them which generations there are. Where they do not come, what lies here decides. */
rset_status rset_view_find(const rset_config *config, const char *path, char **at_out,
                           rset_err *err);

#endif
