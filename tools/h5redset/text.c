/* text.c: see text.h. */
#include "text.h"

#include "common/utf8.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void
no_memory(void)
{
    fputs("h5redset: no memory\n", stderr);
    exit(EXIT_FAILURE);
}

static void *
checked(void *at)
{
    if (at == NULL)
        no_memory();
    return at;
}

void *
must_alloc(size_t size)
{
    return checked(calloc(1, size > 0 ? size : 1));
}

void *
must_grow(void *at, size_t size)
{
    return checked(realloc(at, size > 0 ? size : 1));
}

char *
must_copy(const char *text)
{
    return checked(strdup(text));
}

char *
must_print(const char *fmt, ...)
{
    va_list args;
    char   *text = NULL;

    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0)
        text = NULL;
    va_end(args);
    return checked(text);
}

void *
must_have_room(void *list, size_t n, size_t *room, size_t size)
{
    if (n < *room)
        return list;
    *room = *room > 0 ? 2 * *room : 16;
    return must_grow(list, *room * size);
}

char *
shown(const char *text)
{
    char  *out = must_alloc(4 * strlen(text) + 1);
    size_t used = 0;

    for (const char *s = text; *s != '\0';) {
        size_t n = rset_utf8_printable(s);

        if (n > 0) {
            memcpy(out + used, s, n);
            used += n;
            s += n;
        } else {
            used += (size_t)sprintf(out + used, "\\x%02x", (unsigned char)*s++);
        }
    }
    return out;
}

static void
print(FILE *to, const char *who, const char *fmt, va_list args)
{
    char *text = NULL, *safe;

    if (vasprintf(&text, fmt, args) < 0)
        no_memory();
    safe = shown(text);
    fprintf(to, "%s%s\n", who, safe);
    free(safe);
    free(text);
}

void
print_line(FILE *to, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    print(to, "", fmt, args);
    va_end(args);
}

void
print_error(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    print(stderr, "h5redset: ", fmt, args);
    va_end(args);
}

char *
dir_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    int         n = slash != NULL ? (int)(slash - path) : 0;

    return must_print("%.*s", n > 0 ? n : 1, n > 0 ? path : "/");
}

const char *
show_age(int64_t seconds, char *buf)
{
    static const struct {
        int64_t     length;
        const char *name;
    } units[] = {{86400, "days"}, {3600, "h"}, {60, "min"}, {1, "s"}};
    size_t u = 0;

    if (seconds < 0)
        seconds = 0;
    while (u < 3 && seconds < 2 * units[u].length)
        u++;
    snprintf(buf, 32, "%lld %s", (long long)(seconds / units[u].length), units[u].name);
    return buf;
}

void
show_date(uint64_t seconds, char *buf, size_t size)
{
    const time_t     when = (time_t)seconds;
    const struct tm *local = seconds != 0 ? localtime(&when) : NULL;

    if (local == NULL || strftime(buf, size, "%Y-%m-%d %H:%M:%S", local) == 0)
        snprintf(buf, size, "?");
}

/* ---- lists ---- */

void
strings_add(strings *list, const char *text)
{
    list->at = must_have_room(list->at, list->n, &list->room, sizeof *list->at);
    list->at[list->n++] = must_copy(text);
}

int
strings_find(const strings *list, const char *text)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->at[i], text) == 0)
            return (int)i;
    return -1;
}

void
strings_add_once(strings *list, const char *text)
{
    if (strings_find(list, text) < 0)
        strings_add(list, text);
}

static int
ascending(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

void
strings_sort(strings *list)
{
    if (list->n > 1)
        qsort(list->at, list->n, sizeof *list->at, ascending);
}

void
strings_free(strings *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->at[i]);
    free(list->at);
    *list = (strings){0};
}

/* ---- paths ---- */

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
