/* format_internal.h: the parts that headers and descriptor files are made of (FORMAT.md 5, 6): one
 * descriptor, the checksums of one file, one info. Between the files format*.c only. */
#ifndef RSET_FORMAT_INTERNAL_H
#define RSET_FORMAT_INTERNAL_H

#include "format.h"
#include "tree.h"

/* Fewest bytes that a descriptor or a data file takes in a header: what is announced is compared
 * with the bytes present before memory is taken for it (P7). */
enum { RSET_DESC_BYTES = 100, RSET_FILE_BYTES = 190 };

/* What is being read or written, for limits and messages. The same checks serve both directions:
 * what could not be read back is not written. */
typedef struct rset_subject {
    const char *what;  /* begins each message */
    size_t      len;   /* bytes present, when reading */
    rset_status blame; /* RSET_DAMAGED when reading, RSET_BUG when writing */
    rset_err   *err;
} rset_subject;

rset_status rset_subject_bad(const rset_subject *on, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
rset_status rset_subject_nomem(const rset_subject *on);

/* Writing parts: into `tree`, which may be NULL; memory that runs out shows as false here, and
 * nothing else can go wrong. */
bool rset_part_put_desc(rset_tree *tree, const rset_desc *desc, bool extra);
bool rset_part_put_sums(rset_tree *tree, const rset_sums *sums);
bool rset_part_put_info(rset_tree *tree, const rset_info *info, bool extra);

/* Reading parts. `tree` may be NULL (absent). On failure what was filled so far is the caller's to
 * free. */
rset_status rset_part_get_desc(const rset_subject *on, const rset_tree *tree, rset_desc *out);
/* Checksums of `size` bytes; *has_out is false when there is none of their keys. */
rset_status rset_part_get_sums(const rset_subject *on, const rset_tree *tree, uint64_t size,
                               bool *has_out, rset_sums *sums);
rset_status rset_part_get_info(const rset_subject *on, const rset_tree *tree, rset_info *info);

/* Is it what a get function would accept? */
rset_status rset_part_check_desc(const rset_subject *on, const rset_desc *desc);
rset_status rset_part_check_info(const rset_subject *on, const rset_info *info);

/* Do the two belong to the same set of the same job and commit? They may differ in member and rank. */
bool rset_part_same_set(const rset_desc *a, const rset_desc *b);

/* The number after `i` when 0..n-1 stand in text order: 0 1 10 11 2 ...; keys added in this order
 * are appended. */
int rset_part_next_as_text(int i, int n);

/* ---- format_stamp.c: keys of an info that say when, by whom and as what it was protected ---- */

bool        rset_part_put_stamp(rset_tree *tree, const rset_stamp *stamp);
rset_status rset_part_check_stamp(const rset_subject *on, const rset_stamp *stamp);
/* *out holds nothing before, and is to be freed in any case. */
rset_status rset_part_get_stamp(const rset_subject *on, const rset_tree *tree, rset_stamp *out);

/* ---- format_together.c: the key of an info that names the files that were committed with it ---- */

bool        rset_part_put_together(rset_tree *tree, const char *together); /* NULL: nothing */
rset_status rset_part_check_together(const rset_subject *on, const char *together);
/* *out is NULL before, and is to be freed in any case. */
rset_status rset_part_get_together(const rset_subject *on, const rset_tree *tree, char **out);

#endif
