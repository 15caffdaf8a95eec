/* undo_scene.c: see undo_scene.h. */
#include "undo_scene.h"

#include "common/bytes.h"
#include "common/crc64.h"
#include "image.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

const uint64_t undo_generation = UINT64_C(0x1234560000000001);
const uint64_t undo_key = UINT64_C(0x77);

/* A head as FORMAT-extensions.md 4 has it, by hand: magic, ten numbers, checksum. */
void
undo_put_head(undo_scene *s, uint64_t sequence, rset_undo_state state)
{
    const uint64_t fields[] = {sequence, state, RSET_UNDO_KEPT, undo_generation, UNDO_SIZE, 11, 12,
                               4,        77,    undo_key};
    uint8_t       *at = s->bytes + sequence % 2 * UNDO_PLACE;

    memcpy(at, "RSETJRN3", 8);
    for (size_t i = 0; i < 10; i++)
        rset_put64(at + 8 + 8 * i, fields[i]);
    rset_put64(at + 88, rset_crc64(0, at, 88));
    s->n = s->n > UNDO_ENTRIES ? s->n : UNDO_ENTRIES;
}

void
undo_put_aside(undo_scene *s)
{
    uint8_t *at = s->bytes + UNDO_PLACE;

    rset_put64(at + 24, RSET_UNDO_KEPT | RSET_UNDO_ASIDE);
    rset_put64(at + 88, rset_crc64(0, at, 88));
}

void
undo_put_entry(undo_scene *s, uint64_t off, uint64_t len, size_t real)
{
    rset_put64(s->bytes + s->n, off);
    rset_put64(s->bytes + s->n + 8, len);
    rset_put64(s->bytes + s->n + 16, undo_key);
    rset_put64(s->bytes + s->n + 16, rset_crc64(0, s->bytes + s->n, 24));
    memset(s->bytes + s->n + UNDO_ENTRY, 'a' + (int)(off % 26), real);
    s->n += UNDO_ENTRY + real;
}

rset_undo
undo_load(undo_scene *s)
{
    rset_err  err = RSET_ERR_NONE;
    rset_undo undo;

    write_file(path_of("%s/f.redset.1234560000000001.undo", s->base), s->bytes, s->n);
    assert_int_equal(rset_undo_load(s->dir, "f.", undo_generation, &undo, &err), RSET_OK);
    assert_true(undo.there != undo.rotten);
    return undo;
}

int
undo_set_up(void **state)
{
    rset_err    err = RSET_ERR_NONE;
    undo_scene *s = calloc(1, sizeof *s);

    s->base = scratch_make();
    assert_int_equal(rset_dir_open(s->base, false, &s->dir, &err), RSET_OK);
    undo_put_head(s, 1, RSET_UNDO_OPEN);
    *state = s;
    return 0;
}

int
undo_tear_down(void **state)
{
    undo_scene *s = *state;

    rset_dir_close(s->dir);
    remove_tree(s->base);
    free(s->base);
    free(s);
    return 0;
}
