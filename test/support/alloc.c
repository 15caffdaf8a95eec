/* alloc.c: see alloc.h. */
#include "alloc.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void  __real_free(void *at);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
void  __wrap_free(void *at);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);
int   __wrap_asprintf(char **out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int   __wrap_vasprintf(char **out, const char *fmt, va_list args)
    __attribute__((format(printf, 2, 0)));

bool (*alloc_fails)(void);
atomic_long alloc_live;

static bool
fails(void)
{
    return alloc_fails != NULL && alloc_fails();
}

static void *
counted(void *at)
{
    if (at != NULL)
        atomic_fetch_add(&alloc_live, 1);
    return at;
}

void *
__wrap_malloc(size_t size)
{
    return fails() ? NULL : counted(__real_malloc(size));
}

void *
__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : counted(__real_calloc(n, size));
}

void *
__wrap_realloc(void *old, size_t size)
{
    void *at = fails() ? NULL : __real_realloc(old, size);

    return old == NULL ? counted(at) : at;
}

void
__wrap_free(void *at)
{
    if (at != NULL)
        atomic_fetch_sub(&alloc_live, 1);
    __real_free(at);
}

char *
__wrap_strndup(const char *s, size_t n)
{
    size_t len = strnlen(s, n);
    char  *copy = __wrap_malloc(len + 1);

    if (copy == NULL)
        return NULL;
    memcpy(copy, s, len);
    copy[len] = '\0';
    return copy;
}

char *
__wrap_strdup(const char *s)
{
    return __wrap_strndup(s, strlen(s));
}

int
__wrap_vasprintf(char **out, const char *fmt, va_list args)
{
    va_list again;
    char   *text;
    int     len;

    va_copy(again, args);
    len = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    text = __wrap_malloc((size_t)len + 1);
    if (text == NULL)
        return -1; /* *out stays what it was: nobody may count on it */
    *out = text;
    return vsnprintf(text, (size_t)len + 1, fmt, args);
}

int
__wrap_asprintf(char **out, const char *fmt, ...)
{
    va_list args;
    int     len;

    va_start(args, fmt);
    len = __wrap_vasprintf(out, fmt, args);
    va_end(args);
    return len;
}
