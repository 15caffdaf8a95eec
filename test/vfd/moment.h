/* moment.h: by which files link_commit_moment.c and preload_moment.c tell each other how far they are. */
#ifndef MOMENT_H
#define MOMENT_H

#include <stdio.h>
#include <stdlib.h>

/* The path of one of them into `text`: they lie in the directory MOMENT. */
static inline void
name_of(char *text, size_t size, const char *base)
{
    snprintf(text, size, "%s/%s", getenv("MOMENT"), base);
}

#endif
