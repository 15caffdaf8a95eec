/* tripwire.h: file calls that are watched. A table for rset_sys_use that sees where each call which
 * changes something really lands, links followed, and holds it against what recovery may touch (P7): a
 * rank's data file, its redundancy files and their temporaries, in the directory it was given. */
#ifndef TRIPWIRE_H
#define TRIPWIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TRIPWIRE_PLACES = 32, TRIPWIRE_TEXT = 1024 };

/* One rank's files. Strings are borrowed. */
typedef struct tripwire_place {
    const char *dir;
    const char *data;   /* base name of the data file */
    const char *prefix; /* of redundancy files */
} tripwire_place;

/* Is a file of that name one that recovery may touch in the directory of a rank with this data file and prefix? The data
 * file, <prefix><digits>.<anything with "redset">, or what lies beside, <prefix>redset.<anything>. */
bool tripwire_allows(const char *data, const char *prefix, const char *name);

/* From here on file calls are watched; counts begin at zero. n 0: nothing may be touched. */
void tripwire_arm(const tripwire_place *places, int n);
/* Back to the plain calls. */
void tripwire_disarm(void);

/* This thread is allowed the files of one place only; -1: those of all. */
void tripwire_only(int place);

/* Since arming: calls that changed content, names or modes; bytes read; steps outside, the first of which is
 * described in why (TRIPWIRE_TEXT bytes, may be NULL). */
unsigned long tripwire_changes(void);
uint64_t      tripwire_bytes_read(void);
unsigned long tripwire_escapes(char *why);

#endif
