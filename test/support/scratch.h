/* scratch.h: the scratch directory of a test, and whole small files in it. Fails the cmocka test when a call fails. */
#ifndef SCRATCH_H
#define SCRATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* A new empty directory, in memory where possible: fsync costs nothing there. Freed with free(). */
char *scratch_make(void);
/* Removes a directory and all in it. Nothing when it is not there. */
void remove_tree(const char *dir);
/* The path made of printf's arguments, in a buffer of the calling thread that is used again after 16 calls. */
const char *path_of(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The newest undo journal of the data file with that prefix in `dir`; where there is none, the name that a first one has. As path_of. */
const char *journal_in(const char *dir, const char *prefix);

/* Whole small files. */
uint8_t *read_file(const char *path, size_t *size_out);
/* The mode of files that are written anew by it: image_mode says it, for a path or its directory; NULL: 0644. */
extern mode_t (*image_mode)(const char *path);
mode_t image_mode_of(const char *path);
void   write_file(const char *path, const void *data, size_t size);
void   append_file(const char *path, const void *data, size_t size);
void   flip_bit(const char *path, size_t byte);
bool   exists(const char *path);

/* `size` bytes that depend on `seed`. */
void fill_random(uint8_t *to, size_t size, uint64_t seed);

#endif
