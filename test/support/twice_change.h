/* twice_change.h: what a program does to the files of twice.h after they were protected: one rank's is updated in place,
 * with a journal, or written anew beside the old one. */
#ifndef TWICE_CHANGE_H
#define TWICE_CHANGE_H

#include "member/journal.h"
#include "twice.h"

extern const twice_kind single; /* no redundancy: not among twice_kinds */

/* A change of one rank's file, step by step: opened, begun with rset_journal_begin, made, closed. */
typedef struct change_of {
    rset_dir     *dir;
    rset_local    local;
    rset_evidence ev;
    const char   *names[1], *paths[1];
    rset_journal *journal;
} change_of;

void change_open(change_of *c, const twice *w, int r);
/* Saves what is there, and writes something else. */
void change_bytes(change_of *c, const twice *w, int r, uint64_t off, size_t len);
void change_close(change_of *c, rset_journal_fate fate);

/* Rank r updates its file in place as far as change `n`, and then its program ends like that. */
enum { CHANGES = 5 };
void update(const twice *w, int r, int n, rset_journal_fate fate);

/* And all of them, as far as that. */
void update_all(const twice *w, int n, rset_journal_fate fate);

/* The path of the file of that name beside rank r's. */
const char *beside_of(const twice *w, int r, const char *name);
/* Rank r has written a new file beside the old one. */
void write_beside(const twice *w, int r, size_t size);
/* And gives it the name of the old one, without protection. */
void put_in_place(const twice *w, int r);

/* Hides the redundancy file of rank r, or brings one back whose protection is void. */
void hide(const twice *w, int r, bool hidden);

/* Of rank r nothing is recorded in its own directory any more. */
void lose_redundancy(const twice *w, int r);

/* The data files are as they are in the image, whatever lies around them. */
void assert_data_as(const twice *w, const image *img);

/* Recover changes nothing, and says that the files are not protected. */
void assert_left_as_it_is(twice *w);

#endif
