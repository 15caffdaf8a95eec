/* rendezvous.h: ranks find out that all of them have come to do the same thing, before any of them waits for data
 * (P5).
 *
 * Applications open and close files that are not one per rank: a log of rank 0, an input that all read, files written in
 * turn. Nothing may be matched by counting calls. So a rank that wants to do something together proposes it, and waits, at
 * most the timeout, until every rank proposes the same. Proposals are merged in a binomial tree with rank 0 at its root;
 * where they differ, or somebody is late, all propose to rank 0 itself. It answers, and only while it is in a rendezvous
 * itself: there is no helper thread.
 *
 * What is the same? The operation; the kind of file, which is the base name with digit runs folded; and the step:
 *   - Digit runs that were equal on all ranks the last time have to be equal again (they name the step, or nothing that
 *     differs by rank): ckpt_3.0.h5 is not closed together with ckpt_4.1.h5.
 *   - Each rank counts what it has closed of a kind, or failed to open to change it: its epoch. Ranks with different epochs
 *     are at different steps, even if the names are the same; unless the names say which step it is. An open to change
 *     belongs to the step that its close ends.
 *
 *   all propose the same         everyone goes
 *   all only read                files of one kind, in orders of their own: everyone goes, and knows that they read apart
 *   all have come, not the same  the largest group waits on, the others go on without, and each is told why
 *   ... and open other kinds     whose files are whole, and of one generation, open them by themselves; the others wait on
 *   somebody is behind           it was given up before: it is told so at once, and is in step again the next time
 *   somebody does not come       those who wait are told who is missing
 *   somebody comes too late      it is told so at once: who goes on without the others says so to some, and whoever is told to more
 *
 * A call that is collective by its definition is different in one thing only: it is known that all ranks come to it. So it
 * is never taken for something that some do, however often it has timed out, and where ranks do different things it is the
 * call that waits on. Its kind is its name.
 *
 * Ranks that read apart are waited for only shortly where this rank's own file is there, and after RSET_TRIES times in a row
 * without them not at all: what is whole by itself can be read by itself. Whoever misses its file waits for the timeout.
 *
 * Ranks that open files of different kinds do not wait for each other where the files are whole: as threads of a program, each
 * with a kind of its own, in different orders on the ranks. Who opened one by itself is not waited for when the others come to
 * that kind: each of them opens its own so as well, as often, if it is whole and of the same generation. All close it together.
 *
 * A rank that was expected and did not come, nor has sent anything since, is waited for a quarter as long the next time:
 * one that is dead does not cost the timeout at every file. A sign of life resets that.
 *
 * What turned out not to be done by all ranks - closing, or opening, this kind of file - is remembered on all ranks: the
 * same does not wait again; until every rank has shown that it has such files, for then one was only late. And a
 * protected file that was opened by some ranks only is waited for again, but not for long: the next time it may be opened
 * by all, because one of them has lost its own. */
#ifndef RSET_RENDEZVOUS_H
#define RSET_RENDEZVOUS_H

#include "comm/comm.h"
#include "common/label.h"

enum { RSET_KIND_MAX = 128, RSET_RUNS_MAX = 8, RSET_GONE_MAX = 6 };

typedef enum {
    RSET_RENDEZVOUS_OPEN = 1, /* look at a file together, restore it if needed */
    RSET_RENDEZVOUS_CLOSE,    /* protect a file together */
    RSET_RENDEZVOUS_CALL, /* do what all ranks are sure to do; the kind is the name of the call */
    RSET_RENDEZVOUS_OPS
} rset_rendezvous_op;

/* Settings that have to be equal on all ranks: a value for each group of them, 0 where they say nothing. */
typedef enum {
    RSET_KEY_SCHEME, /* scheme, set size, parity */
    RSET_KEY_KEEP,
    RSET_KEY_ROOT,
    RSET_KEY_TOGETHER, /* and how many files are closed together */
    RSET_KEYS
} rset_key;

/* A file's name taken apart. */
typedef struct rset_kind {
    char text
        [RSET_KIND_MAX]; /* base name, each run of digits folded to '#', but for that of a suffix like .h5 */
    uint64_t
        runs[RSET_RUNS_MAX]; /* what was folded, in order: the numbers, or hashes of long ones */
    uint64_t nruns;
} rset_kind;
void rset_kind_of(const char *path, rset_kind *kind_out);

