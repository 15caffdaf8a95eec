/* text.h: memory, text and paths for a command: running out of memory ends it, file names are shown harmless. */
#ifndef TEXT_H
#define TEXT_H

#include "common/amount.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

_Noreturn void no_memory(void);

/* As malloc, realloc and strdup; without memory the process ends with a message. */
void *must_alloc(size_t size); /* zeroed */
void *must_grow(void *at, size_t size);
char *must_copy(const char *text);
char *must_print(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* a new string */

/* Makes room for one more entry of `size` bytes in a list of n entries; returns the list. */
void *must_have_room(void *list, size_t n, size_t *room, size_t size);

/* `text` as it can be shown in a terminal, in JSON or in XML: a byte that is no printable UTF-8 (common/utf8.h) becomes \xNN.
 * A new string. */
char *shown(const char *text);

/* A line, which may have names in it: as it can be shown. */
void print_line(FILE *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same on stderr, after the name of this program. */
void print_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The directory part of an absolute path. A new string. */
char *dir_of(const char *path);

/* "3 h", "2 days". `buf` has at least 32 bytes; returned. */
const char *show_age(int64_t seconds, char *buf);

/* "2026-11-28 21:40:00", by the clock here, of seconds since 1970; "?" of 0. */
void show_date(uint64_t seconds, char *buf, size_t size);

/* A list of strings, owned. */
typedef struct strings {
    size_t n, room;
    char **at;
} strings;

void strings_add(strings *list, const char *text);
void strings_add_once(strings *list, const char *text);   /* unless it is there */
int  strings_find(const strings *list, const char *text); /* index, or -1 */
void strings_sort(strings *list);                         /* node2 before node10 */
void strings_free(strings *list);

/* Is `path` one of `paths`, or below one? */
bool path_is_within(const strings *paths, const char *path);

/* An absolute path, without "." and "..", of something that need not exist. A new string. */
char *absolute(const char *path);

#endif
