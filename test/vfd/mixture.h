/* mixture.h: what mixture.c is made of: a rank's files, what it does with them, and the cases of its other parts. */
#ifndef MIXTURE_H
#define MIXTURE_H

#include <hdf5.h>
#include <mpi.h>

#include <stdbool.h>

enum { ELEMENTS = 20000 };                 /* more than fits into what is compared at every open */
enum { ABSENT = -1, WRONG = -2 };          /* versions that are none */
enum { LATE = 3, FAILING = 1, DYING = 2 }; /* which rank it is */

extern int         rank, ranks;
extern const char *dir;
extern double      patience;
extern char      **args; /* of the case, ended by NULL */

void nap(double seconds);
void must(bool ok, const char *what);
/* Where this rank keeps the file. */
const char *path_of(const char *name);
/* What a call came to, for the script to read. */
void record(const char *call, const char *name, int version, bool ok, double since);

/* H5Fcreate alone. */
hid_t create_empty(const char *name, int version);
/* The dataset in a new file, n of its elements written. */
void  put(hid_t file, int version, hsize_t n);
hid_t create(const char *name, int version);
/* Opens the file and writes other content into it, in place. */
hid_t change(const char *name, int version);
void  close_file(hid_t file, const char *name, int version);
void  write_file(const char *name, int version);
/* Opens the file: which version is it? */
int look(const char *name, unsigned flags);
/* Says what all ranks have found. */
void say_found(int version);

/* The job is killed when all have come here. */
void killed(void);
/* The ranks have closed a file together before: they know each other. */
void get_to_know(void);

/* mixture_late.c */
void case_late(void);
void case_late_killed_before(void);
void case_late_killed_after(void);
void case_late_to_open(void);
void case_log(void);
void case_read_apart(void);
void case_unprotected(void);
void case_late_first(void);
void case_late_first_free(void);
/* mixture_fail.c */
void case_vain(void);
void case_torn(void);
void case_fail_first(void);
void case_fail(void);
void case_die_created(void);
void case_die_creating(void);
void case_die_changing(void);

#endif
