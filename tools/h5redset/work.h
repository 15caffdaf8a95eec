/* work.h: how many bytes are read where files are rebuilt, about: for progress. Pure. */
#ifndef WORK_H
#define WORK_H

#include "catalog.h"

/* By one process that rebuilds this member's file alone. */
uint64_t work_for_member(const cat_set *s, const member *m);

/* By process `by` of those that rebuild all that is lost or damaged of a family, where so many bytes of it are damaged as no size tells. */
uint64_t work_for_family(const family *f, int by, uint64_t found);

/* Of what a process has of one rank. */
uint64_t work_bytes_of(const sighting *seen);

#endif
