/* soak_disk.h: which versions of a world of the soak (soak_world.h) lie on disk, by the numbers of their generations and by
 * content, without asking the engine. */
#ifndef SOAK_DISK_H
#define SOAK_DISK_H

#include "soak_world.h"

/* Takes the redundancy of the newest version into the library when all ranks have it complete. */
bool soak_keep_commit(soak_world *w);

/* The newest version that any file of the image tells of, whatever file it is, whole or not, wherever it lies: by its name, its
 * mark or its content, a header or the head of a journal. -1: none. Content of data files, which has no number, is not asked. */
int soak_disk_newest(const soak_world *w, const image *img);

/* Prints the image, a line for each file that is no names file: which versions it tells of, and is the content of. */
void soak_disk_list(const soak_world *w, const image *img);

#endif