typedef struct rset_proposal {
    rset_rendezvous_op op;
    rset_kind          kind;
    const char
        *path; /* of the file, absolute; NULL: none that rset_rendezvous_lack is about; borrowed */
    rset_comm *among; /* out: the ranks that have come, where some have no such files; NULL: all.
                                 Lives as long as the rendezvous, and is the same for the same ranks */
    uint64_t   keys[RSET_KEYS]; /* by rset_key */
    uint64_t   bits;            /* or-ed over all ranks */
    uint64_t   most;            /* the largest of all ranks is returned */
    uint64_t   latest;          /* the same: a moment that this rank knows to have been */
    uint64_t   least_base,
        most_base; /* generations that changed files build on, 0: none; the range of all ranks */
    uint64_t gone
        [RSET_GONE_MAX]; /* generations of which this rank's data files are gone, descending, 0: no more; those that
                                     all ranks say are returned */
    bool required; /* a disagreement is an error for everyone who proposes the same; or-ed */
    bool evidence; /* this rank's file is protected, or was begun: it is done together */
    bool
        needs_all; /* OPEN: this rank's file is not there, so what is refused is an error for everyone */
    bool
        whole; /* OPEN: this rank's file is there, and its own records say that nothing is amiss: it can
                        be opened without the others */
    bool
         by_itself; /* out, of an OPEN that is refused: it shall be, since they do something else; where it cannot,
                        it is proposed once more, as not whole */
    int  came; /* out, of an OPEN that is refused because some have not come: so many have, this rank counted. In: this follows such
                  an answer, as soon as this rank knows whether it `needs_all`: those who have come get one more, once all of them have
                  come again */
    bool step; /* OPEN: to change it, so that a close follows */
    bool reads;      /* out, of an OPEN: no rank opens its file to change it */
    bool protected_; /* it is protected; out, when refused: or that of one who proposed the same */
    bool told;       /* out, when refused: another rank tells the user, or one has before */
} rset_proposal;

/* Where the ranks of one communicator of the application meet; made and used by one thread. */
typedef struct rset_rendezvous rset_rendezvous;

/* RSET_NOMEM. `host` is copied. `size`: ranks of the communicator. */
rset_status rset_rendezvous_new(const char *host, int size, rset_rendezvous **out, rset_err *err);
void        rset_rendezvous_free(rset_rendezvous *place);

/* All ranks have come together for the first time: they talk over `comm` from now on, which must outlive it. RSET_NOMEM. */
rset_status rset_rendezvous_attach(rset_rendezvous *place, rset_comm *comm, rset_err *err);

/* The place begins anew after its communicator was renewed (rset_comm_renew): nothing that was said before counts any more; steps, and
 * what is known of kinds, stay. To be called before anything else is done with it, on all ranks as they go on. Local. */
void rset_rendezvous_renew(rset_rendezvous *place);

/* Proposes and waits. RSET_OK: every rank has proposed the same, or all read apart, and has the same answer; bits, most, latest, the bases and what is gone are then
 * those of all, *nonce_out is a random number, the same on all. RSET_PEER: not so, the message says who does what instead
 * or has not come; *known_out: this kind was known before not to be one per rank, and nothing was waited for; or its files are
 * read apart, and this rank's is there. All who
 * proposed the same have the same answer, when rank 0 gave it; one of them shall tell the user (`told` is false there).
 * Collective, but not matched by count. */
rset_status rset_rendezvous_meet(rset_rendezvous *place, rset_proposal *proposal,
                                 uint64_t *nonce_out, bool *known_out, rset_err *err);

/* The same before there is a communicator: *patience_out seconds may be spent on bringing all together; 0: it was waited
 * for often enough, *known_out. */
double rset_rendezvous_patience(rset_rendezvous *place, rset_proposal *proposal, double timeout,
                                bool *known_out);
/* A number for the step of this kind that this rank closes next, or the call that it makes: the same on all ranks in step. 0: an open. */
uint64_t rset_rendezvous_step(rset_rendezvous *place, rset_rendezvous_op op, const rset_kind *kind);
/* They did not come together. Both set proposal->told: this rank has told the user of such files before. */
void rset_rendezvous_timed_out(rset_rendezvous *place, rset_proposal *proposal);

/* This rank closes a file of this kind without the others, or could not open it: they may do so too, and are in step then. */
void rset_rendezvous_skip(rset_rendezvous *place, const rset_kind *kind);

/* The files of this kind that were opened together are not all of one generation, or not of as many ranks: they are read apart
 * from now on. To be said on all ranks. */
void rset_rendezvous_read_apart(rset_rendezvous *place, const rset_kind *kind);

/* This rank has no files whose names match `pattern` (common/pattern.h), and will not come to open or close any: from now on those of the
 * other ranks are met about among these (rset_proposal.among), also where they wait already. Nobody is waited for. To be called
 * after rset_rendezvous_attach. RSET_USAGE: the pattern is too long; RSET_NOMEM, RSET_PEER. Local. */
rset_status rset_rendezvous_lack(rset_rendezvous *place, const char *pattern, rset_err *err);

/* What the last close of this kind is labelled with where it could not be protected (common/label.h). */
rset_label rset_rendezvous_label(rset_rendezvous *place, const rset_kind *kind);

/* This rank has failed to create the file at `path`, of this kind, and will not come to close it: the others, when they come, are told.
 * Local. */
void rset_rendezvous_announce_failure(rset_rendezvous *place, const rset_kind *kind,
                                      const char *path);

/* Seconds that an open of a protected file waits which timed out before, or that is read apart: at most this. */
#define RSET_RENDEZVOUS_SHORT 2.0

/* Ends it, in MPI_Finalize: ranks that wait for us are told, messages under way are taken in. Collective, bounded by the
 * timeout. */
void rset_rendezvous_end(rset_rendezvous *place);

#endif
