/* sample.h: one protected job that is damaged, looked at and put back, over and over. What a sweep
 * expects of a recovery is said once, here. */
#ifndef SAMPLE_H
#define SAMPLE_H

#include "image.h"
#include "job.h"
#include "survival.h"

typedef struct sample {
    char        *base;
    job          job;
    image        image; /* as it was protected */
    survival_set set;   /* nothing bad yet */
    int          looks; /* second looks are taken at every so many recoveries; 0: at each */
    int          looked;
    char         what[256];
} sample;

/* A job of n ranks in one set (SINGLE: n sets), rank r with sizes[r % nsizes] bytes, protected. */
void sample_open(sample *s, survival_plan plan, int n, int k, const size_t *sizes, int nsizes);
void sample_close(sample *s);

/* Brings all files back to what they were, and removes all others. */
void sample_restore(const sample *s);

/* Recovers and counts a violation unless
 *   SURVIVES_WHOLE  every file is as it was, to the byte, data files with mode and times; recovering
 *                   again changes nothing
 *   SURVIVES_DATA   data files are, and all ranks know that protection is to be renewed
 *   SURVIVES_UNVERIFIED  data files are, and nobody takes them for protected, nor encodes them again
 *   SURVIVES_NOT    refused, with not one file touched
 * and in all cases unless all ranks say the same and nothing outside is touched. */
void sample_expect(sample *s, survival expected);

/* Recovers when nothing is recorded any more: whatever the answer, nothing is touched. */
void sample_expect_untouched(sample *s);
/* No data file is left, but redundancy is: missing as any file that was deleted, and nothing changes; s->job.undelete is set then. */
void sample_expect_deleted(sample *s);

/* Recovers rank r alone, all directories within reach: its data file is as it was when `possible`, else
 * it is refused with nothing touched; and nothing but its own files is ever touched. */
void sample_expect_serial(sample *s, int r, bool possible);

/* Paths of rank r's files, in the scratch directory. */
const char *sample_data(const sample *s, int r);
const char *sample_redundancy(const sample *s, int r);
const char *sample_descriptor(const sample *s, int r);
/* The same files as they were protected. */
const image_file *sample_original(const sample *s, const char *path);
/* Where the payload of rank r begins in its redundancy file. */
size_t sample_payload_at(const sample *s, int r);

/* Damage. Each spoils the set `m` alike. */
void sample_lose_data(const sample *s, survival_set *m, int r);
void sample_lose_redundancy(const sample *s, survival_set *m, int r);
void sample_flip(const char *path, size_t byte, int bit);
/* The file's content is this now; as a disk does it, its times stay. */
void sample_rot(const char *path, const void *data, size_t size);

extern const char *const sample_plan_names[];

#endif
