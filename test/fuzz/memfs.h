/* memfs.h: the engine's file calls on directories that are in memory only, behind the table of store.h:
 * fast, the same at every run, and with a tripwire: a call that would change anything but the calling
 * rank's own files is a step outside.
 *
 * There are directories MEMFS_BASE "/node<r>" for the ranks of a job and nothing else. A file holds at
 * most MEMFS_MOST bytes; then the disk is full. */
#ifndef MEMFS_H
#define MEMFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define MEMFS_BASE "/memfs"

enum { MEMFS_DIRS = 8, MEMFS_FILES = 128, MEMFS_NAME = 256, MEMFS_MOST = 1 << 20 };

typedef enum { MEMFS_FILE, MEMFS_LINK, MEMFS_DIR, MEMFS_FIFO } memfs_kind;

typedef struct memfs_file {
    bool       used;
    int        dir;
    char       name[MEMFS_NAME];
    memfs_kind kind;
    mode_t     mode; /* permissions */
    uint8_t   *data;
    size_t     size;
    uint8_t    mark[8];
    bool       has_mark;
    int        opened;   /* descriptors on it */
    bool       unlinked; /* kept for them */
} memfs_file;

/* All files, to be put aside and rebuilt. */
typedef struct memfs_state {
    memfs_file files[MEMFS_FILES];
} memfs_state;

/* From here on the engine works in memory, with n directories, empty. */
void memfs_use(int n);
/* What the directories hold. Set and clear: deep copies; what *to held is freed. */
void memfs_get(memfs_state *to);
void memfs_set(const memfs_state *from);
bool memfs_same(const memfs_state *a, const memfs_state *b);
void memfs_clear(memfs_state *s);
void memfs_copy(memfs_state *to, const memfs_state *from); /* deep; what *to held is freed */

/* Files of a state; data NULL: zeros. A file that is there is replaced. */
memfs_file *memfs_find(memfs_state *s, int dir, const char *name);
memfs_file *memfs_put(memfs_state *s, int dir, const char *name, const void *data, size_t size);
/* An empty one that is not there yet; NULL when there are too many. */
memfs_file *memfs_new(memfs_state *s, int dir, const char *name);
void        memfs_remove(memfs_file *f);
void        memfs_resize(memfs_file *f, size_t size);

/* This thread is the one of rank r: only files in directory r that are the data file or have the
 * redundancy prefix may change. -1: anything. */
void memfs_be(int r, const char *data, const char *prefix);
/* Who this thread is, for those who switch between ranks in one thread. */
typedef struct memfs_rank {
    int         dir; /* -1: anybody */
    const char *data, *prefix;
} memfs_rank;
memfs_rank memfs_self(void);
void       memfs_set_self(memfs_rank rank);

/* Steps outside since the last memfs_set; the first one is described in why (512 bytes). */
unsigned memfs_escapes(char *why);

#endif
