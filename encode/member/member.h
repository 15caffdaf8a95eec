/* member.h: one member's files: what it brings to the engine, what its disk says, and reading and
 * writing its logical file (FORMAT.md 7: its data files, concatenated).
 *
 * Everything here is local: no communication. */
#ifndef RSET_MEMBER_H
#define RSET_MEMBER_H

#include "common/ranges.h"
#include "format/format.h"
#include "names/names.h"
#include "store/identity.h"
#include "store/store.h"
#include "undo.h"

/* The files of one rank. All strings and the directory are borrowed. */
typedef struct rset_local {
    rset_dir          *dir;    /* where data and redundancy files are; NULL: out of reach */
    const char        *prefix; /* of the redundancy files' names: base name of the file + "." */
    int                nfiles;
    const char *const *names; /* data files in `dir`, or as `dirs` says */
    const char *const *paths; /* the same as recorded in FILE */
    rset_dir *const               *
        dirs; /* of each data file, borrowed as `dir`, which is that of the first; NULL: it is missing. All in
                                `dir`: NULL */
    const rset_attrs *attrs; /* NULL: from stat(); else nfiles values to record instead (tests) */
    /* Which content is meant, where it is not what lies under the names (one file only): */
    const char             *shadow; /* that of this file, which takes the name at the commit */
    const struct rset_undo *undo;   /* that which this leads back to */
    struct rset_journal *
        next; /* that which this one, to which a program is writing, leads back to: a next journal */
} rset_local;

/* How messages call these files: path or name of the first, or the prefix. */
const char *rset_local_name(const rset_local *local);

/* Where data file i is; NULL: that directory is missing, or out of reach. Pure. */
rset_dir *rset_local_dir(const rset_local *local, int i);
/* Makes the names in all these directories durable, of data and redundancy. Local. RSET_IO. */
rset_status rset_local_sync(const rset_local *local, rset_err *err);

/* The first of the files of `local` that is not the file which `info` records in its place: content goes back by number. It has
 * that file's name without the directory, and of files of one name the one whose path ends as its own does, so that
 * directories may be others than they were. -1: none; a file that is alone may have another name now. There are as many
 * files as are recorded. Pure. */
int rset_local_misplaced(const rset_local *local, const rset_info *info);

/* The attributes that a header records of a file, as rset_file_set_attrs takes them; and who might use it. Pure. */
rset_file_attrs rset_recorded_attrs(const rset_attrs *recorded);
rset_access     rset_recorded_access(const rset_attrs *recorded);

/* What data file i has when it comes back: what was recorded, but where a file has its name, permissions and owner of that, which
 * its user may have changed since. */
rset_file_attrs rset_local_attrs(const rset_local *local, int i, const rset_attrs *recorded);

/* What all data files permit that are there, in what `local` means; those of a file that is missing are `recorded`, where that is not
 * NULL. All: nothing says anything. */
rset_access rset_local_access_of(const rset_local *local, const rset_info *recorded);
rset_access rset_local_access(const rset_local *local);

/* Are all data files there? A disk that fails to say so is an error: content that nobody else has would be taken
 * for lost, and go back to what was protected last. */
rset_status rset_local_there(const rset_local *local, bool *there_out, rset_err *err);
/* Is nothing left of them, not one of several, nor a placeholder? What cannot be looked at is there. Local. */
bool rset_local_gone(const rset_local *local);

/* How far the other files are that a prepared redundancy file names, which are committed with it (siblings.h). */
typedef enum rset_siblings {
    RSET_SIBLINGS_READY, /* each has that generation, prepared at least; also where there are none */
    RSET_SIBLINGS_MISSING, /* some has it not */
    RSET_SIBLINGS_DECIDED  /* some has it published: so all were ready, on all ranks */
} rset_siblings;

