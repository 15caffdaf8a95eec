/* rebuild_internal.h: what the parts of a rebuild share: rebuild_look.c finds out who has what, rebuild_own.c what is
 * bad of it, rebuild_share.c tells it, rebuild.c computes, over.c puts it into the damaged file where there is no room beside that,
 * rebuild_publish.c gives names. Nobody else includes this. */
#ifndef RSET_REBUILD_INTERNAL_H
#define RSET_REBUILD_INTERNAL_H

#include "rebuild.h"

/* What was prepared goes before the data that it belongs to (P11), and so do files that crashed runs have written beside it. It is
 * decided that the older generation counts. */
rset_status rset_repair_discard(rset_repair *rep, rset_err *err);

/* ---- rebuild_own.c ---- */

/* Compares this member's own data and redundancy with the records, as far as it has any; `has`: it has a header. What differs is in
 * rep->health then, what cannot be compared in rep->flags, and what is to be written in rep->data_out, ->redundancy_out, ->desc_out.
 * Local. RSET_IO, RSET_NOMEM. */
rset_status rset_repair_verify_own(rset_repair *rep, bool has, rset_err *err);

/* ---- rebuild_share.c ---- */

/* Each member hears of the others' health, lengths, ranks and access: rep->health, ->length, ->was, ->flags, ->access and the group of
 * its header. Agrees as rset_agree does, on `own` too; but RSET_NOMEM and RSET_PEER of what others have sent are this member's alone.
 * Collective over the set. */
rset_status rset_repair_share(rset_repair *rep, rset_status own, rset_err *err);

/* ---- over.c ---- */

/* Shall the damaged data be written over, and can it: is it there, under one name, with checksums that tell what comes out? */
bool rset_over_can(const rset_repair *rep);

/* The damaged data file is opened as rep->new_data, of the right size, and with what its undo journal has laid over it. Before
 * that its redundancy gets the void mark, durably: whoever finds the file before it is complete looks at all of its content. */
rset_status rset_over_begin(rset_repair *rep, rset_err *err);

/* All of it is written: is it what is recorded? RSET_IO: no. */
rset_status rset_over_check(const rset_repair *rep, rset_err *err);

#endif
