/* knife.h: a packed tree (FORMAT.md 2, 3) opened, cut and sealed again with a checksum that fits, so
 * that a reader sees nothing but the cut. Also makes trees that no writer would. */
#ifndef KNIFE_H
#define KNIFE_H

#include <stddef.h>
#include <stdint.h>

typedef struct knife knife;

/* A valid container. knife_free(NULL) does nothing. */
knife *knife_open(const uint8_t *buf, size_t len);
void   knife_free(knife *tree);
/* The container again, freed with free(); what follows it in a file is not its business. */
uint8_t *knife_seal(const knife *tree, size_t *len_out);

/* Cuts at every place that `path` names: keys with '|' between, "*" stands for any key. Each returns
 * how many places there were. */
int knife_value(knife *tree, const char *path, const char *value); /* KEY = value */
int knife_rename(knife *tree, const char *path, const char *key);
int knife_remove(knife *tree, const char *path);
int knife_double(knife *tree, const char *path);               /* the same key twice */
int knife_add(knife *tree, const char *path, const char *key); /* one more, empty */
int knife_bytes(knife *tree, const char *path, const void *bytes, size_t len); /* as subtree */

/* `depth` keys below each other, as packed bytes; freed with free(). */
uint8_t *knife_shaft(size_t depth, size_t *len_out);

#endif
