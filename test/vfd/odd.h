/* odd.h: what odd.c is made of: small files, what must hold after each, and the cases of its other parts. */
#ifndef ODD_H
#define ODD_H

#include <hdf5.h>
#include <mpi.h>

#include <stdbool.h>
#include <stdio.h>

extern int         rank, ranks;
extern const char *dir;
extern double      limit;
extern int         failures;

/* What files of one rank may cost it in all: ranks that do not have them are waited for once, and some times more for a
 * short while, since they may only be late (rset_rendezvous_wait). */
#define TIMED_OUT (10 * limit)

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            failures++;                                                                            \
            fprintf(stderr, "%s:%d: rank %d: %s\n", __FILE__, __LINE__, rank, #condition);         \
        }                                                                                          \
    } while (0)

/* DIR/<formatted name>; a few of them live at the same time. */
const char *in_dir(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* DIR/<name>_<rank>.h5 */
const char *mine(const char *name);
/* Is there redundancy of it beside the file? */
bool is_protected(const char *path);

hid_t create(const char *path, unsigned flags);
void  write_file(const char *path);
void  add_group(const char *path, const char *name);
void  read_file(const char *path);
/* Looks for a file that is not there. */
void probe(const char *path);

/* A checkpoint of all ranks, which must be protected whatever was before. */
void checkpoint(void);
/* A message to rank 0 may wait there for its first coming (docs/behaviour.md). */
void no_message_waits(void);
/* What the application does with its own communicators gives what it should: nothing collective of
 * ours has got in between, and no message is left where it would be received. */
void application_goes_on(void);

/* odd_files.c */
void case_first(void);
void case_last(void);
void case_later(void);
void case_baton(void);
void case_input(void);
void case_own(void);
void case_foreign(void);
void case_append(void);
void case_link(void);
void case_order(void);
void case_odd_one(void);
void case_subset(void);
void case_exclusive(void);
void case_not_created(void);
/* odd_ends.c */
void case_fresh(void);
void case_fresh_one(void);
void case_fresh_other(void);
void case_early(void);
void case_early_unmet(void);
void case_after(void);
void case_never_closed(void);
void case_stopped(void);

extern hid_t left_open; /* by case_after, to be closed after MPI_Finalize */

#endif
