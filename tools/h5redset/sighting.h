/* sighting.h: what was seen of one rank's files in one directory of one node. Processes send each other
 * theirs, so that one of them, or each, has the whole picture. */
#ifndef SIGHTING_H
#define SIGHTING_H

#include "common/ranges.h"
#include "recover/recover.h"

/* What a redundancy file records of one member of its set. */
typedef struct recorded {
    rset_desc  desc;
    char      *path;   /* of its data file, of several the first; owned */
    char      *others; /* paths of the other ones, two slashes after each; "": none; owned */
    char      *host;   /* on which they were when they were protected; NULL: not recorded; owned */
    uint64_t   length; /* of all of them */
    rset_stamp stamp;  /* when, by whom and as what they were protected */
} recorded;

typedef struct sighting {
    char    *host, *dir, *prefix, *name; /* data file `name` in `dir`; owned, as all strings here */
    char    *redundancy;                 /* name of its redundancy file; NULL: none that is valid */
    char    *trouble;                    /* why it could not be looked at; NULL: it could */
    uint64_t owner; /* whose files these are (owner.h): those of others are never among them */
    uint64_t device, inode; /* of the directory: seen by two processes it counts once */
    uint64_t
        changed; /* when the directory did last, in ns: on storage that nodes share the same for all */
    int          by;    /* the process that saw it */
    bool         asked; /* the user named it, or a directory above it */
    bool         ahead; /* as it will be when the commit that this rank has prepared is finished */
    bool         there; /* the data file */
    bool         gone;  /* its data files, as rset_evidence_gone */
    bool         keeps_old; /* what was protected is kept, so that the set can go back to it */
    bool         damaged; /* not as recorded, even where no byte is bad: an empty file is missing */
    rset_altered altered; /* who damaged it: `when` is there also where only its time is another */
    bool         undescribed; /* its descriptor file is lost */
    bool         verified;    /* content, not just sizes */
    bool         no_sums;     /* no checksums are recorded: another program's */
    bool renamed; /* the data file got its name without what protects it: that has `prefix` still */
    uint64_t
         older; /* the generation that is kept under this name; 0: it is a file of its own name */
    bool together; /* other files of its rank were committed with it, and have its generation */
    bool aside;    /* that was put aside, when an older one took its place */
    bool replaced; /* it is none of the files: what another program had made of one (replaced.h) */
    uint64_t size, redundancy_size;
    uint64_t
        bytes; /* on disk, with all that lies beside it; counted where older ones are looked at */
    uint64_t    when; /* seconds: its redundancy was written */
    uint64_t    chunk;
    int         nrecorded; /* 0: no redundancy file */
    recorded   *recorded;  /* [0]: its own */
    uint64_t    against;   /* without it: generation whose record, a neighbour's, `data` is of */
    int         ngroup;    /* 0: not recorded */
    int        *group;     /* the rank of each member of its set */
    rset_ranges data, payload; /* what is bad of it */
    /* What rset_classify asks of the disk; the same for both views of a rank that has prepared a commit. Nothing in it
     * is owned, and what it points to is left out: */
    rset_evidence said;
    rset_desc     header; /* of the redundancy file that is published, where said.has_header */
    bool          over;   /* an update of it is published, and not in it yet */
    bool          shadow; /* content of its generation waits in a shadow file */
} sighting;

typedef struct sightings {
    size_t    n, room;
    sighting *at;
} sightings;

/* Takes what is of older generations, and what was replaced, out of the list, and adds it to others. */
void sightings_part(sightings *list, sightings *older, sightings *replaced);

/* In order of their owners, and else as they are. */
void sightings_sort_owners(sightings *list);

/* Those of one owner, in a list that is sorted so: borrowed. */
sightings sightings_of(const sightings *list, uint64_t owner);

/* The owner that comes after those before `from`, an index, in a list that is sorted so; *next_out: where the next one begins. */
uint64_t sightings_next_owner(const sightings *list, size_t from, size_t *next_out);

/* Where its data file is or was: a path. A new string. */
char *sighting_path(const sighting *s);

/* The name that its data file had when it was protected, where it was renamed since; else that which it has. Borrowed. */
const char *sighting_old_name(const sighting *s);

/* Keeps of what the disk says what rset_classify asks. */
void sighting_note(sighting *s, const rset_evidence *ev);

/* That again. `info`: to be kept for as long as what is returned, which owns nothing. */
rset_evidence sighting_evidence(const sighting *s, rset_info *info);

/* Are both views of the files of one place? */
bool same_place(const sighting *a, const sighting *b);

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
