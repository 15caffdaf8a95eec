/* content.c: see content.h.
 *
 * While a protected file is unchanged ("clean"), a write is first compared with what is there: one that
 * repeats it is no modification (T4) and is left out. One write of HDF5 needs more: with a driver that
 * has locks it opens any file for writing by setting a flag in the superblock, and clears it again when
 * it closes. That would make each mere open for writing void the protection and each close encode anew,
 * with all ranks. So a superblock that differs in nothing but its flags is held back in memory: until
 * something else changes, or others shall see it (unlock for SWMR), or the close. When HDF5 writes the
 * old superblock again nothing has happened. The same holds after a commit of a file that stays open. Reads see what is held. Flushing does not write it: HDF5
 * flushes right after setting the flag, and without a change there is nothing to keep. */
#include "content.h"

#include "external.h"
#include "h5err.h"

#include <assert.h>
#include <string.h>

enum { COMPARE_BLOCK = 16 * 1024 };

/* Bytes are about to change, as in rset_session_change. */
static herr_t
change(rset_handle *handle, haddr_t addr, haddr_t size)
{
    rset_err err = RSET_ERR_NONE, said = RSET_ERR_NONE;

    if (handle->session == NULL)
        return 0;
    if (rset_session_change(handle->session, addr, size, &err) != RSET_OK) {
        RSET_H5ERR_PUSH(H5E_VFL, H5E_WRITEERROR, &err);
        return -1;
    }
    if (rset_session_has_to_say(handle->session, &said))
        rset_h5err_warn_here(&said);
    return 0;
}

/* Compares with the file itself, whatever is held. */
static bool
same_bytes(const rset_handle *handle, H5FD_mem_t type, hid_t dxpl, haddr_t addr, size_t size,
           const void *buf)
{
    haddr_t eof = H5FDget_eof(handle->lower, type);
    char    there[COMPARE_BLOCK];

    if (eof == HADDR_UNDEF || addr > eof || size > eof - addr)
        return false;
    for (size_t done = 0, n; done < size; done += n) {
        n = size - done < sizeof there ? size - done : sizeof there;
        if (H5FDread(handle->lower, type, dxpl, addr + done, n, there) < 0 ||
            memcmp(there, (const char *)buf + done, n) != 0)
            return false;
    }
    return true;
}

/* ---- the superblock that is held back ---- */

/* How much of a write that begins with the superblock may be the superblock: other metadata may follow. */
static size_t
head_of(size_t size)
{
    return size < RSET_SUPERBLOCK_MAX ? size : RSET_SUPERBLOCK_MAX;
}

static bool
differs_in_flags_only(const rset_handle *handle, H5FD_mem_t type, hid_t dxpl, haddr_t addr,
                      size_t size, const void *buf)
{
    char    there[RSET_SUPERBLOCK_MAX];
    size_t  head = head_of(size);
    haddr_t eof = H5FDget_eof(handle->lower, H5FD_MEM_SUPER);

    if (!rset_superblock_is(buf, head))
        return false;
    if (eof == HADDR_UNDEF || addr > eof || size > eof - addr ||
        H5FDread(handle->lower, type, dxpl, addr, head, there) < 0)
        return false;
    return rset_superblock_same_but_flags(buf, there, head) &&
           same_bytes(handle, type, dxpl, addr + head, size - head, (const char *)buf + head);
}

static void
hold(rset_handle *handle, haddr_t addr, size_t size, const void *buf)
{
    memcpy(handle->held, buf, head_of(size));
    handle->held_at = addr;
    handle->held_size = head_of(size);
}

/* Puts what is held over what was read from the file. */
static void
overlay(const rset_handle *handle, haddr_t addr, size_t size, void *buf)
{
    haddr_t from = handle->held_at > addr ? handle->held_at : addr;
    haddr_t to = handle->held_at + handle->held_size;

    if (to > addr + size)
        to = addr + size;
    if (handle->held_size > 0 && from < to)
        memcpy((char *)buf + (from - addr), handle->held + (from - handle->held_at),
               (size_t)(to - from));
}

/* Remembers where the superblock is. */
static void
note_superblock(rset_handle *handle, haddr_t addr, size_t size, const void *buf)
{
    if (!rset_superblock_is(buf, head_of(size)))
        return;
    handle->written_at = addr;
    handle->written_size = head_of(size);
}

herr_t
rset_handle_release_held(rset_handle *handle)
{
    size_t size = handle->held_size;

    if (size == 0 || rset_session_is_inherited(handle->session))
        return 0;
    if (change(handle, handle->held_at, size) < 0)
        return -1;
    handle->held_size = 0;
    note_superblock(handle, handle->held_at, size, handle->held);
    if (H5FDwrite(handle->lower, H5FD_MEM_SUPER, H5P_DEFAULT, handle->held_at, size, handle->held) <
        0)
        handle->failed = true;
    return handle->failed ? -1 : 0;
}

herr_t
rset_handle_settle_superblock(rset_handle *handle)
{
    char         sb[RSET_SUPERBLOCK_MAX], open[RSET_SUPERBLOCK_MAX];
    const size_t size = handle->written_size;

    if (size == 0 || handle->held_size > 0)
        return 0;
    if (H5FDread(handle->lower, H5FD_MEM_SUPER, H5P_DEFAULT, handle->written_at, size, sb) < 0)
        return -1;
    memcpy(open, sb, size);
    if (!rset_superblock_is(sb, size) || !rset_superblock_clear_flags(sb))
        return 0;
    if (change(handle, handle->written_at, size) < 0 ||
        H5FDwrite(handle->lower, H5FD_MEM_SUPER, H5P_DEFAULT, handle->written_at, size, sb) < 0 ||
        H5FDflush(handle->lower, H5P_DEFAULT, false) < 0)
        return -1;
    hold(handle, handle->written_at, rset_superblock_size(open), open);
    return 0;
}

