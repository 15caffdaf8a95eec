/* report.h: what the user gets to see of a catalog. */
#ifndef REPORT_H
#define REPORT_H

#include "catalog.h"

#include <stdio.h>

/* Tables, in words. `now`: seconds since 1970. */
void report_text(const catalog *c, int64_t now, FILE *to);

/* The same for scripts: docs/man/h5redset.1 describes it. */
void report_json(const catalog *c, bool verified, int64_t now, FILE *to);

/* Sets over nodes; `colour`: with escape sequences. */
void report_map(const catalog *c, bool colour, FILE *to);
void report_svg(const catalog *c, FILE *to);

/* One line: name of a file, scheme, ranks, sets, generation. A new string that can be shown. */
char *describe_checkpoint(const cat_set *s);

/* A member's state in words, with which blocks are bad. A new string. */
char *describe_state(const member *m);

/* What to do about a set; NULL: nothing. */
const char *advice(const cat_set *s);

/* Says on stderr why a set that is beyond repair is; nothing for others. */
void report_hopeless(const cat_set *s);

#endif
