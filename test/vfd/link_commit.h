/* link_commit.h: what the cases of link_commit.c share: a file per rank that is written while it stays open, and copies of what
 * each commit was of. */
#ifndef LINK_COMMIT_H
#define LINK_COMMIT_H

#include "H5FDredset.h"

#include <stdbool.h>

extern int         rank, ranks, wrong;
extern const char *dir;   /* of the files, DIR/data_<rank>.h5 */
extern const char *judge; /* of the copies, JUDGE/<rank>.<number of the commit> */

/* Says and counts what is not so. */
void check_at(const char *file, int line, bool ok, const char *what);
#define CHECK(ok) check_at(__FILE__, __LINE__, (ok), #ok)

const char *data_path(void);

/* A property list with the driver; `latest`: in the latest format, whose superblock says who has the file open. */
hid_t driver(bool latest);

enum { ROWS = 64, WIDTH = 4096 }; /* of the dataset "series": bytes of a row */
extern int rows;                  /* and how many a new one has: ROWS */

/* A new file; what it holds is in place from now on, so that it keeps its size. */
hid_t create_series(hid_t fapl);
/* Row `row` of "series" is written, and the attribute "step". */
void write_row(hid_t file, int row, int step);
int  read_step(hid_t file);

/* Copies the open file, flushed, to JUDGE/<rank>.<number>. */
void take_copy(hid_t file, int number);
/* Is the open file what that copy is? But for who has it open, as the superblock says. */
bool is_copy(hid_t file, int number);

void together(void);
/* Nothing was wrong so far: JUDGE/<rank>.right. For ranks that end without MPI_Finalize, which a launcher calls a failure. */
void                 leave_word(void);
H5FD_redset_status_t status(void);

/* Is the file protected, by so many commits, the last one with this label? Says what it is where not. */
bool is(bool is_protected, unsigned long long commits, const char *label);

/* ---- link_commit_cases.c: each is a case of link_commit.c ---- */

void case_little(void);
void case_late(void);
void case_full(void);
void case_closed(void);
void case_stopped(int published);
void case_wrong(void);
void case_ids(void);
void case_root(void);
void case_flush(void);
void case_flush_late(int required);
void case_flush_cut(void);
void case_finalize(void);
void case_last(const char *how);

/* ---- link_commit_behind.c ---- */

void case_behind(void);
void case_behind_full(void);
void case_behind_flush(void);
void case_behind_first(void);
void case_child(void);

/* ---- link_commit_moment.c ---- */

void case_moment(int then);

/* ---- link_commit_pauses.c ---- */

void case_pauses(int how);
void case_pause_dies(int n);

/* ---- link_commit_series.c ---- */

/* A file that is written and committed `commits` times, from where it is; the first thing is to see where that is. `anew`:
 * it is created over. `grows`: it gets larger. */
void run_series(int commits, bool anew, bool grows);

#endif
