/* floor.h: what moving the bytes costs: each byte read once, sent once per hop, written once, synced as
 * often as the engine does; one thing after the other, with no arithmetic and no checksum. */
#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

#include "files.h"

/* For an encode of this file: BENCH_FLOOR_ENCODE and BENCH_SENT_FLOOR. Collective. */
bool bench_floor_encode(bench *b, const bench_scheme *s, const bench_file *file);

/* For a rebuild of as many ranks as the scheme survives, from files that are protected:
 * BENCH_FLOOR_REBUILD. Collective. */
bool bench_floor_rebuild(bench *b, const bench_scheme *s, const bench_file *file);

#endif
