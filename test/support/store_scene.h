/* store_scene.h: for the tests of files and directories: a directory of its own for each test, /tmp/..., and the
 * table of system calls with one that misbehaves. Fails the cmocka test when a call fails. */
#ifndef STORE_SCENE_H
#define STORE_SCENE_H

#include "store/store.h"

#include <stdbool.h>

extern char      top[64]; /* its path */
extern rset_dir *dir;     /* and itself, open */

int set_up(void **state);
int tear_down(void **state); /* also puts the plain table back */
#define IN_DIRECTORY(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

/* The path of what has that name there, in a buffer that is used again after 2 calls. */
const char *in_top(const char *name);

/* A file there becomes, or is, this text. */
void put(const char *name, const char *text);
void assert_content(const char *name, const char *text);

int open_descriptors(void);

/* Calls of the table that can be made to misbehave. */
typedef enum {
    NONE,
    OPENAT,
    CLOSE,
    PREAD,
    PWRITE,
    FTRUNCATE,
    FSYNC,
    FSTAT,
    FSTATAT,
    RENAMEAT,
    UNLINKAT,
    MKDIR,
    FDOPENDIR,
    READDIR,
    FCHMOD,
    FCHOWN,
    FUTIMENS,
    FSETXATTR
} call;

/* The one that does. */
extern struct fault {
    call which;
    int  at;        /* the how many-th one, from 0 */
    int  times;     /* how many from there; -1: all */
    int  sys_errno; /* 0: a short transfer */
    int  seen, hits;
} fault;

/* From here on `times` calls of that kind fail, from number `at` on. */
void break_call(call which, int at, int times, int sys_errno);

#endif
