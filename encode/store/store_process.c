/* store_process.c: see process.h. As Linux tells it: proc(5). */
#include "process.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* PF_FORKNOEXEC of the kernel, in the flags of a process. */
#define FORKED_ONLY 0x40UL

enum { LINE = PATH_MAX + 256 };

/* The name of the program may have any bytes in it: what follows its last parenthesis is read. */
bool
rset_process_is_forked(void)
{
    FILE         *file = fopen("/proc/self/stat", "re");
    char          text[1024] = "";
    const char   *rest;
    unsigned long flags = 0;

    if (file == NULL)
        return false;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    rest = strrchr(text, ')');
    return rest != NULL && sscanf(rest, ") %*c %*d %*d %*d %*d %*d %lu", &flags) == 1 &&
           (flags & FORKED_ONLY) != 0;
}

/* A line of /proc/PID/maps: where the piece of memory begins and ends, and what was mapped there. */
typedef struct mapped {
    uintptr_t   from, to;
    const char *what;
} mapped;

static bool
next_mapped(FILE *maps, char line[LINE], mapped *out)
{
    unsigned long long from, to;
    int                at = 0;

    if (fgets(line, LINE, maps) == NULL ||
        sscanf(line, "%llx-%llx %*s %*s %*s %*s %n", &from, &to, &at) != 2 || at == 0)
        return false;
    *out = (mapped){(uintptr_t)from, (uintptr_t)to, line + at};
    return true;
}

/* What process `pid` has mapped at `at`, into what[LINE]; false: that cannot be found out. "": nothing. */
static bool
look_at(int pid, const void *at, char what[LINE])
{
    char   name[64], line[LINE];
    FILE  *maps;
    mapped m;

    what[0] = '\0';
    snprintf(name, sizeof name, "/proc/%d/maps", pid);
    maps = fopen(name, "re");
    if (maps == NULL)
        return false;
    while (next_mapped(maps, line, &m))
        if ((uintptr_t)at >= m.from && (uintptr_t)at < m.to)
            memcpy(what, m.what, strlen(m.what) + 1);
    (void)fclose(maps);
    return true;
}

static bool
runs_the_same(int pid)
{
    char        name[64];
    struct stat own, other;

    snprintf(name, sizeof name, "/proc/%d/exe", pid);
    return stat("/proc/self/exe", &own) == 0 && stat(name, &other) == 0 &&
           own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

bool
rset_process_has_loaded(const void *at)
{
    char      own[LINE], theirs[LINE];
    const int parent = (int)getppid();

    return runs_the_same(parent) && look_at((int)getpid(), at, own) &&
           look_at(parent, at, theirs) && own[0] != '\0' && strcmp(own, theirs) != 0;
}
