/* lives.h: lives of files of which older generations are kept (keep=N): created over, changed in place, growing and shrinking, or left
 * as they are, between commits of a job (job.h). Saved copies are the judge. For unit tests; fails the cmocka test. Main thread. */
#ifndef LIVES_H
#define LIVES_H

#include "commit/kept.h"
#include "image.h"
#include "job.h"
#include "member/journal.h"

enum { LIVES_RANKS = 4, LIVES_GENERATIONS = 12, LIVES_MOST = 80, LIVES_SIZE = 200000 };

/* What a rank does to its file before a commit. */
typedef enum { LIVES_LEAVE, LIVES_OVER, LIVES_IN_PLACE, LIVES_WAYS } lives_way;

/* And how it holds it then: closed by the commit; open, and it goes on changing after it; or also while it is being protected. */
typedef enum { LIVES_CLOSED, LIVES_OPEN, LIVES_BEHIND, LIVES_HOLDS } lives_hold;

typedef struct lives_content {
    uint8_t *data;
    size_t   size;
} lives_content;

/* A file that stays open. */
typedef struct lives_held {
    rset_dir     *dir; /* NULL: it is not */
    rset_journal *journal,
        *next; /* of what changes since the last commit; beside it, while that is under way */
} lives_held;

typedef struct life {
    char         *base;
    job           job;
    int           commits;
    uint64_t      generation[LIVES_MOST];
    lives_content was[LIVES_MOST][LIVES_RANKS]; /* the saved copies */
    lives_content now[LIVES_RANKS];
    lives_way     how[LIVES_RANKS];
    lives_content next[LIVES_RANKS]; /* what each rank makes of its file */
    uint64_t      at[LIVES_RANKS];   /* in place: where, and how much */
    size_t        len[LIVES_RANKS];
    lives_hold    hold;
    lives_held    held[LIVES_RANKS];
    lives_content
        on[LIVES_RANKS]; /* what each rank goes on to make of it, past the commit; or nothing */
    uint64_t on_at[LIVES_RANKS];
    size_t   on_len[LIVES_RANKS];
    bool     kept[LIVES_MOST]; /* what is to be had but for the newest */
    bool     update;
    bool     stays;   /* what changes in place stays as long as it is */
    bool     by_size; /* who opens a generation compares sizes only (verify=size) */
    bool     dirty;   /* the newest has changed since, and was closed */
    bool     died;    /* it was open, and the job died: it goes back to the last commit */
    bool     blind;   /* what changes in place is not kept in the journal (atomic=no) */
    char     what[128];
} life;

/* 0 <= a random number < n, of rand(). */
unsigned lives_draw(unsigned n);

/* ---- lives_open.c: files that stay open over a commit. In each rank's thread, of a job's hooks ---- */

/* The undo journal of what rank r changes in place; begun where it is none yet. Fails the test. */
rset_journal *lives_journal(life *w, int r, const rset_local *local);

/* The program closes what it holds, unprotected; NULL journals have nothing to say. */
void lives_close(life *w, int r, const rset_local *local);

/* While it is protected, or after that, the file goes on to change to w->on[r]. */
void lives_write_on(life *w, int r, rset_local *local);
void lives_settle(job *j, int r, rset_local *local, rset_status st);

/* Draws what rank r goes on to make of w->next[r]. */
void lives_plan_on(life *w, int r);

/* ---- lives.c ---- */

lives_content lives_copy(lives_content c);

/* Files that are not there yet. `what`: for messages. lives_end frees it. */
void lives_begin(life *w, const rset_scheme *scheme, int parity, int keep);
void lives_end(life *w);

/* What rank r is going to do, and what comes out of it; then all protect. The first commit is of new files. */
void lives_plan(life *w, int r, lives_way how);
void lives_plan_all(life *w, lives_way how);
void lives_commit(life *w);

/* So many commits of files that are there, each changed in place, and no longer than before: so that it is an update. */
void lives_change_in_place(life *w, int commits);
/* lives_begin, one commit, and these. */
void lives_begin_in_place(life *w, const rset_scheme *scheme, int parity, int keep, int commits);

/* Ranks 0 and 1 run where the other one ran before. */
void lives_exchange(const life *w);

/* All is as in the image, and nothing else is there. */
void lives_put_back(const life *w, const image *was);

/* The files of all ranks, before the first commit, get one name. */
void lives_call_all_the_same(life *w);

/* The program dies, where it holds files open; and all open them again: as in the last commit. */
void lives_die(life *w);
void lives_go_back(life *w);

/* The newest changes once more and is not protected: what older ones rest on is in its journal then. */
void lives_leave_unprotected(life *w);

/* The files of rank r, whose directory is opened. `names`: room for one. */
rset_dir *lives_files(const life *w, int r, const char **names, rset_local *out);

/* As the driver does before it opens generation n. */
void lives_make_whole(const life *w, int r, int n);

/* Has rank r generation n in either form? */
bool lives_is_kept(const life *w, int r, int n);

/* No more of them are there than are kept, and no less. */
void lives_assert_kept(life *w);

/* A job of the same ranks that opens generation n; what the driver does before that is done. job_free. */
void lives_name(life *w, int n, job *out);

/* All ranks open generation n. job_free. */
rset_status lives_open(life *w, int n, job *out);

/* All ranks open generation n and get what it was; those in `lost` (bits), whose directories are empty, do one after the other
 * without the others. */
void lives_assert_is(life *w, int n, unsigned lost);
void lives_assert_alone(life *w, int n, unsigned lost);

/* One of these for each generation that is kept, after ranks in `lost` have lost all. */
void lives_assert_all(life *w, unsigned lost);

#endif
