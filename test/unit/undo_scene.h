/* undo_scene.h: a directory with the undo journal of the file "f", which is made by hand. Fails the test. */
#ifndef UNDO_SCENE_H
#define UNDO_SCENE_H

#include "member/undo.h"

#include <stddef.h>
#include <stdint.h>

enum {
    UNDO_SIZE = 100, /* of the file that it leads back to */
    UNDO_ROOM = 4096,
    UNDO_HEAD = 96,
    UNDO_PLACE = 512,
    UNDO_ENTRIES = RSET_UNDO_ENTRIES,
    UNDO_ENTRY = RSET_OVERLAY_ENTRY
};

extern const uint64_t undo_generation; /* that it leads back to */
extern const uint64_t undo_key;

typedef struct undo_scene {
    char     *base;
    rset_dir *dir;
    uint8_t   bytes[UNDO_ROOM]; /* the journal */
    size_t    n;
} undo_scene;

/* Set-up and end of a test: *state is a scene, whose journal has head 1, which is open, and no entry. */
int undo_set_up(void **state);
int undo_tear_down(void **state);

/* A head in its place. */
void undo_put_head(undo_scene *s, uint64_t sequence, rset_undo_state state);
/* The head says that the old file was put aside as well. */
void undo_put_aside(undo_scene *s);
/* An entry with `real` bytes of 'a' + off. */
void undo_put_entry(undo_scene *s, uint64_t off, uint64_t len, size_t real);

/* Writes the journal, and loads it: it is there, or rotten. The caller frees. */
rset_undo undo_load(undo_scene *s);

#endif
