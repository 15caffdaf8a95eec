/* image.h: a directory tree held in memory: to lose parts of it, to bring them back, and to see what
 * has changed. For tests that take a tree apart many times. Fails the cmocka test when a call fails;
 * main thread only. */
#ifndef IMAGE_H
#define IMAGE_H

#include "scratch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

typedef struct image_file {
    char       *path; /* relative to the root of the image */
    uint8_t    *data;
    size_t      size;
    struct stat st;
    uint8_t     mark[8]; /* of a protected file (extended attribute user.redset) */
    bool        has_mark;
} image_file;

typedef struct image {
    size_t      n, room;
    image_file *at; /* ascending by path */
} image;

image image_take(const char *dir);
void  image_free(image *img);
/* Writes the files below `under` (NULL: all), with mode, times and mark, making directories. */
void image_put(const image *img, const char *dir, const char *under);
/* How many files, names files (FORMAT-extensions.md 6) left out. */
size_t image_count(const image *img);
/* The file of that path or NULL. */
const image_file *image_find(const image *img, const char *path);

/* What follows the number of a generation, 16 digits, in the name of a file that has one; else NULL. */
const char *image_after_generation(const char *path);

/* How strictly two trees are compared. */
typedef enum {
    IMAGE_CONTENT, /* names and bytes of all files but names files */
    IMAGE_BACK, /* and the very same files, which may have had other names meanwhile: inode, mode, time of writing */
    IMAGE_REFUSED, /* and these were not touched: time of change; and the same names files, which may say something
                        else: they may list more than there is (encode/names/README.md, N1) */
    IMAGE_UNTOUCHED /* and the names files are untouched, too */
} image_strictness;

/* Do the files in `dir` below `under` (NULL: all) equal those of the image? A difference is described in
 * why (1024 bytes). */
bool image_same(const image *img, const char *dir, const char *under, image_strictness how,
                char *why);

/* Has the file at `path` the bytes of that file of the image? */
bool image_same_file(const image *img, const char *file, const char *path, char *why);

/* Are all files of the image but names files the same? Beside them there may be some whose names end in `more`. */
bool image_kept(const image *img, const char *dir, const char *more, image_strictness how,
                char *why);

/* A number that two images share when names, bytes and marks of all their files are equal, and `with` is. */
uint64_t image_fingerprint(const image *img, uint64_t with);

#endif
