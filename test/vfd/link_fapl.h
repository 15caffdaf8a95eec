/* link_fapl.h: what the parts of program link_fapl share. */
#ifndef LINK_FAPL_H
#define LINK_FAPL_H

#include "H5FDredset.h"

#include <stdio.h>

enum { MESSAGE_MAX = 4096 };

extern int  wrong;                /* checks that were not so */
extern char message[MESSAGE_MAX]; /* all error records of the last failure */

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                         \
            wrong++;                                                                               \
        }                                                                                          \
    } while (0)

/* A property list for opening files. */
hid_t new_fapl(void);
/* All settings as they are where a program says nothing. */
H5FD_redset_config_t defaults(void);
/* These settings are not taken: an error is printed once, with that word in it, and the list keeps its driver. */
void refused(const H5FD_redset_config_t *c, const char *word);

/* Communicators of such lists: shared by all lists, kept until MPI_Finalize. Begins and ends MPI. */
void check_communicators(void);

/* A file of each rank, protected in pairs of ranks that have a communicator of their own: creates it, or opens it with HDF5's errors muted. */
void use_pairs(const char *what, const char *name);

#endif
