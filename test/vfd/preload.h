/* preload.h: what the programs for LD_PRELOAD (preload_*.c) share. */
#ifndef PRELOAD_H
#define PRELOAD_H

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* The next function of that name. */
static inline void *
next(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (found == NULL)
        abort();
    return found;
}

/* Returns what the next function of that name does. A function pointer comes out of dlsym as an object pointer, which C does not
 * convert. */
#define CALL(type, name, ...)                                                                      \
    type  call;                                                                                    \
    void *found = next(name);                                                                      \
    memcpy(&call, &found, sizeof call);                                                            \
    return call(__VA_ARGS__)

typedef ssize_t (*write_type)(int, const void *, size_t, off64_t);
typedef int (*rename_type)(int, const char *, int, const char *);
typedef int (*rename2_type)(int, const char *, int, const char *, unsigned);
typedef long (*syscall_type)(long, long, long, long, long, long, long);
typedef int (*openat_type)(int, const char *, int, mode_t);

/* The six arguments that a syscall has at most. */
static inline void
take_arguments(va_list args, long a[6])
{
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(args, long);
}

/* The path of an open file into `name`; "": it has none. */
static inline void
find_name(int fd, char *name, size_t size)
{
    char    link[64];
    ssize_t n;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, name, size - 1);
    name[n > 0 ? n : 0] = '\0';
}

#endif