/* ---- external raw storage ---- */

/* Metadata of a file that may change is read or written. */
static void
look_for_external(rset_handle *handle, H5FD_mem_t type, size_t size, const void *buf)
{
    if (handle->session != NULL && type != H5FD_MEM_DRAW && (handle->flags & H5F_ACC_RDWR) != 0 &&
        rset_external_is_in(buf, size))
        rset_session_has_external(handle->session);
}

/* ---- reading ---- */

herr_t
rset_handle_read(rset_handle *handle, H5FD_mem_t type, hid_t dxpl, haddr_t addr, size_t size,
                 void *buf)
{
    const rset_lower lower = rset_handle_as_lower(handle);
    rset_err         err = RSET_ERR_NONE;

    if (rset_handle_ready(handle) < 0)
        return -1;
    if (handle->session != NULL &&
        rset_session_read(handle->session, addr, size, &lower, &err) != RSET_OK) {
        RSET_H5ERR_PUSH(H5E_VFL, H5E_READERROR, &err);
        handle->failed = true;
        return -1;
    }
    if (H5FDread(handle->lower, type, dxpl, addr, size, buf) < 0) {
        handle->failed = true; /* of an H5Fopen that fails the driver sees no more than this */
        return -1;
    }
    overlay(handle, addr, size, buf);
    look_for_external(handle, type, size, buf);
    return 0;
}

/* ---- writing ---- */

/* Can the write be left out, for now or for good? */
static bool
absorb(rset_handle *handle, H5FD_mem_t type, hid_t dxpl, haddr_t addr, size_t size, const void *buf)
{
    bool apart = handle->held_size == 0 || addr >= handle->held_at + handle->held_size ||
                 addr + size <= handle->held_at;
    bool instead = !apart && addr == handle->held_at && size >= handle->held_size;

    if (!apart && !instead)
        return false;
    if (same_bytes(handle, type, dxpl, addr, size, buf)) {
        if (instead)
            handle->held_size = 0;
        return true;
    }
    if ((instead || handle->held_size == 0) &&
        differs_in_flags_only(handle, type, dxpl, addr, size, buf)) {
        hold(handle, addr, size, buf);
        return true;
    }
    return false;
}

/* What is held back is written first. When that fails, what HDF5 wanted to write or cut off is not done: the file is not
 * complete. */
static herr_t
before_change(rset_handle *handle, haddr_t addr, haddr_t size)
{
    if (change(handle, addr, size) == 0 && rset_handle_release_held(handle) == 0)
        return 0;
    handle->failed = true;
    return -1;
}

/* With this superblock, readers open the file under its name: it has to be there now. */
static herr_t
show_when_shared(rset_handle *handle, size_t size, const void *buf)
{
    rset_err err = RSET_ERR_NONE;

    if (handle->guard == NULL || !rset_superblock_is(buf, head_of(size)) ||
        !rset_superblock_is_shared(buf) || rset_session_show(handle->session, &err) == RSET_OK)
        return 0;
    RSET_H5ERR_PUSH(H5E_VFL, H5E_WRITEERROR, &err);
    return -1;
}

herr_t
rset_handle_write(rset_handle *handle, H5FD_mem_t type, hid_t dxpl, haddr_t addr, size_t size,
                  const void *buf)
{
    rset_err err = RSET_ERR_NONE;

    if (rset_handle_ready(handle) < 0)
        return -1;
    look_for_external(handle, type, size, buf);
    if (handle->session != NULL && !rset_session_is_changed(handle->session) &&
        absorb(handle, type, dxpl, addr, size, buf))
        return 0;
    if (before_change(handle, addr, size) < 0)
        return -1;
    assert(handle->session == NULL || rset_session_is_changed(handle->session)); /* V1 */
    note_superblock(handle, addr, size, buf);
    if (H5FDwrite(handle->lower, type, dxpl, addr, size, buf) >= 0)
        return show_when_shared(handle, size, buf);
    handle->failed = true;
    if (handle->guard != NULL) {
        (void)rset_fail(
            &err, RSET_IO,
            "%s: written beside the old file, which stays until the new one is protected; if "
            "space is short, atomic=no gives up the old one first",
            handle->path);
        RSET_H5ERR_PUSH(H5E_VFL, H5E_WRITEERROR, &err);
    }
    return -1;
}

herr_t
rset_handle_truncate(rset_handle *handle, hid_t dxpl, bool closing)
{
    haddr_t eof, from, to;

    if (rset_handle_ready(handle) < 0)
        return -1;
    eof = H5FDget_eof(handle->lower, H5FD_MEM_DEFAULT);
    from = eof < handle->eoa ? eof : handle->eoa;
    to = eof < handle->eoa ? handle->eoa : eof;
    if (from != to && before_change(handle, from, to - from) < 0)
        return -1;
    if (H5FDtruncate(handle->lower, dxpl, closing) < 0) {
        handle->failed = true;
        return -1;
    }
    return 0;
}
