/* golden.h: where the vectors of test/golden are. */
#ifndef GOLDEN_H
#define GOLDEN_H

#include <stdlib.h>

static inline const char *
vectors(void)
{
    const char *dir = getenv("FORMAT_VECTORS");

    return dir != NULL && dir[0] != '\0' ? dir : FORMAT_VECTORS;
}

#endif
