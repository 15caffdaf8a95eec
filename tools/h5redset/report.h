/* report.h: what the user gets to see of a catalog. */
#ifndef REPORT_H
#define REPORT_H

#include "catalog.h"
#include "lists.h"
#include "picture.h"

#include <stdio.h>

/* Tables, in words; with `problems` only of sets that are not healthy. `now`: seconds since 1970. `all`: what older generations
 * there are. */
void report_text(const catalog *c, const lists *all, bool problems, int64_t now, FILE *to);

/* The generations that there are. */
void report_list(const lists *all, bool verified, FILE *to);

/* What was put aside, of the files of this list (NULL: none), and what to do with it. */
void report_aside(const file_list *l, FILE *to);

/* How the names of all files of one begin and end. A new string. */
char *aside_names(const listed *g);

/* That "healthy" is not for the content, where that was not read (`verified`). */
void report_unread(bool verified, FILE *to);

/* How many checkpoints there are, and how many of them are how. Nothing where there is none. `verified`: content was read. */
void report_summary(const catalog *c, bool verified, FILE *to);

/* Does the picture of this set, or of this family, belong into a report of problems? */
bool is_problem(const cat_set *s);
bool has_problem(const family *f);

/* The same for scripts: docs/man/h5redset.1 describes it. */
void report_json(const picture *p, bool verified, int64_t now, FILE *to);
void report_list_json(const picture *p, bool verified, FILE *to);

/* Sets over nodes; `colour`: with escape sequences; `problems` as above. */
void report_map(const catalog *c, bool problems, bool colour, FILE *to);
void report_svg(const catalog *c, FILE *to);

/* One line: name of a file, scheme, ranks, sets, generation. A new string that can be shown. */
char *describe_family(const family *f);

/* A member's state in words, with which blocks are bad. A new string. */
char *describe_state(const member *m);

/* What comes of a family, and what to do about it; "": nothing. A new string. */
char *advice(const family *f);

/* A set that has gone altogether, after its number. */
#define SET_GONE "nothing of it is left"

/* What the decision comes to for a member, as said of what was done, or would be; NULL: nothing. A new string. */
char *action_text(const rset_decision *decision, const member *m, bool would);

/* The engine's reason, as it says it of one file, without the file's name. A new string. */
char *reason_text(const rset_decision *decision, const rset_summary *all);

/* One line on stdout, where files that were asked for were deleted: what becomes of them. */
void report_deleted(const catalog *c, const char *what);

/* Says on stderr why a family is refused, and because of which sets. */
void report_refusal(const family *f);

#endif
