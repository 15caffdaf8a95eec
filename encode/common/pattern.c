/* pattern.c: see pattern.h. */
#include "pattern.h"

#include <fnmatch.h>
#include <stddef.h>
#include <string.h>

bool
rset_pattern_matches(const char *pattern, const char *path)
{
    const char *s = strrchr(path, '/');

    if (strchr(pattern, '/') == NULL)
        return fnmatch(pattern, s ? s + 1 : path, 0) == 0;
    if (fnmatch(pattern, path, 0) == 0)
        return true;
    for (s = strchr(path, '/'); s != NULL; s = strchr(s + 1, '/'))
        if (fnmatch(pattern, s + 1, 0) == 0)
            return true;
    return false;
}
