/* paths.c: see paths.h. */
#include "paths.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *
absolute(const char *path)
{
    char  here[PATH_MAX], *full, *out;
    char *rest = NULL;

    if (path[0] == '/' || getcwd(here, sizeof here) == NULL)
        here[0] = '\0';
    full = must_print("%s/%s", here, path);
    out = must_alloc(strlen(full) + 2);
    for (char *part = strtok_r(full, "/", &rest); part != NULL; part = strtok_r(NULL, "/", &rest)) {
        if (strcmp(part, ".") == 0)
            continue;
        if (strcmp(part, "..") != 0) {
            strcat(out, "/");
            strcat(out, part);
        } else if (strrchr(out, '/') != NULL) {
            *strrchr(out, '/') = '\0';
        }
    }
    if (out[0] == '\0')
        strcpy(out, "/");
    free(full);
    return out;
}

bool
path_is_within(const strings *paths, const char *path)
{
    for (size_t i = 0; i < paths->n; i++) {
        size_t n = strlen(paths->at[i]);

        if (strncmp(path, paths->at[i], n) == 0 &&
            (path[n] == '\0' || path[n] == '/' || paths->at[i][n - 1] == '/'))
            return true;
    }
    return false;
}