/* What the disk says about the protection of one rank's files. */
typedef struct rset_evidence {
    bool          any;        /* there is any sign that the file was ever protected */
    bool          unfinished; /* only that it was to be, by ranks that died over it */
    bool          has_header; /* a redundancy file with a valid header: the newest generation */
    bool          is_void;    /* its name carries the void mark */
    rset_header   header;
    size_t        payload_at; /* where its payload begins */
    char         *name;       /* its name as on disk */
    rset_overlay  over;       /* published update of the redundancy file, not yet in it (delta.h) */
    char         *over_name;  /* NULL: none */
    bool          over_gone;  /* the redundancy file that it belongs to is gone */
    uint64_t      next;       /* generation of a prepared redundancy file, 0 if none */
    char         *next_name;
    bool          next_updates;  /* it is an update (delta.h) */
    int           next_ranks;    /* by how many it was to be published */
    char         *next_together; /* with which other files, as its header has it; NULL: none */
    rset_siblings next_siblings; /* and how far these are */
    bool          has_desc;      /* valid descriptor file */
    int           unread; /* errno of the first redundancy or descriptor file that is there and could not be read, so that it
                                    counts as not there; 0: none */
    rset_desc     desc;
    bool          under_way; /* a process that lives is committing them: what is prepared, or not
                                    finished, is its own (rset_survey) */
    rset_identity data;      /* which file had the data file's name; zeros: none */
    uint64_t      mark;      /* generation that the data file names, 0 if none */
    rset_undo     undo;
    size_t        nshadows;
    uint64_t     *shadows; /* generations of the shadow files that lie beside */
    size_t        nkept;
    uint64_t *kept; /* older generations that are kept (kept.h), newest first; they may have gone */
    size_t    nnewer;
    uint64_t *newer; /* generations that were put aside (newer.h), in no order */
    size_t    nlost;
    uint64_t *lost;  /* generations that were put aside when new files were created */
    bool   replaced; /* one of them is the one that lies here, whose place new files were to take */
    size_t nchanged;
    uint64_t *changed; /* numbers under which changed files were put aside (newer.h), in no order */
    bool      placeholder; /* what has the data file's name only stands in for a shadow file */
    bool      orphans;     /* crashed runs left files beside it */
    bool      distrusted;  /* damage was found in the redundancy file (rset_distrust) */
    bool      refused;     /* and what it protects could not be had (rset_mark_refused) */
    rset_foreign
        foreign; /* what lies beside and does not count, since it may be another user's work */
} rset_evidence;

/* Reads the directory for redundancy files of `prefix`, and looks at the data file, "": at none; a file that is not valid is as good as not
 * there. RSET_USAGE: one was written by a newer release. Of several ranks' or generations' files the newest counts (rset_generation_newer).
 *
 * What is prepared, or not finished, was left by a process that died, or is under way: the one that commits holds
 * RSET_CLAIM_COMMIT from before it prepares anything until it has finished. So it has died when nobody had the claim after the
 * commit was seen, and the same is seen once more. Where the file system has no locks nobody is ever seen to live. */
rset_status rset_survey(rset_dir *dir, const char *prefix, const char *data_name,
                        rset_evidence *out, rset_err *err);
/* The same without a look at the files that what is prepared is committed with: evidence->next_siblings says nothing. */
rset_status rset_survey_one(rset_dir *dir, const char *prefix, const char *data_name,
                            rset_evidence *out, rset_err *err);
/* The same once more, in the place of what was found before. When it fails no more is known than that there is
 * something. */
rset_status rset_survey_again(rset_dir *dir, const char *prefix, const char *data_name,
                              rset_evidence *ev, rset_err *err);
/* The same for the files of `local`. */
rset_status rset_survey_local(const rset_local *local, rset_evidence *ev, rset_err *err);
/* The same as it will be once a commit of `generation`, which this rank may have prepared, has gone forward. */
rset_status rset_survey_ahead(rset_dir *dir, const char *prefix, const char *data_name,
                              uint64_t generation, rset_evidence *out, rset_err *err);
void        rset_evidence_free(rset_evidence *ev);

