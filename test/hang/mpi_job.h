/* mpi_job.h: what the programs of this directory share: an MPI job whose ranks each keep files of their own
 * under redset, one of which is stopped, killed, ends or does something else than the others.
 *
 * Nothing here links redset: files are opened with the driver by its name. No rank is left behind: each
 * ends with its parent, and by SIGALRM when it takes far longer than it may. */
#ifndef MPI_JOB_H
#define MPI_JOB_H

#include "seconds.h"

#include <hdf5.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>

/* No call may take longer than so many timeouts: one, a second of slack, and a machine under load. */
enum { PATIENCE = 4, SAID_MAX = 4096, OLD = 1, NEW = 2 };

extern int         rank, ranks, failures;
extern const char *dir;
extern double      limit; /* timeout= of redset, in seconds */

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            failures++;                                                                            \
            fprintf(stderr, "%s:%d: rank %d: %s\n", __FILE__, __LINE__, rank, #condition);         \
        }                                                                                          \
    } while (0)

/* MPI_Init; HDF5 prints no errors from here on. */
void job_begin(int *argc, char ***argv, const char *directory, const char *timeout);
/* MPI_Finalize, which must be over in time as well; the exit status. */
int job_end(void);

/* Is $HANG_ASYNC set? Then redset protects in the background (async=yes), in an MPI for several threads. */
bool job_async(void);
/* Collective over `comm`; waits without keeping a core busy, for ranks that share one with others. */
void job_meet(MPI_Comm comm);
/* The communicators of the program still work: nothing of redset's has got in between. Collective. */
void job_goes_on(void);
/* Sends a signal to another rank, which is on this machine. */
void job_signal(int to, int signal);

/* What redset has put on HDF5's error stack since job_ask. */
extern char said[SAID_MAX];
void        job_ask(void);
/* Passes a result of HDF5 on; when it is negative, takes what was said. */
hid_t job_took(hid_t result);
/* Does any rank of `comm` have these words in `said`? Collective. */
bool job_anyone_said(MPI_Comm comm, const char *words);
/* Prints it. */
void job_say(void);

/* Prints whether that worked, after so many seconds, and if it failed what was said. */
void job_report(const char *what, bool ok, double seconds);

/* A property list with the driver: timeout=, required=yes, scheme=XOR and then these settings. */
hid_t job_driver(const char *settings);

/* DIR/<formatted name> */
const char *job_path(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The path of this rank's file. As job_path. */
const char *job_mine(void);
/* Creates a file with this content, and leaves it open; negative on failure. */
hid_t job_create(const char *path, hid_t fapl, int content);
/* Writes other content into an open file. */
bool job_rewrite(hid_t file, int content);
/* The content of an open file: OLD or NEW, 0 when it cannot be read, -1 for any other. */
int job_content(hid_t file);
/* The same of a file by its name, without redset. */
int job_content_of(const char *path);
/* Creates, protects and closes a file on all ranks, which must work. */
void job_protect(const char *path, hid_t fapl, int content);
/* Closes a file, in time; true when that worked. Reports it. */
bool job_closes(hid_t file);
/* Opens, reads and closes one that has the content OLD, in time; true when that worked. Reports it. */
bool job_opens(const char *path, unsigned flags, hid_t fapl);
/* Takes away what DIR has of this file: itself and its redundancy. */
void job_lose(const char *path);
/* Changes a bit of its last byte, or changes it back. */
void job_flip(const char *path);

/* ---- strike.c ---- */

/* At a certain step - the nth message sent, file synced or renamed by redset - this process stops, is
 * killed or ends. `where`: "send", "sync", "rename"; `how`: "stop", "kill", "exit", or "count" to do
 * nothing. Steps are counted from here on. */
void strike_arm(const char *where, int n, const char *how);
/* Steps counted; nothing strikes any more. */
int strike_disarm(void);

/* The same now. */
void strike_now(const char *how);

/* When that was, by now() of any rank: it is told in a file, $HANG_STRUCK; 0 while it was not. */
double job_struck(void);

#endif
