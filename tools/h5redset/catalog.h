/* catalog.h: the whole picture: which sets there are, how each of their files is, and what can be brought
 * back. Made from what all processes have seen; no file is touched here. */
#ifndef CATALOG_H
#define CATALOG_H

#include "sighting.h"
#include "text.h"

#include <stdbool.h>

/* How the files of one rank are; of several that are true the last counts. */
typedef enum {
    STATE_HEALTHY,
    STATE_BARE,    /* data as it should be; its redundancy or descriptor file is lost or damaged */
    STATE_CHANGED, /* opened for change after it was protected, and not protected since */
    STATE_DAMAGED, /* data not as recorded */
    STATE_STALE,   /* of another generation than the rest of the set */
    STATE_LOST,
    STATE_COUNT
} file_state;

/* One word, and one letter and a colour for pictures. */
typedef struct state_look {
    const char *word;
    char        letter; /* ' ' for healthy */
    int         ansi;   /* background colour, 256-colour palette */
    const char *rgb;
} state_look;
extern const state_look state_looks[STATE_COUNT];

/* What can be done about a set. */
typedef enum {
    VERDICT_HEALTHY,
    VERDICT_REPAIRABLE, /* all of it */
    VERDICT_DATA_ONLY,  /* the data; redundancy has to be made anew */
    VERDICT_BEYOND      /* more is lost than the redundancy covers */
} cat_verdict;
extern const char *const verdict_words[];

typedef struct member {
    const recorded *known; /* what is recorded of it; NULL: nothing that can be reached */
    const sighting *seen;  /* its files, where they were found; NULL: nowhere */
    bool            own;   /* `seen` has its redundancy file, of this generation */
    bool            asked; /* the user named it, or a directory above it */
    file_state      state;
} member;

typedef struct cat_set {
    rset_desc   desc; /* of the set; rank and member mean nothing here */
    uint64_t    chunk, when;
    member     *members; /* desc.members */
    bool        asked;   /* one of them was asked for */
    cat_verdict verdict;
    char        why[256]; /* when it is beyond repair, or only its data is not */
} cat_set;

typedef struct catalog {
    sightings       *sightings; /* borrowed */
    size_t           n, room;
    cat_set         *sets; /* by checkpoint: name, generation, then set */
    size_t           nstrays;
    const sighting **strays; /* signs of protection, and nobody knows of what set */
} catalog;

/* `sightings` must stay as it is for as long as the catalog. `asked`: absolute paths that the user named. */
void catalog_make(sightings *sightings, const strings *asked, catalog *out);
void catalog_free(catalog *c);

/* A file that was seen in two ways, by two processes on one node or through two paths, counts once. */
void catalog_drop_doubles(sightings *sightings);

/* Two sets of one protection: their files were closed together. */
bool same_checkpoint(const cat_set *a, const cat_set *b);

/* What a checkpoint goes by: one of its files, those of other ranks are usually called much the same. */
const char *checkpoint_name(const cat_set *s);

/* Was anything seen on more than one host? */
bool catalog_many_hosts(const catalog *c);

/* Where its files are, or were: a path. A new string. */
char *member_path(const member *m);

/* Worst first: 2 something asked for is beyond repair, or nothing was found; 1 something is not healthy; 0. */
int catalog_exit_status(const catalog *c);

/* Of a generation: which commit of the files, counted from 1; 0: written by another program. */
unsigned generation_number(uint64_t generation);

#endif
