/* replaced.h: what another program had made of a data file, which was put aside when the file was restored to what was protected
 * (member/newer.h): <name>.redset.<number>.changed. It is a user's: nothing removes it without a word. */
#ifndef REPLACED_H
#define REPLACED_H

#include "catalog.h"
#include "job.h"
#include "options.h"

#include <jansson.h>
#include <stdio.h>

/* How many of them were asked for. */
size_t replaced_asked(const sightings *all);

/* Those that were asked for, with rank and generation, and what to do with them; nothing where there is none. `c`: says whose they are. */
void    report_replaced(const sightings *all, const catalog *c, FILE *to);
json_t *json_of_replaced(const sightings *all, const catalog *c);

/* Says of those of the data file `file` which this process has seen that they stay where they are. */
void replaced_tell_left(const job *j, const sightings *all, const sighting *file);

/* Says of those that were asked for that nobody brings them anywhere, by the first process. */
void replaced_tell_not_brought(const job *j, const sightings *all);

/* Removes those of `file` (NULL: all that were asked for) which this process has seen, or with --dry-run says so. The exit status. Local. */
int replaced_remove(const job *j, const options *o, const sightings *all, const sighting *file);

#endif
