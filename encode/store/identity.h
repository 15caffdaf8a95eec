/* identity.h: which file a name leads to, or an open file is. A name finds a file; only its identity says that it is
 * still the same one. */
#ifndef RSET_IDENTITY_H
#define RSET_IDENTITY_H

#include "store.h"

/* Two files of one machine that exist at one time differ in device or inode. Of one file whose content has changed, `modified`
 * differs. All zeros: no file. */
typedef struct rset_identity {
    uint64_t device, inode;
    int64_t  modified; /* time of the last modification, in ns since 1970 */
} rset_identity;

/* The identity of the file with these attributes; no regular file has none. Pure. */
rset_identity rset_identity_of(const struct stat *st);

/* True if both are the same file; its content may have changed in between. No file is the same as nothing. Pure. */
bool rset_identity_same(const rset_identity *a, const rset_identity *b);

/* True if both are the same file, and nobody has changed it in between. Pure. */
bool rset_identity_unchanged(const rset_identity *a, const rset_identity *b);

/* The identity of the file that has this name now, in *out; zeros where there is none. RSET_IO: it cannot be looked at. Local. */
rset_status rset_dir_identity(rset_dir *dir, const char *name, rset_identity *out, rset_err *err);

/* The identity of an open file, in *out. RSET_IO: it cannot be looked at. Local. */
rset_status rset_file_identity(rset_file *file, rset_identity *out, rset_err *err);

/* What shall get a name. */
typedef struct rset_published {
    rset_identity is; /* the file that was verified */
    const rset_identity *
        was; /* which had the name when that was looked at, all zeros: none. No other file is replaced, nor
                                 this one where it was written since. NULL: whatever has it is */
} rset_published;

/* Gives the name `to` to the file that has the name `from`, in the same directory, if both names lead to what `file` says: another
 * process may have taken either meanwhile. RSET_BUSY: they do not, and nothing was renamed. RSET_IO. Local. */
rset_status rset_dir_publish(rset_dir *dir, const char *from, const char *to,
                             const rset_published *file, rset_err *err);

#endif
