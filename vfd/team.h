/* team.h: the ranks that protect files together, where they meet, and how they are divided into sets. Made once per
 * communicator and configuration, and kept for the session of the process.
 *
 * A team has one of two states. That of a communicator meets over MPI. That of one process alone needs no MPI, has met from
 * the beginning, and waits for nobody; the calls are the same. */
#ifndef RSET_TEAM_H
#define RSET_TEAM_H

#include "comm/comm.h"
#include "config.h"
#include "protect/protect.h"
#include "rendezvous/rendezvous.h"

/* The bit of a proposal that is not the session's: some rank wants a report. */
#define RSET_TEAM_REPORTS (UINT64_C(1) << 63)
/* Another one: some rank has files of which others shall have replicas (pending.h). */
#define RSET_TEAM_PENDING (UINT64_C(1) << 62)

/* What became of ranks that had lost each other, and are all here again (rset_comm_renew). Of the whole. */
typedef enum rset_again {
    RSET_AGAIN_NO,    /* they have not lost each other, or the user knows that they are back */
    RSET_AGAIN_FIRST, /* all are here; some may not have heard it when they were to come: the first rendezvous waits shortly */
    RSET_AGAIN_MET    /* and that is over */
} rset_again;

/* How ranks are numbered in messages and in rset_err.rank: as in the communicator that the program gave, MPI_COMM_WORLD if it gave none;
 * those of a team, or that have files of a kind, keep those numbers. */
typedef struct rset_team_numbers {
    int  own;    /* this rank's */
    int  first;  /* of the ranks that meet: the one that says what all of them have */
    bool others; /* they are not those of MPI_COMM_WORLD */
} rset_team_numbers;

typedef struct rset_team {
    rset_comm *
        comm; /* private duplicate of the application's communicator; NULL until all have come once */
    rset_rendezvous     *rendezvous;
    char                 host[RSET_HOST_NAME];
    int                  ranks;
    rset_team_numbers    numbers; /* of all of them; not of one alone */
    bool                 reports; /* some rank wants one (report.h); the same on all ranks */
    bool                 alone;   /* this process by itself; `comm` is there, and has one rank */
    struct rset_pending *written; /* files of one rank that this one has protected (pending.h) */
    int                  pending; /* how many of them others shall have replicas of */
    rset_config *roots;    /* settings that name files of one rank, NULL: none were seen; owned */
    bool         end_told; /* that the ranks have lost each other, see rset_comm_revoke */
    rset_again   again;
    struct rset_team
        *whole; /* of a part, the ranks that have a kind of files: all of them; else NULL */
} rset_team;

/* The team for config->comm, if this process has an MPI to call now; *team_out is NULL if not (P10). Waits for nobody. */
rset_status rset_team_find(const rset_config *config, rset_team **team_out, rset_err *err);

/* The team of this process alone, the same one at each call. RSET_NOMEM. Local. */
rset_status rset_team_alone(rset_team **team_out, rset_err *err);

/* Has it other ranks, or may it come to have them: in this thread or another one? NULL: a process whose team is not
 * known. Local. */
bool rset_team_has_others(const rset_team *team);

/* Can its files be protected, by this thread or another one? NULL as above. Local. */
bool rset_team_protects(const rset_team *team);

/* May this thread meet it now? NULL: false. Local. */
bool rset_team_may_meet(const rset_team *team);

/* Calls visit(team, arg) for each team that rset_team_find has made. Local. */
void rset_team_each(void (*visit)(rset_team *team, void *arg), void *arg);

/* For whose figures what its files cost is told (stats.h, report.h): NULL: for those of this process. Local. */
const void *rset_team_place(const rset_team *team);

/* rset_rendezvous_meet; before all have come together once, waits for that first. Who has come is rset_team_of(team,
 * proposal->among) then. */
rset_status rset_team_meet(rset_team *team, const rset_config *config, rset_proposal *proposal,
                           uint64_t *nonce_out, bool *known_out, rset_err *err);

/* Those of the ranks that this thread has met last, or was to meet; before that those of MPI_COMM_WORLD. Local. */
rset_team_numbers rset_team_numbers_met(void);

/* What ranks have done together has failed: where they have lost each other this one says that it is here, or goes on where all are.
 * rset_team_meet does so too, and waits a moment for that. Local. */
void rset_team_stay(rset_team *team);

/* Once after that, when they have met again: true on one rank, which says so. Local. */
bool rset_team_is_back(rset_team *team);

/* The team of those among which it was met: the ranks of `team`, or of which it is a part, that have such files. `among` NULL:
 * all of them. Made at the first call, then the same one. A failure is told to the others: RSET_NOMEM, RSET_PEER. To be
 * called where all of `among` have met. */
rset_status rset_team_of(rset_team *team, rset_comm *among, rset_team **out, rset_err *err);

/* This rank says that it has no files whose names match `pattern`, "": nothing: see H5FDredset_skip. Waits, at most
 * config->timeout, where all ranks have not come together yet. */
rset_status rset_team_skip(const rset_config *config, const char *pattern, rset_err *err);

/* Sees to it that all ranks have come together once, as rset_team_meet would. */
rset_status rset_team_gather(rset_team *team, const rset_config *config, rset_proposal *proposal,
                             bool *known_out, rset_err *err);

/* The division for this configuration. Collective the first time, afterwards local: all ranks must
 * pass equal scheme, set size and parity (rset_team_meet has seen to that). RSET_USAGE on all ranks when a
 * set cannot carry the scheme. */
rset_status rset_team_layout(rset_team *team, const rset_config *config, rset_layout **layout_out,
                             rset_err *err);

/* What protecting files of that division takes: *out without the files, their stamp and their generation. What all ranks are told of it,
 * once for each division, is in note[] then, or will be when they are protected (out->storage), unless something else is. `all`:
 * out->before is RSET_USAGE, with *err, where no set has room for some rank. As rset_team_layout. */
rset_status rset_team_protection(rset_team *team, const rset_config *config, bool all,
                                 char note[RSET_ERR_TEXT], rset_protect_args *out, rset_err *err);

#endif