/* Packs what other processes of this program can ask of the evidence into a new block, which is freed with free(): not the names
 * of its files, nor which generations are kept or were put aside. RSET_NOMEM. */
rset_status rset_evidence_pack(const rset_evidence *ev, uint8_t **block_out, size_t *len_out,
                               rset_err *err);
/* Unpacks such a block that another process has sent. False, and *out is zero: it is none, or there is no memory. */
bool rset_evidence_unpack(const void *block, size_t len, rset_evidence *out);

/* Generations: the upper 24 bits count commits of a file, the lower 40 are random; 0 is "written
 * without our keys". Is a newer than b? */
enum { RSET_GENERATION_RANDOM_BITS = 40 };
bool rset_generation_newer(uint64_t a, uint64_t b);
/* nonce: random, equal on all ranks. After as many commits as can be counted it has a count of 0, and is protected by nobody. */
uint64_t rset_generation_next(uint64_t last, uint64_t nonce);
/* That of a file of one rank, whose writer may have lost what others have replicas of, and not know its generation: the
 * larger of `ms`, milliseconds since 2020-01-01 UTC, and those of `last` plus one, in the upper 42 bits; the lower 22 are
 * random, with the last bit set. Pure. */
uint64_t rset_generation_at(uint64_t last, uint64_t ms, uint64_t nonce);
/* The milliseconds that such a generation was made of. Pure. */
uint64_t rset_generation_moment(uint64_t generation);

static inline uint64_t
rset_generation_commits(uint64_t generation)
{
    return generation >> RSET_GENERATION_RANDOM_BITS;
}

/* Does the data file's name still lead to the file that was there when `ev` was surveyed, or to none as then? Nobody has replaced it
 * since. RSET_IO: it cannot be looked at. Local. */
rset_status rset_evidence_is_current(const rset_local *local, const rset_evidence *ev, bool *is_out,
                                     rset_err *err);

/* True if the disk says something else by now than when `ev` was surveyed, or a commit is under way: another process is about its own
 * affairs with these files, and what was found amiss may be that. False where it cannot be told. Local. */
bool rset_evidence_has_moved(const rset_local *local, const rset_evidence *ev);

/* Is nothing left of the data files under any name that they have while they are written, as far as the disk said it when `ev` was
 * surveyed: none was put aside either while a new one takes its name? Local. */
bool rset_evidence_gone(const rset_local *local, const rset_evidence *ev);

/* Have other ranks to be met before this file is used? They may have more of it. */
bool rset_evidence_asks(const rset_evidence *ev);

/* That of the redundancy file, 0: there is none. */
uint64_t rset_evidence_generation(const rset_evidence *ev);

/* Is there a shadow file of this generation? */
bool rset_evidence_has_shadow(const rset_evidence *ev, uint64_t generation);

/* The name of the shadow file of this generation: a new string, NULL where there is none. RSET_NOMEM. */
rset_status rset_evidence_shadow_name(const rset_evidence *ev, const char *prefix,
                                      uint64_t generation, char **out, rset_err *err);

/* Has this rank prepared a commit that others may have decided on? Then its content is not one process's to change. */
bool rset_evidence_in_doubt(const rset_evidence *ev);

/* Was a commit of this rank's redundancy file decided on, and not finished: its data, or part of the redundancy, is not in
 * place yet? */
bool rset_evidence_committing(const rset_evidence *ev);

/* By how many ranks the files were protected, or were to be: the most that anything says. 0: nothing says it. */
int rset_evidence_ranks(const rset_evidence *ev);

/* The newest generation that there is any sign of; 0: none. */
uint64_t rset_evidence_newest(const rset_evidence *ev);

/* Does what is recorded tell the files of the ranks apart by their names? False where nothing of other ranks is recorded
 * (SINGLE). */
bool rset_evidence_names_differ(const rset_evidence *ev);

/* Is the descriptor file there and does it say what the header says? */
bool rset_evidence_described(const rset_evidence *ev);

