/* config.h: what the user wants, resolved: defaults, then HDF5_DRIVER_CONFIG or the property list.
 *
 * Plain data, the same for all files opened with one property list. `key=value;...` strings become
 * this struct in config.c and nowhere else. No HDF5 and no MPI types here, so that session.c can
 * be read without either. */
#ifndef RSET_CONFIG_H
#define RSET_CONFIG_H

#include "protect/protect.h"
#include "recover/recover.h"
#include "rendezvous/rendezvous.h"

#include <stdbool.h>

enum { RSET_CONFIG_TEXT = 1024 };
enum { RSET_SEARCH_MAX = 64 }; /* directories of search= */

typedef enum {
    RSET_VERIFY_OPEN, /* all data at a collective open, redundancy behind it; without MPI per block, on first read */
    RSET_VERIFY_READ, /* per block, on first read */
    RSET_VERIFY_SIZE, /* existence and size only */
    RSET_VERIFY_ALL   /* as open, and redundancy as well before anything is read */
} rset_verify;

/* moved=: do files follow ranks that run on other nodes than before? As H5FD_redset_moved_t. */
typedef enum rset_moves { RSET_MOVES_YES, RSET_MOVES_COPY, RSET_MOVES_NO } rset_moves;

/* Keys as in docs/configuration.md, in that order. `files`: a pattern with '/' is matched with the whole
 * path, or if it does not begin with '/' also from any directory of it on; another one with the base
 * name (fnmatch, '*' matches '/' too). */
typedef struct rset_config {
    const rset_scheme *scheme;    /* scheme=SINGLE|PARTNER|XOR|RS|NAME:PARITY; default XOR */
    int                set_size;  /* set_size=, wanted members per set, default 8 */
    int                parity;    /* parity=, until the string is read; then 0: see the next two */
    int                replicas;  /* replicas=, PARTNER, default 1 */
    int                checksums; /* checksums=, RS, default 2 */
    char               group[64]; /* group=, failure group of this rank; "": the host name */
    char               team[RSET_STAMP_TEXT +
              1]; /* team=, ranks of one text protect each other; "" is a text, too */
    double             timeout; /* timeout=, seconds that ranks wait for each other, default 300 */
    rset_verify        verify;  /* verify=open|read|size|all */
    bool required; /* required=yes|no: is a file that cannot be protected an error? default no */
    bool
        atomic; /* atomic=yes|no: keep the old content until the new one is protected? default yes */
    bool readonly_rebuild; /* readonly_rebuild=yes|no: may a read-only open bring files back? yes */
    rset_moves moved;      /* moved=yes|copy|no: do files follow ranks that moved? default yes */
    int        keep; /* keep=N|all: generations that can be had, the newest counted; default 1 */
    bool       commit_flush; /* commit=close|flush: is each H5Fflush a commit? default no: close */
    bool       async;        /* async=yes|no: protect after H5Fclose has returned? default no */
    char       files[RSET_CONFIG_TEXT]; /* files=GLOB,...: what is protected; "": every file */
    char       root[RSET_CONFIG_TEXT];  /* root=GLOB,...: files of one rank; "": none */
    char       together
        [RSET_CONFIG_TEXT]; /* together=GLOB,...: files of each rank that are committed together; "": none */
    char search[RSET_CONFIG_TEXT]; /* search=DIR:...: where else to look for files and pieces */
    char report
        [RSET_CONFIG_TEXT]; /* report=FILE|stderr|no: where what it cost is told; "": nowhere */
    char job[RSET_STAMP_TEXT + 1]; /* job=, recorded with what is protected; "": SLURM_JOB_ID */
    char generation
        [RSET_STAMP_TEXT +
         9]; /* generation=-K|N|label:NAME: the one that is opened to be read; "": the newest */
    bool
        fallback; /* fallback=yes|no: is an older generation read where the newest cannot be had? no */
    bool
                keep_changed; /* changed=restore|keep: what becomes of files that another program has changed? restore */
    const void *comm; /* MPI_Comm *, NULL: MPI_COMM_WORLD; owned by the property list */
} rset_config;

/* R or k or 1 or 0, whichever the scheme wants. */
int rset_config_parity(const rset_config *config);

/* The number of this scheme is `parity`: replicas= or checksums=. False, and nothing is changed: it cannot be. */
bool rset_config_take_parity(rset_config *config, const rset_scheme *scheme, int parity);

/* Is this path protected under `files=`? */
bool rset_config_covers(const rset_config *config, const char *path);

/* Is it a file of one rank, by `root=`? It is protected then also where `files=` does not name it. */
bool rset_config_is_root(const rset_config *config, const char *path);

/* The place in `together=` of the first pattern that names this path, and how many there are in *n_out; -1: none does. */
int rset_config_together(const rset_config *config, const char *path, int *n_out);

/* What has to be equal on all ranks. */
void rset_config_keys(const rset_config *config, uint64_t keys_out[RSET_KEYS]);

/* Defaults (required=no). */
void rset_config_defaults(rset_config *config);

/* Applies a configuration string: `key=value` pairs separated by ';', $NAME, ${NAME} and $$ in a value are the environment
 * variable of that name and a dollar sign, ',' inside values belongs to the value, spaces around keys, values and separators are ignored and a space also separates pairs
 * ("scheme=RS checksums=2"); `{key: value; ...}` as other HDF5 drivers write it; `@file` reads the
 * string from a file (at most 64 KiB). Unknown key, impossible value: RSET_USAGE with a message that
 * names the key, the value and what is possible; *config is then unchanged. */
rset_status rset_config_parse(rset_config *config, const char *text, rset_err *err);

/* Applies one pair to *config, as a member of a string, whose variables are put in already, or of a struct. RSET_USAGE, and *config is
 * unchanged: there is no such key, which one may be meant; or the value is impossible. */
rset_status rset_config_set(rset_config *config, const char *name, const char *value,
                            rset_err *err);

/* Do the settings go together, and can they be meant: can a set of set_size carry the scheme, are the patterns of together=, and
 * the directories of search=, as many as there may be, is generation= one of its forms? RSET_USAGE if not. rset_config_parse has asked already. */
rset_status rset_config_check(const rset_config *config, rset_err *err);

#endif
