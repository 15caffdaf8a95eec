/* handle.h: one open file of the driver: the lower driver's handle, and the file's session beside it.
 *
 * Lower driver calls and questions to session.c meet here and only here. All functions are called by
 * the slots of H5FDredset.c, between rset_h5err_enter and _leave, and push their own error records.
 *
 * A file that is written as a shadow file (session.h) is one file under one name for this process: another
 * open of the name is an open of the new file.
 *
 *   lower  session
 *   yes    NULL   passed through: not covered, or nothing to protect it with
 *   yes    yes    an existing or new file
 *   NULL   yes    the path is missing, and its first use may bring it back; or it could not be opened, as `refused` says, and
 *                 its first use tells the other ranks */
#ifndef RSET_HANDLE_H
#define RSET_HANDLE_H

#include "fapl.h"
#include "session.h"
#include "superblock.h"

#include <H5FDdevelop.h>

typedef struct rset_handle {
    H5FD_t        pub; /* HDF5's part, has to be first */
    H5FD_t       *lower;
    rset_identity is; /* the file that `lower` had opened, when it was opened; zeros: not known */
    H5FD_t       *guard; /* the old file, held open and locked while `lower` is its shadow file */
    rset_session *session;
    struct rset_handle *next;      /* of those that have a session */
    rset_err            refused;   /* not RSET_OK: why it cannot be used, though it is there */
    bool                failed;    /* not all was read or written that should be */
    bool                ended;     /* HDF5 has written out the file to close it; without that a
                                         file that is created never came to be one */
    bool                followed;  /* HDF5 only asks for it, to follow a link to it */
    bool                behind;    /* its end may be left to the background */
    bool                link;      /* the name is a symbolic link */
    bool                older;     /* an older generation was opened, which has another name */
    bool                owes;      /* an earlier protection of the file has failed, and the
                                         program does not know yet */
    bool                truncated; /* HDF5 has made it as long as its content, or tried to, and not
                                      flushed it yet (commit.h) */
    bool                flushed;   /* HDF5 has written out what it held, in MPI_Finalize */
    enum { RSET_UNLOCKED, RSET_LOCKED_READ, RSET_LOCKED_WRITE } locked;
    hid_t    lower_fapl; /* kept while `session` may ask for another open: one that exists */
    char    *name;       /* as the application gave it */
    char    *path;       /* absolute, as far as that can be found out */
    unsigned flags;
    haddr_t  maxaddr, eoa;
    size_t   held_size; /* 0: none */
    haddr_t  held_at;
    char     held[RSET_SUPERBLOCK_MAX]; /* a superblock that is not written yet */
    size_t   written_size;              /* 0: no superblock was written */
    haddr_t  written_at;
    bool     as_default;        /* `given` is what any property list gives */
    H5FD_redset_config_t given; /* for H5Fget_access_plist */
    rset_config          config;
} rset_handle;

/* NULL: failed. */
rset_handle *rset_handle_open(const char *name, unsigned flags, hid_t fapl, haddr_t maxaddr);

/* Frees the handle in any case. *warning: not empty when something is to be said. */
herr_t rset_handle_close(rset_handle *handle, char warning[RSET_ERR_TEXT]);

/* Deletes a file and what protects it. */
herr_t rset_handle_delete(const char *name, hid_t fapl);

/* Locks as HDF5 wants it, the old file too where there are two. */
herr_t rset_handle_lock(rset_handle *handle, bool rw);
herr_t rset_handle_unlock(rset_handle *handle);

/* An order of handles in which equal means the same file. */
int rset_handle_compare(const rset_handle *a, const rset_handle *b);

/* ---- first_use.c ---- */

/* The flags of an open that creates nothing. */
unsigned rset_handle_plain(unsigned flags);

/* The descriptor with which a lower driver, which may be NULL, has its file open; it stays the driver's. -1: it has none. Local. */
int rset_handle_descriptor(H5FD_t *lower);

/* Opens the file of that name with the lower driver. NULL: that has failed, with its records on the error stack. */
H5FD_t *rset_handle_open_lower(const rset_handle *handle, const char *name, unsigned flags);
/* The same for what HDF5 reads and writes through: handle->lower, and which file it is. */
void rset_handle_use_lower(rset_handle *handle, const char *name, unsigned flags);

/* Is it written as a shadow file? */
bool rset_handle_is_shadow(const rset_handle *handle);
/* Lets go of the old file; nothing to do where none is held. */
void rset_handle_close_guard(rset_handle *handle);

/* First use: makes `lower` what the application shall see. */
herr_t rset_handle_ready(rset_handle *handle);

/* First use of a missing file that is followed: do all ranks say that it was never protected? Otherwise it is back, or
 * rset_handle_ready fails. */
bool rset_handle_is_absent(rset_handle *handle);

/* `lower` as the session sees it (session.h). */
rset_lower rset_handle_as_lower(rset_handle *handle);

#endif
