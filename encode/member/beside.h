/* beside.h: new data files that lie beside the old one until they are protected (FORMAT.md 14): under
 * <prefix>redset.beside one that is written, or that a commit is to give the name to; and under <prefix>redset.waiting
 * one of a commit that was cut short, while the next is written. Local, all of it. */
#ifndef RSET_BESIDE_H
#define RSET_BESIDE_H

#include "member.h"

/* Is what the header records found in a new file that lies beside the data file, and not in the data file? Then a
 * commit was cut short between its two renames, and rset_beside_publish makes the second. *at_out: name of that
 * file, without prefix; NULL: no. */
rset_status rset_beside_find(const rset_local *local, const rset_evidence *ev, const char **at_out,
                             rset_err *err);
rset_status rset_beside_publish(const rset_local *local, const char *at, rset_err *err);

/* Removes new files that lie beside, unless a program is writing one. *gone_out, which may be NULL: there is none
 * now. */
rset_status rset_beside_forget(const rset_local *local, bool *gone_out, rset_err *err);

/* A program is about to write a new file beside. What lies there is removed, unless a commit that was cut short comes to
 * it: then it gets its name where this rank has published already, and else is kept, as another rank may have
 * (rset_finish_commit). */
rset_status rset_beside_make_way(const rset_local *local, const rset_evidence *ev, rset_err *err);

#endif
