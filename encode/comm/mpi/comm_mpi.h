/* comm_mpi.h: the transport over MPI, and the only place that talks to MPI apart from the property
 * list (vfd/fapl.c). mpi.h itself is not needed by who includes this.
 *
 * The plugin does not link MPI, it finds it (comm_mpi_calls.h), so that a serial HDF5 program without MPI
 * loads us as well as one with MPI (T8). */
#ifndef RSET_COMM_MPI_H
#define RSET_COMM_MPI_H

#include "comm/comm.h"

/* True when the process has an MPI that is ours to call now: the library we were compiled for is there,
 * MPI_Init done, MPI_Finalize not, and this thread allowed to call it (thread level; P10, T20). Makes no
 * MPI call when the process has no MPI library. */
bool rset_mpi_usable(void);

/* True between MPI_Init and MPI_Finalize, whether or not this thread may call MPI. */
bool rset_mpi_running(void);

/* Has this process never been a rank of a job? No MPI was initialised in it, of whatever kind, nor in one that it was
 * forked from. False as well where that cannot be found out. */
bool rset_mpi_never(void);

/* Why files of this process cannot be protected, where rset_mpi_running is false: words that go on after "the process";
 * *other_out, which may be NULL: because it has started another MPI than the one that the plugin was built for. */
const char *rset_mpi_why_not(bool *other_out);

/* May any thread call MPI at any time (MPI_THREAD_MULTIPLE)? Only when rset_mpi_usable. */
bool rset_mpi_any_thread(void);

/* `wait` is called before MPI_Finalize does anything, by the thread that calls that, and returns when no other thread is in an MPI call. The
 * first call counts. False: this MPI cannot be told to, so no other thread may call it. With Open MPI it need not be (rset_mpi_before_finalize):
 * true. */
bool rset_mpi_waits_at_end(void (*wait)(void));

/* Can a rank have its file without the others? */
typedef enum {
    RSET_NEED_NOTHING, /* yes, or it does not matter */
    RSET_NEED_OTHERS,  /* no */
    RSET_NEED_UNKNOWN /* it finds out when others have not come, and says so then (rset_mpi_confer) */
} rset_need;

/* The reason why a rank comes. */
typedef struct rset_purpose {
    uint64_t what; /* a number for it, 0: none; see rset_first_come */
    uint64_t
              opens; /* a number for the kind of files that it opens, 0: none: all of those who come open theirs, or none (P4) */
    rset_need need;
    uint64_t  team; /* a number for the team that this process is of: see rset_mpi_private */
} rset_purpose;

/* The ranks that have come to open files of one kind, where others have not come. */
typedef struct rset_mpi_others {
    int came;  /* so many are to say whether they need the others; 0: nobody is */
    int needy; /* the first that does; -1: none has said so */
} rset_mpi_others;

/* A private communicator for the ranks of `parent` (pointer to an MPI_Comm, NULL: MPI_COMM_WORLD) that come with the same
 * purpose->team, kept with the parent as an attribute. Those of other teams have to come once, as all do; after that nobody
 * waits for them. RSET_USAGE: this process has come with another team before. At first use waits at most `timeout` seconds until all ranks
 * ask for it at the same time (comm_mpi_first.h), then it is duplicated without blocking
 * (MPI_Comm_idup); RSET_PEER when they do not, and the next call tries again (rset_mpi_told: rank 0 knows that as
 * well). `purpose` NULL: none. MPI_ERRORS_RETURN is set on the duplicate only.
 * The result belongs to the attribute: do not free. */
rset_status rset_mpi_private(const void *parent, double timeout, const rset_purpose *purpose,
                             rset_comm **comm_out, rset_err *err);

/* Tells, after rset_mpi_private came to RSET_PEER, what this rank knows of those that have come as well. */
rset_mpi_others rset_mpi_others_of(const void *parent);
/* Confers with those that came, where rset_mpi_others says how many: tells them whether this rank `needs` those that did not, and waits at most `timeout` seconds for the same
 * of them; rset_mpi_others_of says what came of it. RSET_PEER with the message, in any case. */
rset_status rset_mpi_confer(const void *parent, double timeout, bool needs, rset_err *err);

/* This rank has failed, and will not come for `what`. Where not all have come together yet, rank 0 is told. Waits for nobody. */
void rset_mpi_will_not_come(const void *parent, uint64_t what);
/* Why they did not come together the last time: some have not come; rank 0 has not answered this one, because it has not come, or had gone
 * on before; one has said that it will not come; all others had gone on before rank 0, which is this one. */
typedef enum {
    RSET_APART_MISSING,
    RSET_APART_SILENT,
    RSET_APART_FAILED,
    RSET_APART_LATE
} rset_apart;
rset_apart rset_mpi_apart(const void *parent);

/* Did rank 0 say so the last time that they did not come? */
bool rset_mpi_told(const void *parent);

/* A duplicate of the application's communicator `from` (pointer to an MPI_Comm), into *out, an MPI_Comm as well: made at the
 * first call, then always the same. Collective over `from`, in that every rank has to call it, but waits for the others at
 * most `timeout` seconds; the next call goes on with that. `not_done` completes "not all ranks of the communicator have
 * ...". Not to be freed. RSET_NOMEM; RSET_USAGE: see rset_mpi_know. */
rset_status rset_mpi_shared(const void *from, double timeout, const char *not_done, void *out,
                            rset_err *err);

typedef struct rset_mpi_known {
    uintptr_t id; /* a number that tells communicators apart, also from those that were before */
    int       rank, size;
    bool
        others; /* its ranks are not those of MPI_COMM_WORLD, or have other numbers: by what this rank sees */
} rset_mpi_known;

/* Fills *out with what this rank knows of the communicator; `parent` as above. Waits for nobody. RSET_USAGE: it is none that ranks could protect files with. */
rset_status rset_mpi_know(const void *parent, rset_mpi_known *out, rset_err *err);

/* Rank in MPI_COMM_WORLD of this process (FORMAT.md 4.4). */
int rset_mpi_world_rank(void);

/* `callback` is called before the program frees a communicator that it has given: the private one is of no use
 * after that. */
void rset_mpi_before_free(void (*callback)(void));

/* Called once, inside MPI_Finalize while MPI still works, in reverse order of registration (an
 * attribute of MPI_COMM_SELF). */
rset_status rset_mpi_at_finalize(void (*callback)(void *arg), void *arg, rset_err *err);

/* The same, before all of those: for what still needs the others. */
rset_status rset_mpi_before_finalize(void (*callback)(void *arg), void *arg, rset_err *err);

#endif
