/* twice_change.h: what a program does to the files of twice.h after they were protected: one rank's is updated in place,
 * with an undo journal, or written anew as a shadow file. */
#ifndef TWICE_CHANGE_H
#define TWICE_CHANGE_H

#include "commit/shadow.h"
#include "member/journal.h"
#include "names/names.h"
#include "twice.h"

/* How a program that changes a file ends. */
typedef enum {
    END_KILLED, /* in the middle */
    END_CLOSED, /* it has closed the file, and could not protect it */
    END_BLIND   /* killed, and could not keep what the file was any more */
} change_end;

/* What closes are labelled with: by default all ranks close in one step of one job. */
extern rset_label change_label;
rset_label        step_of(uint64_t step); /* of a job of all ranks */
rset_label        one_process(void);      /* of a process of its own */

/* A change of one rank's file, step by step: opened, begun with rset_change_begin, made, closed. */
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
void change_close(change_of *c, change_end end);

/* Rank r updates its file in place as far as change `n`, and then its program ends like that. */
enum { CHANGES = 5 };
void update(const twice *w, int r, int n, change_end end);

/* And all of them, as far as that. */
void update_all(const twice *w, int n, change_end end);

/* The path of the file of that name beside rank r's. */
const char *beside_of(const twice *w, int r, const char *name);
/* Rank r's shadow file, as a program writes it. */
enum { SHADOW_GENERATION = 0x5ade };
const char *journal_of(const twice *w, int r);
const char *shadow_of(const twice *w, int r);
/* Rank r has written a new file as that. */
void write_shadow(const twice *w, int r, size_t size);
/* A file of ours is about to be made by hand at `path`, in rank r's directory: as whoever makes it would note it. */
void note_name(const twice *w, int r, const char *path);
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
