/* job.h: a job of several ranks, each with a directory of its own, as the engine sees it: protect,
 * recover, or recover one rank alone. Ranks are threads over the local transport. What went wrong is
 * kept per rank and looked at in the main thread. */
#ifndef JOB_H
#define JOB_H

#include "protect/protect.h"
#include "recover/recover.h"

enum { JOB_RANKS = 32, JOB_FILES = 12 };

typedef struct job_rank {
    char       *dir; /* path of its directory */
    char       *prefix;
    int         nfiles;
    char       *names[JOB_FILES];          /* data files, also the paths that are recorded */
    char       *other_name, *other_prefix; /* under which its file is, too, or may be; or NULL */
    const char *path;                      /* recorded instead of names[0], or NULL */
    const char *host;                      /* where it runs; NULL: "host" */
    const rset_stamp_text *stamp;   /* what it says of when and as what it is protected, or NULL */
    const rset_attrs      *attrs;   /* to be recorded instead of stat's, or NULL */
    rset_desc              desc;    /* for protecting */
    char                  *shadow;  /* protect: its content lies under this name; or NULL. Owned */
    int                   *members; /* parent rank of each member of its set */
    /* what came out */
    bool          opened; /* protect: its files could be opened, and perhaps changed */
    rset_status   st;
    rset_err      err;
    rset_err      unkept; /* protect: why it has nothing of the generation before */
    rset_outcome  out;
    bool          any;      /* before recover: something says that it was protected once */
    bool          asks;     /* and the driver would have met the other ranks */
    rset_evidence evidence; /* as recover left it */
    uint64_t      sent;     /* recover: bytes that it has sent */
    uint64_t      messages; /* protect, recover: how many it has sent */
    uint64_t used; /* recover: so many ranks have said in the last step that they use their files */
} job_rank;

typedef struct job {
    int      n;
    job_rank ranks[JOB_RANKS];
    bool     extra;        /* protect with our own keys */
    bool     counted;      /* its file calls are counted: job_protect makes none of its own */
    bool     own_run;      /* recover as the run that protected */
    bool     undelete;     /* bring back files that were deleted */
    bool     keep_changed; /* recover with changed=keep */
    bool
        finish; /* protect finishes an older commit first, as the driver does when a rank has one waiting */
    int          keep;   /* generations that protect keeps, as in rset_protect_args */
    bool         aside;  /* protect puts aside what was protected before, as in rset_protect_args */
    bool         update; /* protect may build on the redundancy that is there */
    bool         unverified;            /* but nobody has verified the content */
    rset_content content;               /* what recover verifies */
    unsigned     by_size;               /* bit r: but rank r by size */
    bool         leave_orphans;         /* recover without removing what crashed runs left */
    bool         required;              /* recover with required=yes */
    bool         tell_rank;             /* job_recover_serial says whose files they are */
    bool         stays;                 /* recover takes and gives no files of ranks that moved */
    bool         copies;                /* or leaves them where they were as well */
    const char *const        *search;   /* where recover looks, too; or NULL */
    bool                      reads;    /* recover for ranks that only read */
    bool                      readonly; /* recover may write nothing */
    const rset_rebuild_watch *watch;    /* recover tells this one; or NULL */
    rset_status (*use)(
        struct job *j, int rank,
        rset_err
            *err); /* what rank `rank` does with its file in the last step of recover; or NULL */
    double timeout;
    void (*before)(int rank, void *arg); /* called in each thread at its start, may be NULL */
    void (*after)(int rank, void *arg);  /* and at its end, when what came out is in ranks[] */
    void *arg;
    /* What an application does with its file before it is protected - `local` may then mean content that
     * lies elsewhere - and what follows from how that came out. In each thread; may be NULL. */
    rset_status (*change)(struct job *j, int rank, rset_local *local);
    void (*settle)(struct job *j, int rank, rset_local *local, rset_status st);
    struct job      *
        with; /* other files of the same ranks, in the same directories, which job_body_protect protects together with
                         these; or NULL. Of these hooks only change and settle are called, and the generation is the same */
    bool     second; /* these are those */
    uint64_t salt; /* goes into the next generation: forked copies of a job draw the same number */
} job;

/* A job of n ranks in base/node<r>, each with one file ckpt_<r>.h5, in sets of at least min_size, not
 * yet protected. The directories are made. */
void job_init(job *j, const char *base, int n, const rset_scheme *scheme, int parity, int min_size);
void job_free(job *j);

/* Runs body once per rank, in a thread of its own, without judging what comes out. The body's `arg` is
 * the job. job_body_protect and job_body_recover are what job_protect and job_recover run. */
void job_run(job *j, void (*body)(rset_comm *world, void *job));
void job_body_protect(rset_comm *world, void *job); /* after job_next_generation */
void job_body_recover(rset_comm *world, void *job);
void job_next_generation(job *j);
/* One rank's part of job_body_recover, without the hooks. */
void job_recover_rank(rset_comm *world, job *j);
/* Body of a change that is about to be made: every rank voids its protection. */
void job_body_void(rset_comm *world, void *job);

/* Both give the status that all ranks came to, and fail the test when ranks differ (P4). */
rset_status job_protect(job *j); /* under the next generation */
rset_status job_recover(job *j);
/* The same for sweeps, which count what is wrong and go on: what ranks do not agree on is described in
 * why (1024 bytes; "" when they do). */
rset_status job_recover_watched(job *j, char *why);
/* One rank alone, with the directories of all others to search, by threads of its own. */
rset_status job_recover_serial(job *j, int rank);

/* The message that all ranks have, for asserts. */
const char *job_text(const job *j);

/* Writes all data files anew: rank r's has sizes[r % nsizes] bytes that depend on r and version. */
void job_write_data(const job *j, const size_t *sizes, int nsizes, int version);
/* All ranks protect by an update (delta.h), and the job dies when all have it complete: those in `decided` (bits)
 * had decided on it, and had put nothing into their redundancy files yet; the others were about to. */
void job_die_decided(job *j, unsigned decided);
/* All ranks protect, and the job dies when those in `published` (bits) have published their redundancy, and none the
 * data that it wrote beside. */
void job_die_publishing(job *j, unsigned published);
/* Empties the directories of these ranks: a node that was replaced. */
void job_lose(const job *j, const bool *lost);
/* Rank numbers of bits in `mask` as flags; returns how many. */
int job_mask(const job *j, unsigned mask, bool *lost);

/* Paths of a rank's files. */
const char *job_data(const job *j, int rank);
const char *job_redundancy(const job *j, int rank);
const char *job_descriptor(const job *j, int rank);

/* Can the set survive the loss of these ranks altogether (FORMAT.md 10, "When it can be done")? */
bool job_survives(const job *j, const bool *lost);

#endif