/* Gives the redundancy file, or update, that is prepared (ev->next_name is not NULL) the name that publishes it. *ev stays as it is.
 * Local. */
rset_status rset_evidence_publish(rset_dir *dir, const rset_evidence *ev, rset_err *err);

/* Puts a published update into the redundancy file (delta.h), if there is one. *ev is updated. */
rset_status rset_evidence_finish(rset_dir *dir, rset_evidence *ev, rset_err *err);

/* Gives the redundancy file its void mark (rename, directory sync: P3), or takes it off again.
 * *ev is updated. Nothing to do without header or when it is so already. */
rset_status rset_set_void(rset_dir *dir, rset_evidence *ev, bool is_void, rset_err *err);

/* ---- the logical file ---- */

typedef struct rset_logical {
    int              n;
    rset_file      **files;  /* NULL: not there */
    int              unread; /* errno of the first that is there and could not be opened; 0: none */
    uint64_t        *start;  /* n + 1 values: where each file begins; start[n] is the length L */
    const rset_undo *undo;   /* over the first file; NULL: files are read as they are */
    struct rset_journal
              *next; /* below that, in the place of the first file; NULL: that is read itself */
    rset_file *journal;
} rset_logical;

/* Opens the data files for reading, with the content that `local` means. `info` NULL: all must be there,
 * lengths are theirs. Otherwise lengths are as recorded, files that are missing or no regular files stay
 * NULL. */
rset_status rset_logical_open(const rset_local *local, const rset_info *info, rset_logical *out,
                              rset_err *err);

/* Creates one temporary file for each data file of `info`, named <prefix><rank>.redset.<i>.fix. It is as open as the file
 * that it will be (rset_local_attrs), and at most as open as `within`. */
rset_status rset_logical_create(const rset_local *local, const rset_info *info,
                                const rset_access *within, rset_logical *out, rset_err *err);
char       *rset_logical_temp_name(const rset_local *local, int rank, int i);

rset_status rset_logical_close(rset_logical *logical, rset_err *err);

/* rset_file_next_data of the logical file; of one that is being written, `off`. */
uint64_t rset_logical_next_data(const rset_logical *logical, uint64_t off, uint64_t *end_out);

/* Transfers at an offset of the logical file. Reading: bytes beyond the end are zeros, a missing file
 * is an error. Writing: bytes beyond the end are dropped. When `sums` is not NULL, it is one
 * rset_sums per file and the bytes are added to them. */
rset_status rset_logical_read(const rset_logical *logical, uint64_t off, void *buf, size_t len,
                              rset_sums *sums, rset_err *err);
rset_status rset_logical_write(const rset_logical *logical, uint64_t off, const void *buf,
                               size_t len, rset_sums *sums, rset_err *err);

/* ---- verification ---- */

/* How much of the content is compared with what is recorded of it. Without any, files have to be there, with their sizes. */
typedef enum rset_content {
    RSET_CONTENT_NONE,
    RSET_CONTENT_DATA, /* that of the data files */
    RSET_CONTENT_ALL   /* that of the redundancy files as well */
} rset_content;

/* The bytes in which data files, or the payload of a redundancy file, differ from what is recorded of them. Zeroed: none do. */
typedef struct rset_damage {
    rset_ranges bad; /* logical offsets, or those of the payload */
    bool
        any; /* something has to be written again; with no bad byte where all that is missing is an empty file */
    int unread; /* errno of the first look or read that failed: nobody knows what is there. 0: all could be read */
} rset_damage;
void rset_damage_free(rset_damage *damage);
/* Moves the bad ranges into *bad, in the place of what it has, and notes what could not be read in *unread. *from is zeroed. */
void rset_damage_take(rset_damage *from, rset_ranges *bad, int *unread);

/* Compares the data files with what `info` records, and finds what differs: a file that is missing or has another size is bad from
 * end to end, otherwise each block whose checksum differs (`content`; a file without recorded sums is taken as it is). An
 * unreadable block is bad. *out, which was initialised, is replaced. Reads each byte at most once. */
