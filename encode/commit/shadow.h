/* shadow.h: new data files that are written beside the old one, which keeps its name until they are protected
 * (FORMAT-extensions.md 3). A shadow file is named by a generation from the start: at first one of its own; from the
 * moment that its ranks prepare a commit, that of the commit. So nobody has to guess what it belongs to. Local. */
#ifndef RSET_SHADOW_H
#define RSET_SHADOW_H

#include "member/journal.h"
#include "member/member.h"
#include "member/placeholder.h"

/* A program is about to write a new file in the place of an old one: the shadow file's name, a new string in *name_out.
 * What crashed runs left is removed; the share of this rank in a commit that is decided is finished first. *ev is
 * updated. */
rset_status rset_shadow_begin(const rset_local *local, rset_evidence *ev, char **name_out,
                              rset_err *err);

/* Keeps the shadow file that is written from being taken for one that a crashed run left, by any process, with or without
 * HDF5's locks, until *guard_out is closed. RSET_BUSY: another one writes it. *guard_out is NULL where it fails. */
rset_status rset_shadow_guard(const rset_local *local, const char *name, rset_file **guard_out,
                              rset_err *err);

/* Makes the shadow file, empty and as open as the file in the place of which it will be, and has its guard: *guard_out. Who takes it for
 * one that a crashed run left, before it has that, removes it: then it is made again. RSET_IO, RSET_NOMEM; RSET_BUSY: that goes on. */
rset_status rset_shadow_make(const rset_local *local, const char *name, rset_file **guard_out,
                             rset_err *err);

/* The shadow file local->shadow belongs to this commit now: a new name, in *name_out. */
rset_status rset_shadow_rename(const rset_local *local, uint64_t generation, char **name_out,
                               rset_err *err);

/* Has a program that guard of the file? What is not there, or may not be opened, has nobody. *file_out, closed by the caller: the file,
 * whose guard this process has then; or NULL. RSET_IO: that cannot be told. Local. */
rset_status rset_guarded_look(rset_dir *dir, const char *name, rset_guard guard,
                              rset_file **file_out, bool *used_out, rset_err *err);

/* Removes a file that a crashed run has left, unless a program has that guard of it: *used_out. One that asks for the guard meanwhile does
 * not get it before the file is gone. RSET_IO. Local. */
rset_status rset_guarded_remove(rset_dir *dir, const char *name, rset_guard guard, bool *used_out,
                                rset_err *err);

/* Removes shadow files that nobody writes, but for that of generation `keep`. *gone_out, which may be NULL: there is no
 * other one now. */
rset_status rset_shadow_forget(const rset_local *local, const rset_evidence *ev, uint64_t keep,
                               bool *gone_out, rset_err *err);

/* Gives local->shadow the data file's name although it was not protected, and keeps the old content reachable where there
 * is one: the undo journal *out says that it was put aside, and is to be closed with the label of the close, or to be left where
 * the program goes on with the file. NULL: there is nothing to say. `in_step`: other ranks do the same. *ev is what the disk said
 * before; afterwards it has to be surveyed again. */
rset_status rset_shadow_settle(const rset_local *local, rset_evidence *ev, bool in_step,
                               rset_journal **out, rset_err *err);

/* The same before the new file is written: the old one is put aside, and the new one will have the name from the start.
 * *out: its undo journal. */
rset_status rset_aside_begin(const rset_local *local, rset_evidence *ev, rset_journal **out,
                             rset_err *err);
/* The new file was not created after all: the old one gets its name back, as far as that is possible. */
void rset_aside_undo(const rset_local *local);

/* Removes local->shadow, and what stands in for it: the old file stays. */
void rset_shadow_drop(const rset_local *local);

#endif
