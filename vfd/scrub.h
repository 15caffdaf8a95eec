/* scrub.h: redundancy is verified behind the open (verify=open). The program waits for its data only; redundancy files are
 * read by a thread of lowest priority, at most half of the time. Where one is damaged the disk says so from then on
 * (rset_distrust), and this process knows it where the disk cannot. Repaired is it when the ranks meet next: they close the
 * file, or open it again.
 *
 * What is not done when the process ends stays unverified until the next open. In a child that was forked nothing is done.
 * All functions are local, and may be called by any thread; no HDF5 and no MPI here. */
#ifndef RSET_SCRUB_H
#define RSET_SCRUB_H

#include <stdbool.h>
#include <stdint.h>

/* Leaves the redundancy of the file `base` in the directory `dir` (absolute; both are copied) to the thread, which is
 * started when there is none. `generation`: only as long as it is of that. Without memory nothing happens. */
void rset_scrub_begin(const char *dir, const char *base, uint64_t generation);

/* Was it found damaged? */
bool rset_scrub_found_damage(const char *dir, const char *base, uint64_t generation);

/* All of that file is repaired, or no longer of interest. */
void rset_scrub_forget(const char *dir, const char *base);

/* Nothing is read from now on. Does not wait. */
void rset_scrub_end(void);

#endif
