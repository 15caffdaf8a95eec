/* pattern.h: names of files by pattern, as in files=GLOB. */
#ifndef RSET_PATTERN_H
#define RSET_PATTERN_H

#include <stdbool.h>

/* Does `pattern` match the file at `path` (fnmatch, '*' matches '/' too)? Without '/' it is matched with the base name, else
 * with the whole path, and if it does not begin with '/' also from any directory of it on. Local. */
bool rset_pattern_matches(const char *pattern, const char *path);

#endif
