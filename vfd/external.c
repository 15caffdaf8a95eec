/* external.c: see external.h. */
#include "external.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

/* ---- recognising ---- */

/* The message, behind its header, and the header in front of it:
 *
 *   version 1: type (2), size (2), flags (1), zeros (3); sizes are multiples of 8
 *   version 2: type (1), size (2), flags (1), and order of creation (2) where an object keeps that of its attributes
 *   message:   1, zeros (3), number of files (2) twice, address of the heap with their names; for each file the place of its name in
 *              the heap, its offset and its size
 *
 * HDF5 never changes the message, and its flags say that. The names begin at multiples of 8 in the heap, behind an empty one. */
enum { TYPE = 7, CONSTANT = 1, AT_COUNTS = 4, AT_HEAP = 8 };

static uint64_t
number(const uint8_t *at, size_t len)
{
    uint64_t value = 0;

    while (len > 0)
        value = value << 8 | at[--len];
    return value;
}

/* Are addresses and lengths of so many bytes? */
static bool
is_message_of(const uint8_t *m, size_t size, bool padded, size_t len)
{
    const size_t need = AT_HEAP + len + 3 * len * number(m + AT_COUNTS, 2);
    uint64_t     heap, name;

    if (size != (padded ? (need + 7) / 8 * 8 : need))
        return false;
    heap = number(m + AT_HEAP, len);
    name = number(m + AT_HEAP + len, len);
    return heap != 0 && heap != UINT64_MAX >> (64 - 8 * len) && name != 0 && name % 8 == 0;
}

/* `left`: bytes there are from `m` on. */
static bool
is_message(const uint8_t *m, size_t left, size_t size, bool padded)
{
    static const uint8_t begin[AT_COUNTS] = {1};

    if (left < size || size < AT_HEAP + 4 * 4 || memcmp(m, begin, sizeof begin) != 0 ||
        memcmp(m + AT_COUNTS, m + AT_COUNTS + 2, 2) != 0 || number(m + AT_COUNTS, 2) == 0)
        return false;
    return is_message_of(m, size, padded, 8) || is_message_of(m, size, padded, 4);
}

/* Does the header of such a message begin at `p`? */
static bool
begins_at(const uint8_t *p, size_t left)
{
    static const uint8_t zeros[3];

    if (left < AT_HEAP + 8)
        return false;
    if (p[1] == 0 && p[4] == CONSTANT && memcmp(p + 5, zeros, sizeof zeros) == 0 &&
        is_message(p + 8, left - 8, number(p + 2, 2), true))
        return true;
    if (p[3] != CONSTANT)
        return false;
    return is_message(p + 4, left - 4, number(p + 1, 2), false) ||
           is_message(p + 6, left - 6, number(p + 1, 2), false);
}

bool
rset_external_is_in(const void *bytes, size_t size)
{
    const uint8_t *p = bytes, *end = p + size;

    for (; (p = memchr(p, TYPE, (size_t)(end - p))) != NULL; p++)
        if (begins_at(p, (size_t)(end - p)))
            return true;
    return false;
}

/* ---- saying ---- */

enum { NOTES_MAX = 8 }; /* as many as are committed together; of more, the next commit speaks */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static rset_err        notes[NOTES_MAX];
static unsigned        nnotes;

void
rset_external_note(const char *path, bool own)
{
    pthread_mutex_lock(&lock);
    if (nnotes < NOTES_MAX) {
        rset_err *err = &notes[nnotes++];

        *err = RSET_ERR_NONE;
        (void)rset_fail(
            err, RSET_USAGE,
            "%s: %shas a dataset with external raw storage (H5Pset_external), which HDF5 "
            "writes past this driver: what is in those files is not protected; keep "
            "the data in the HDF5 file, or give those files to "
            "H5FDredset_protect_files",
            path, own ? "" : "the file of another rank ");
    }
    pthread_mutex_unlock(&lock);
}

bool
rset_external_take(rset_err *err)
{
    bool any;

    pthread_mutex_lock(&lock);
    any = nnotes > 0;
    if (any)
        *err = notes[--nnotes];
    pthread_mutex_unlock(&lock);
    return any;
}
