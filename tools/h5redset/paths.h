/* paths.h: paths as text. */
#ifndef PATHS_H
#define PATHS_H

#include "text.h"

#include <stdbool.h>

/* Is `path` one of `paths`, or below one? */
bool path_is_within(const strings *paths, const char *path);

/* An absolute path, without "." and "..", of something that need not exist. A new string. */
char *absolute(const char *path);

#endif
