/* sighting.h: what was seen of one rank's files in one directory of one node. Processes send each other
 * theirs, so that one of them, or each, has the whole picture. */
#ifndef SIGHTING_H
#define SIGHTING_H

#include "common/ranges.h"
#include "format/format.h"

/* What a redundancy file records of one member of its set. */
typedef struct recorded {
    rset_desc desc;
    char     *path; /* of its data file, of several the first; owned */
    uint64_t  length;
} recorded;

typedef struct sighting {
    char    *host, *dir, *prefix, *name; /* data file `name` in `dir`; owned, as all strings here */
    char    *redundancy;                 /* name of its redundancy file; NULL: none that is valid */
    char    *trouble;                    /* why it could not be looked at; NULL: it could */
    uint64_t device, inode; /* of the directory: seen by two processes it counts once */
    int      by;            /* the process that saw it */
    bool     asked;         /* the user named it, or a directory above it */
    bool     there;         /* the data file */
    bool     is_void;       /* opened for change since it was protected */
    bool     way_back; /* ... and what was protected is kept, so that the set can go back to it */
    bool     busy;     /* a program is changing it now */
    bool     damaged;  /* not as recorded, even where no byte is bad: an empty file is missing */
    bool     undescribed; /* its descriptor file is lost */
    bool     verified;    /* content, not just sizes */
    bool     no_sums;     /* no checksums are recorded: another program's */
    uint64_t size, redundancy_size;
    uint64_t when; /* seconds: its redundancy was written */
    uint64_t mark, chunk;
    int      nrecorded;        /* 0: no redundancy file */
    recorded   *recorded;      /* [0]: its own */
    rset_ranges data, payload; /* what is bad of it */
} sighting;

typedef struct sightings {
    size_t    n, room;
    sighting *at;
} sightings;

/* Where its data file is or was: a path. A new string. */
char *sighting_path(const sighting *s);

/* A new one at the end of the list. */
sighting *sightings_add(sightings *list);
void      sighting_free(sighting *s);
void      sightings_free(sightings *list);

/* As one block of bytes, freed with free(), and back, added to the list. RSET_USAGE: too long to be sent.
 * Unpacking checks everything: RSET_PEER. */
rset_status sightings_pack(const sightings *list, uint8_t **buf_out, size_t *len_out,
                           rset_err *err);
rset_status sightings_unpack(const uint8_t *buf, size_t len, int by, sightings *list,
                             rset_err *err);

#endif
