/* files.h: this rank's files: where they are, which are to be lost, reading one once, emptying the page cache of one. All
 * calls but bench_files_drop are local. */
#ifndef BENCH_FILES_H
#define BENCH_FILES_H

#include "bench.h"

/* A file of this rank that the engine protects, in the terms of the engine. */
typedef struct bench_file {
    char        base[64], prefix[80], path[BENCH_PATH_MAX + 64];
    const char *names[1], *paths[1];
    rset_dir   *dir;
    rset_local  local;
} bench_file;

/* `name` and the rank make the file's name. bench_file_close accepts what is zeroed. */
bool bench_file_open(const bench *b, const char *name, bench_file *out);
void bench_file_close(bench_file *file);

/* Makes this rank's directory, new and empty; removes it with what is in it. */
bool bench_files_make(bench *b);
void bench_files_remove(const bench *b);

/* Removes the file and all that protects it. */
bool bench_file_remove(const bench *b, const bench_file *file);

/* Removes what protects it and leaves the file. */
bool bench_file_bare(const bench *b, const bench_file *file);

/* How many members this scheme survives the loss of, whichever they are. Local. */
int bench_losses(const bench_scheme *s);

/* Is this one of the ranks that lose their files? They are neighbours, the last ones. Local. */
bool bench_is_lost(const bench *b, const bench_scheme *s, int rank);

/* What the disk says about it; freed with rset_evidence_free. */
bool bench_file_survey(const bench *b, const bench_file *file, rset_evidence *out);

/* Writes what the kernel still keeps back of this file to the disk. */
bool bench_file_flush(const bench *b, const bench_file *file);

/* Reads the file from beginning to end, in pieces. */
bool bench_file_read(const bench *b, const bench_file *file);

/* Takes the file and what protects it out of the page cache. *dropped_out: it worked, on all ranks (on
 * tmpfs it cannot). A page that the kernel holds for a moment is asked for again, for a second. Collective. */
bool bench_files_drop(const bench *b, const bench_file *file, bool *dropped_out);

/* Reads or writes `len` bytes at `off`, all of them; a read beyond the end of the file gives zeros. */
bool bench_pread(const bench *b, int fd, void *buf, size_t len, uint64_t off);
bool bench_pwrite(const bench *b, int fd, const void *buf, size_t len, uint64_t off);

#endif
