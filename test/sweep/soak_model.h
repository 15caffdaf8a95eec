/* soak_model.h: what opening the files must come to, worked out from the bytes that lie on disk by the
 * rules of docs/design.md and FORMAT.md, not by the engine. Everything that a commit wrote is known, so a file
 * is good when it is the same to the byte, whatever its checksums say. */
#ifndef SOAK_MODEL_H
#define SOAK_MODEL_H

#include "soak_world.h"

typedef enum {
    SOAK_BACK,    /* all ranks have what a commit held */
    SOAK_AS_IS,   /* all files stay as they are */
    SOAK_REFUSED, /* nothing is changed */
    SOAK_UNKNOWN  /* nobody knows of any protection; nothing is changed */
} soak_verdict;

typedef struct soak_expectation {
    soak_verdict       verdict;
    const soak_commit *commit; /* whose generation counts; NULL: none does */
    bool               protected_;
    bool       forward; /* a commit that was cut short is finished first, unless all is refused */
    bool       unverified[SOAK_RANKS]; /* all that was recorded of the file is lost */
    soak_bytes content[SOAK_RANKS];    /* expected; borrowed, valid as long as the image */
    char       why[256];               /* what was seen, for messages */
} soak_expectation;

soak_expectation soak_expect(const soak_world *w, const image *img);

#endif