rset_status rset_verify_data(const rset_local *local, const rset_info *info, bool content,
                             rset_damage *out, rset_err *err);

/* Is all of it there, with the recorded checksums? False with an error. */
rset_status rset_is_as_recorded(const rset_local *local, const rset_info *info, bool *is_out,
                                rset_err *err);

/* True if each data file that is not as recorded has only become longer: all that was recorded of it is there. False where that cannot
 * be told. Reads the files. */
bool rset_is_only_longer(const rset_local *local, const rset_info *info);

/* True if a data file has another modification time than was recorded: storage that loses or garbles content leaves the times alone, and
 * whoever writes a file changes them. *when_out: the latest of the other times, in seconds since 1970. Local. */
bool rset_times_differ(const rset_local *local, const rset_info *info, uint64_t *when_out);

/* Gives the one data file, which has the recorded content again, the recorded time as well: it counts as never changed. Both are durable
 * then, so that the void mark and the journal may go. A file that is not ours to date keeps its time: RSET_OK. RSET_IO. Local. */
rset_status rset_times_restore(const rset_local *local, const rset_info *info, rset_err *err);

/* How data files that are not as recorded came to be so. */
typedef struct rset_altered {
    bool     any;    /* they were written since; else they are damaged */
    bool     longer; /* rset_is_only_longer */
    uint64_t when;   /* as of rset_times_differ */
    bool     later;  /* which is not before the time that was recorded */
    bool
        own; /* for messages: the run that asks had protected them, and may have written them itself */
} rset_altered;

/* True, and *out is filled, if the data files of `local`, which are not as `info` records, were written by another program since. What only
 * stands in for a file was not, and what another user has put in its place is none that could be put aside. Local. */
bool rset_is_altered(const rset_local *local, const rset_evidence *ev, const rset_info *info,
                     rset_altered *out);

/* The same as rset_verify_data for the content that the redundancy file of `ev` covers, wherever this member has it: in its
 * shadow file, under its name, or of a file that was changed since, by what its undo journal leads back to. */
rset_status rset_verify_covered(const rset_local *local, const rset_evidence *ev, bool content,
                                rset_damage *out, rset_err *err);

/* The same as rset_verify_data for the payload of the redundancy file that `ev` has a header of. Without recorded sums only
 * its length is checked. */
rset_status rset_verify_payload(const rset_local *local, const rset_evidence *ev, bool content,
                                rset_damage *out, rset_err *err);

/* A rank that has compared its files with their own header keeps what it found here, so that nobody reads them twice. Zeroed: nothing was
 * compared. */
typedef struct rset_verified {
    bool        data, payload; /* its content was */
    rset_damage of_data, of_payload;
} rset_verified;
void rset_verified_free(rset_verified *verified);

/* The same with all content, for whoever has time: go_on is asked before each piece of RSET_FILE_AT_ONCE bytes, and may
 * sleep. Once it returns false the rest is not read, and what was found is of no use. */
typedef struct rset_pace {
    bool (*go_on)(void *arg);
    void *arg;
} rset_pace;
rset_status rset_verify_payload_slowly(const rset_local *local, const rset_evidence *ev,
                                       const rset_pace *pace, rset_damage *out, rset_err *err);

/* Has whoever opens the file next verify its redundancy: the one that `ev` has a header of is damaged. A mark on that file,
 * which goes when the file is replaced. Best effort, as rset_file_set_mark. */
void rset_distrust(const rset_local *local, const rset_evidence *ev);

/* Notes on the redundancy file of `ev` that all ranks together could not have what it protects, or that they could. So whoever creates new
 * files over it puts it aside, and it does not count as one that is kept. Best effort, as above. */
void rset_mark_refused(const rset_local *local, const rset_evidence *ev, bool refused);

/* What the mark of a redundancy file says: one bit each. */
enum { RSET_MARK_DISTRUSTED = 1, RSET_MARK_REFUSED = 2 };

#endif
