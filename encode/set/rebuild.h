/* rebuild.h: one set's files become those of a generation: looked at (which reads only), planned, and then rebuilt or
 * rolled back. The same code under MPI and in one process. Called by recover/. */
#ifndef RSET_REBUILD_H
#define RSET_REBUILD_H

#include "codec/plan.h"
#include "comm/comm.h"
#include "coverage.h"
#include "member/delta.h"
#include "member/member.h"
#include "reread.h"

/* Why there is nothing to bring a file back from, after what is said of it. */
#define RSET_WAS_LEFT_OVER                                                                         \
    "; that rank was not protected: its host (or group=) had more ranks than sets had room for"

typedef struct rset_repair {
    /* given */
    rset_comm        *set;   /* by member number */
    const rset_local *local; /* local->dir NULL: out of reach */
    rset_evidence    *evidence;
    rset_verified    *verified;   /* what is known of its content, which is taken; NULL: nothing */
    uint64_t          generation; /* which is to be restored */
    bool changed; /* the file was changed since: its undo journal has the old content */
    bool by_path; /* what is lost comes back only where its path may be the one that is recorded */
    bool
                 outdated; /* what protects it is of another generation, and so is the file, which nobody has changed */
    bool         writable;   /* bad pieces of this member shall be computed */
    rset_content content;    /* what is verified, at least the data */
    bool         optimistic; /* files that are there are taken for good until they are read for the
                                     rebuild, and verified then: what `content` says as a whole, of
                                     other files the blocks that are read */
    bool cramped; /* a file of this member had no room beside what it replaces: damaged data is
                             laid over, and redundancy is done without; other members may have room */
    int  left; /* infos of left neighbours that headers of this set have, where members lack theirs, and all know that before they have looked;
                             else 0 or less */
    const char *host;
    /* found by rset_repair_look, of this member */
    bool damaged; /* its data is not as recorded, nor what the undo journal leads back to */
    bool bare;    /* its redundancy or descriptor file is lost, of another generation, or damaged */
    bool unverified; /* its data is there, but nobody records what it should be */
    rset_altered
        altered; /* its data is not as recorded, and another program wrote it since: it is put aside */
    /* and of the set */
    unsigned     flags;     /* of all members, or-ed */
    rset_header  header;    /* this member's header for `generation`, own or put together from
                              neighbours; payload sums only when own */
    bool         has_infos; /* header.infos are complete */
    uint64_t    *length;
    rset_shape   shape;
    rset_health *health; /* per member */
    char (
        *was)[RSET_HOST_NAME]; /* per member of which something is bad: the host on which its files
                                    were protected, "" where that is not recorded */
    rset_plan plan;
    rset_err  why;                                /* it is not covered */
    bool      data_out, redundancy_out, desc_out; /* to be written again */
    bool      undo;       /* to be rolled back by the undo journal, which has all of it */
    size_t    payload_at; /* in the new redundancy file */
    rset_local
        source; /* local, with the content that is read: of a file that was changed the old one */
    /* while writing */
    rset_logical data; /* of `source` */
    rset_logical new_data;
    bool         over; /* that is the damaged data itself */
    uint64_t aside; /* the number under which it was put aside (rset_changed_put), 0: it was not */
    bool     no_room; /* something could not be written for want of room */
    rset_sums   *new_sums;
    rset_layered payload; /* as it is */
    rset_file   *new_payload;
    char        *name, *temp_name;
    rset_access  access; /* what the data files of all members permit */
    rset_identity
        *new_data_ids; /* per data file: the temporary file that was computed and verified */
    rset_identity new_payload_id;  /* the same of the redundancy file */
    rset_reread   copied, sources; /* of what was read to be copied, and to be computed from */
    rset_reread  *noting;          /* one of them */
    rset_file    *held; /* the repair lock (claim.h), if the caller has taken it; owned */
} rset_repair;

/* Collective over the set: who has what, which pieces are bad. Changes nothing. Damage that cannot be
 * repaired is no error of this call, see rset_repair_plan. */
rset_status rset_repair_look(rset_repair *rep, rset_err *err);

/* Plans to restore the whole, or where redundancy files cannot be rebuilt, the data: that matters more.
 * *coverage_out: what of it can be had; where that is not all data, rep->why names who misses something. Local, and the
 * same on all members, but for RSET_NOMEM. */
rset_status rset_repair_plan(rset_repair *rep, rset_coverage *coverage_out, rset_err *err);

/* True if this member's files will be written or rolled back: who does that holds the repair lock. After rset_repair_plan. Pure. */
bool rset_repair_writes(const rset_repair *rep);

/* How many bytes of this member's files rset_repair_write will write, data and redundancy. After rset_repair_plan. Pure. */
uint64_t rset_repair_bytes(const rset_repair *rep);

/* Collective over the set: computes everything bad under temporary names, verifies it, syncs it. `before`: this member's failure
 * so far, with its message in *err. What a cramped member has damaged is written in its place (over.c): by then no rank's file may
 * count as closed. RSET_DAMAGED, only when optimistic: more is damaged than was known; look again, without. RSET_IO with
 * rep->no_room: look again, cramped. */
rset_status rset_repair_write(rset_repair *rep, rset_status before, rset_err *err);

/* Publishes what rset_repair_write wrote, by rename, or rolls the file back; what says that it was changed goes last. Only the files
 * that were verified get their names (E2). Surveys the directory then: rep->evidence is what is there, the data file that has
 * the name is the one that was verified. RSET_BUSY: another process repairs the file too; look again.
 * Local. *replaced_out: true when a data file was replaced or rolled back, else as it was. */
rset_status rset_repair_publish(rset_repair *rep, bool *replaced_out, rset_err *err);

/* Removes temporary files that were not published, and releases everything. */
void rset_repair_end(rset_repair *rep);

#endif
