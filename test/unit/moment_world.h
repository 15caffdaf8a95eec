/* moment_world.h: a job whose programs write on while their files are protected as they are at one moment (PR6). */
#ifndef MOMENT_WORLD_H
#define MOMENT_WORLD_H

#include "image.h"
#include "job.h"
#include "member/journal.h"

#include <pthread.h>
#include <stdatomic.h>

enum { MOMENT_RANKS = 4, MOMENT_SIZE = 3000000 };

/* A program: one rank's. */
typedef struct moment_program {
    int           rank;
    unsigned      seed;
    rset_local   *local;
    rset_journal *journal, *next;
    rset_file    *file;
    pthread_t     thread;
    _Atomic bool  enough;
    bool          running;
    uint8_t      *was; /* at the moment that is protected */
} moment_program;

extern moment_program moment_programs[MOMENT_RANKS];
extern int            moment_pieces;      /* that each program writes before that moment */
extern int            moment_unwilling;   /* rank that does not go along, -1: all do */
extern bool           moment_writes_long; /* programs do not stop before they are protected */

typedef struct moment_world {
    char *base;
    job   job;
    image first; /* as it was protected before */
} moment_world;

/* Files that are protected, of programs that will change them, much and long, and protect them once more. */
void moment_begin(moment_world *w, const rset_scheme *scheme, int parity);
void moment_end(moment_world *w);

#endif
