/* rebuild.h: bringing one set back, in two steps between which all sets of a job agree: look (reads
 * only) and repair. The same code under MPI and in one process. Called by recover.c and offline.c. */
#ifndef RSET_REBUILD_H
#define RSET_REBUILD_H

#include "comm/comm.h"
#include "member/delta.h"
#include "member/member.h"
#include "witness.h"

/* What a member finds of its own; flags. */
enum {
    RSET_FOUND_DAMAGE = 1, /* data lost or not as recorded, and not because protection was void */
    RSET_FOUND_STALE = 2,  /* data not as recorded, protection void: changed and never protected */
    RSET_FOUND_BARE = 4,   /* redundancy file lost, of another generation, or damaged */
    RSET_FOUND_BLIND = 8,  /* what its redundancy file must record is lost with its neighbours */
    RSET_FOUND_HOPELESS = 16, /* data lost, and so is what was recorded of it */
    RSET_FOUND_NO_DESC = 32,  /* descriptor file lost or not what it was */
    RSET_FOUND_CUT = 64,      /* a program died while it wrote the file in place */
    RSET_FOUND_UNKNOWN = 128, /* data there, but all that was recorded of it is lost: it stays */
    RSET_FOUND_BESIDE = 256,  /* a program died while it wrote a new file beside it */
    RSET_FOUND_APART =
        512 /* counts as cut where others have changed theirs (rset_evidence_apart) */
};

typedef struct rset_repair {
    /* given */
    rset_comm        *set;   /* by member number */
    const rset_local *local; /* local->dir NULL: out of reach */
    rset_evidence    *evidence;
    uint64_t          generation; /* which is to be restored */
    bool              writable;   /* bad pieces of this member shall be computed */
    bool              content;    /* verify content */
    bool              alone;    /* without the other ranks: signs that only all can judge by stay */
    bool              sees_all; /* but with what all of them have */
    bool        trusting; /* files that are there are taken for good until they are read for the
                                     rebuild, and then verified, all of them when `content` */
    const char *host;
    /* found by rset_repair_look */
    int          found;     /* RSET_FOUND_ flags of this member */
    int          found_any; /* of all members of the set, or-ed */
    rset_header  header;    /* this member's header for `generation`, own or put together from
                              neighbours; payload sums only when own */
    bool         has_infos; /* header.infos are complete */
    uint64_t    *length;
    rset_shape   shape;
    rset_health *health; /* per member */
    rset_plan    plan;
    bool         data_out, redundancy_out, desc_out; /* to be written again */
    size_t       payload_at;                         /* in the new redundancy file */
    rset_local
        source; /* local, with the content that is read: of a file that was changed the old one */
    /* while writing */
    rset_logical  data; /* of `source` */
    rset_logical  new_data;
    rset_sums    *new_sums;
    rset_layered  payload; /* as it is */
    rset_file    *new_payload;
    char         *name, *temp_name;
    rset_witness  copied, sources; /* of what was read to be copied, and to be computed from */
    rset_witness *noting;          /* one of them */
} rset_repair;

/* Data of which nothing is recorded any more: may it be taken as it is when it is there (never as a source)?
 * Not when there is a sign that it belongs to another generation (P2, F9). */
bool rset_may_stay_unverified(const rset_evidence *ev, bool there, uint64_t generation);

/* Collective over the set: who has what, which pieces are bad. Changes nothing. Damage that cannot be
 * repaired is no error of this call, see rset_repair_plan. */
rset_status rset_repair_look(rset_repair *rep, rset_err *err);

/* Plans to repair the whole, or where redundancy files are lost beyond repair, the data: that matters more. Stale
 * data is taken back to what was protected. *whole_out: redundancy files too; else they stay as they are. RSET_LOST
 * when it cannot be done; names the members that miss something. Local, and the same on all members, but for
 * RSET_NOMEM. */
rset_status rset_repair_plan(rset_repair *rep, bool *whole_out, rset_err *err);

/* Collective over the set: computes everything bad under temporary names, verifies it, syncs it.
 * RSET_DAMAGED, only when trusting: more is damaged than was known; look again, without. */
rset_status rset_repair_write(rset_repair *rep, rset_err *err);

/* Publishes what rset_repair_write wrote, by rename; takes off a void mark that is no longer true.
 * Local. *replaced_out: true when a data file was replaced, else as it was. */
rset_status rset_repair_publish(rset_repair *rep, bool *replaced_out, rset_err *err);

/* Removes temporary files that were not published, and releases everything. */
void rset_repair_end(rset_repair *rep);

#endif
