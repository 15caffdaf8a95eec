/* soak_damage.h: what happens to directories between two jobs: nodes are lost, bits flip, old copies come back, another
 * program changes files. */
#ifndef SOAK_DAMAGE_H
#define SOAK_DAMAGE_H

#include "soak_world.h"

typedef struct soak_damage {
    bool     touched[SOAK_RANKS]; /* ranks whose directories are not as the job left them */
    bool     old_copy;            /* some are as they were once */
    bool     quiet; /* before it all was protected, and nobody has changed a file since */
    uint64_t wrote
        [SOAK_RANKS]; /* soak_content of a file that another program has changed then; 0: none has */
    char what[256];
} soak_damage;

/* A number that tells contents of files apart, not 0. */
uint64_t soak_content(const uint8_t *at, size_t n);

/* Once more something random; `past`: what directories were some time ago, when all was protected (n == 0: no
 * such). */
void soak_damage_some(const soak_world *w, const image *past, soak_damage *d);

#endif
