/* sighting.h: what was seen of one rank's files in one directory of one node. Processes send each other
 * theirs, so that one of them, or each, has the whole picture. */
#ifndef SIGHTING_H
#define SIGHTING_H

#include "common/ranges.h"
#include "recover/recover.h"

typedef struct sighting {
    /* Sent as it is, up to `host`: */
    uint64_t owner; /* whose files these are (owner.h): those of others are never among them */
    uint64_t device, inode; /* of the directory: seen by two processes it counts once */
    uint64_t changed;       /* when the directory did, in ns: the same on all nodes that share it */
    uint64_t older; /* generation that is kept under this name; 0: it is a file of its own name */
    uint64_t size, redundancy_size;
    uint64_t bytes;       /* on disk, with all beside it; counted where older ones are looked at */
    uint64_t when;        /* seconds: its redundancy was written */
    uint64_t against;     /* without it: generation whose record, a neighbour's, `data` is of */
    rset_altered altered; /* who damaged it: `when` is there also where only its time is another */
    int          by;      /* the process that saw it */
    int  unread;   /* errno of the first read that failed: what is bad may be only that; 0: none */
    bool asked;    /* the user named it, or a directory above it */
    bool ahead;    /* as it will be when the commit that this rank has prepared is finished */
    bool there;    /* the data file */
    bool gone;     /* its data files, as rset_evidence_gone */
    bool damaged;  /* not as recorded, even where no byte is bad: an empty file is missing */
    bool verified; /* content, not just sizes */
    bool no_sums;  /* no checksums are recorded: another program's */
    bool renamed; /* the data file got its name without what protects it: that has `prefix` still */
    bool aside;   /* that was put aside, when an older one took its place */
    bool replaced; /* it is none of the files: what another program had made of one (replaced.h) */
    char         *host, *prefix;     /* owned, as all here */
    char         *dir, *name, *path; /* of the data file: `name` in `dir` (sighting_place) */
    char         *trouble;           /* why it could not be looked at; NULL: it could */
    rset_evidence said;              /* what the disk says; of content the checksum of the whole */
    rset_evidence later; /* of what is `ahead`: what it will say then, and the rest is not said */
    rset_ranges   data, payload; /* what is bad of it */
} sighting;

typedef struct sightings {
    size_t    n, room;
    sighting *at;
} sightings;

/* Takes what is of older generations, and what was replaced, out of the list, and adds it to others. */
void sightings_part(sightings *list, sightings *older, sightings *replaced);

/* Those of one owner, in a list that is sorted so: borrowed. */
sightings sightings_of(const sightings *list, uint64_t owner);

/* The owner that comes after those before `from`, an index, in a list that is sorted so; *next_out: where the next one begins. */
uint64_t sightings_next_owner(const sightings *list, size_t from, size_t *next_out);

/* Says where its data file is, or was. */
void sighting_place(sighting *s, const char *dir, const char *name);

/* The path of a data file, without what says that it is an older generation of it, or was put aside. A new string. */
char *path_of_file(const char *path);

/* The name that its data file had when it was protected, where it was renamed since; else that which it has. Borrowed. */
const char *sighting_old_name(const sighting *s);

/* What the names of the file have in common on all ranks, as a number: such names differ in their numbers only. */
uint64_t sighting_kind(const sighting *s);

/* What its redundancy file records, in this view; no info: there is none that is valid. Borrowed. */
const rset_header *sighting_records(const sighting *s);

/* Is nothing known of it, since it could not be looked at? */
bool sighting_is_unknown(const sighting *s);

/* Is its descriptor file lost, or does it say something else than its redundancy file? */
bool sighting_is_undescribed(const sighting *s);

/* Is what was protected kept, so that the set can go back to it? */
bool sighting_keeps_old(const sighting *s);

/* Under which path the first data file is recorded; "": it has none. Borrowed. */
const char *recorded_path(const rset_info *info);

/* The order of places of files, those of one owner together; 0: they are of one place. */
int sighting_order(const sighting *a, const sighting *b);

/* Is it the same file, on storage that several nodes share and each of them has seen? */
bool sighting_is_shared(const sighting *a, const sighting *b);

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

/* The directory of a lost node is back, with files of a generation that the other ranks have put aside meanwhile. Takes such files out of
 * `newest`, and adds them to `older` as what they become once they are put aside as well: h5redset restore does that.
 * Nothing on disk is touched. */
void returned_find(sightings *newest, sightings *older);

#endif
