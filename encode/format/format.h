/* format.h: redundancy file headers and descriptor files as C structs (FORMAT.md 1, 5, 6).
 *
 * Trees become structs at this border and nowhere else; whatever comes out of an unpack function has
 * been checked: members within the set, counts that match, paths without NUL and at most
 * RSET_PATH_MAX bytes, sizes whose sums do not wrap. Names are data: they are compared, never opened
 * (P7). Pure: no files, no MPI.
 *
 * Our own keys, which other readers ignore:
 *   descriptor      GENERATION = decimal; the commit that this belongs to, the same on all ranks
 *   info            HOST = name of the host on which the member ran when its files were protected
 *                   TIME = decimal, JOB, USER, LABEL = text: when, in which job, by whom and as what all of them were
 *                   SINCE = decimal; of a file of one rank: the generation that its history began with
 *                   TOGETHER = base names of the other files of the member that were committed with it, separated by '/'
 *   file attributes CRC64 = 16 hex digits, CRC64_BLOCK = block size, CRC64_BLOCKS = 16 hex digits per
 *                   block without separator (left out when there is no block)
 *   header          PAYLOAD with SIZE, CRC64, CRC64_BLOCK, CRC64_BLOCKS of the payload
 *                   VFD = version of these keys, "1"
 *                   PAD = zeros, up to where the payload begins */
#ifndef RSET_FORMAT_H
#define RSET_FORMAT_H

#include "codec/scheme.h"
#include "common/crc64.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RSET_PATH_MAX = 4095,
    RSET_HOST_MAX = 255,   /* bytes of a recorded host name */
    RSET_STAMP_TEXT = 255, /* bytes of each text of a stamp */
    RSET_TOGETHER_MAX = 8, /* files of a rank that are committed together */
    RSET_TOGETHER_TEXT = (RSET_TOGETHER_MAX - 1) * 256 - 1, /* bytes of the names of the others */
    RSET_MAX_RANKS = 1 << 24, /* N; a set has at most 256 members under RS, any number otherwise */
    RSET_SUMS_BUDGET = 32768  /* block checksums in one header: 16 bytes each, below 1 MiB */
};

/* Descriptor of one rank (FORMAT.md 5). */
typedef struct rset_desc {
    const rset_scheme *scheme;
    int                parity;          /* REPLICAS or CKSUM; 1 for XOR, 0 for SINGLE */
    int                set, sets;       /* GROUP, GROUPS */
    int                member, members; /* RANK, RANKS */
    int                rank, ranks;     /* WRANK, WRANKS */
    uint64_t           generation;      /* 0: written without our keys */
} rset_desc;

/* A rank that no set has room for (layout.h): SINGLE where others have sets. Where all have SINGLE there are as many sets
 * as ranks. Pure. */
bool rset_desc_is_left_over(const rset_desc *desc);

/* stat() of a data file before it was read (FORMAT.md 6). Negative times as 2^64 - magnitude. */
typedef struct rset_attrs {
    uint64_t atime_secs, atime_nsecs, ctime_secs, ctime_nsecs, mtime_secs, mtime_nsecs;
    uint64_t uid, gid, mode, size;
} rset_attrs;

typedef struct rset_file_info {
    char      *path; /* as recorded; owned */
    rset_attrs attrs;
    bool       has_sums; /* false: written without our keys */
    rset_sums  sums;     /* of attrs.size bytes */
} rset_file_info;

/* When, by whom and as what a generation was protected; the same on all ranks. Texts satisfy rset_stamp_may_be; NULL: not
 * recorded; owned. */
typedef struct rset_stamp {
    uint64_t time; /* seconds since 1970, UTC; 0: not recorded */
    uint64_t
          since; /* of a file of one rank: the generation that its history began with, whose writer knew of none; 0: not recorded */
    char *job, *user, *label;
} rset_stamp;

/* 1 to RSET_STAMP_TEXT bytes of printable UTF-8: no control characters, nothing that ends a line, says its direction or turns it? Pure. */
bool rset_stamp_may_be(const char *text);

/* Release what it owns, and zero it; a deep copy into *to, which holds nothing (false: no memory, and it still does). */
void rset_stamp_free(rset_stamp *stamp);
bool rset_stamp_copy(const rset_stamp *from, rset_stamp *to);

/* Is that a list of base names as an info has it, of 1 to RSET_TOGETHER_MAX - 1 of them? Pure. */
bool rset_together_may_be(const char *text);

/* The next name of such a list: goes to name_out (256 bytes), and *list to what follows it. False: there is none, as in a list
 * that is NULL. Pure. */
bool rset_together_next(const char **list, char name_out[256]);

/* What is recorded of one member: descriptor, where it ran, and data files in index order. */
typedef struct rset_info {
    rset_desc       desc;
    char           *host; /* NULL: not recorded; owned */
    rset_stamp      stamp;
    char           *together; /* rset_together_may_be; NULL: it was committed by itself; owned */
    int             nfiles;
    rset_file_info *files; /* nfiles; owned */
} rset_info;

/* Header of a redundancy file. */
typedef struct rset_header {
    int        member; /* own place in the set */
    uint64_t   chunk;  /* CHUNK, 0 unless the scheme is striped */
    int        ninfos; /* 1 + left(parity), at most members */
    rset_info *infos;  /* [d] is the d-th left neighbour's, [0] the own; owned */
    int       *group;  /* striped: parent rank of each member, members values; else NULL; owned */
    bool       has_payload_sums;
    rset_sums  payload; /* sums of the payload; payload.size is its length */
    size_t     total;   /* packing, with our own keys: bytes that it shall take; 0: what it needs */
} rset_header;

/* Sum of the file sizes: logical length L of a member. Never wraps for an unpacked info. */
uint64_t rset_info_length(const rset_info *info);

/* Release what the struct owns and zero it; a zeroed struct is accepted. */
void rset_info_free(rset_info *info);
void rset_header_free(rset_header *header);

/* Deep copy into *out (which holds nothing). RSET_NOMEM. */
rset_status rset_info_copy(const rset_info *from, rset_info *out, rset_err *err);

/* Most block checksums per data file and per payload, such that a header with 1 + left infos of
 * `nfiles` files each stays below 1 MiB. >= 1. */
size_t rset_format_max_blocks(int ninfos, int nfiles);

/* One info as a container, to be sent to neighbours. `extra`: with our own keys. Buffers are freed
 * with free(). The size does not depend on checksum values. */
rset_status rset_format_pack_info(const rset_info *info, bool extra, uint8_t **buf_out,
                                  size_t *len_out, rset_err *err);
rset_status rset_format_unpack_info(const uint8_t *buf, size_t len, const char *what,
                                    rset_info *info_out, rset_err *err);

/* A redundancy file's header. The packed size does not depend on checksum values or generation's
 * digits beyond its decimal length, so rset_format_header_size can say where the
 * payload begins. Packing checks what unpacking would check: RSET_BUG when it would be refused,
 * RSET_USAGE when the header would be too long, or longer than header->total asks for.
 * Unpack: accepts upstream's leftovers after a rebuild (FORMAT.md 10): extra DESC entries, a
 * multi-valued RANK. `member_in_name`, 0-based, from the file name must be among the values of RANK;
 * pass -1 when unknown: then it is the one member whose left neighbours are all there. A header with
 * such leftovers has no payload sums: upstream copies our PAYLOAD from another member's header.
 * Bytes after the container are not looked at. RSET_USAGE: a newer release has written it. RSET_DAMAGED with a message that begins with
 * `what` otherwise. Memory taken is at most 4 x len + 1 MiB, beyond `buf` itself. */
rset_status rset_format_pack_header(const rset_header *header, bool extra, uint8_t **buf_out,
                                    size_t *len_out, rset_err *err);
/* Bytes of the packed header, for header->total of 0: all is there but checksums and the neighbours' infos, which have so many bytes
 * together as rset_format_pack_info packs each of them. RSET_NOMEM. */
rset_status rset_format_header_size(const rset_header *header, bool extra, size_t neighbours,
                                    size_t *len_out, rset_err *err);
rset_status rset_format_unpack_header(const uint8_t *buf, size_t len, const char *what,
                                      int member_in_name, rset_header *header_out, rset_err *err);

/* What a descriptor file lists; zeroed: nothing. */
typedef struct rset_descs {
    int        n;
    rset_desc *at; /* owned, freed with free() */
} rset_descs;

/* A descriptor file: own descriptor first, then the left neighbours' in order of distance. On unpack
 * *descs_out, which is filled on success only, is in that order when `rank` (the parent rank in the file's name)
 * is among them, and then has all of its left neighbours; else by ascending member. Every entry is
 * checked, entries must agree on set and scheme; there is at least one. Nothing may follow the container. */
rset_status rset_format_pack_descs(const rset_desc *descs, int n, bool extra, uint8_t **buf_out,
                                   size_t *len_out, rset_err *err);
rset_status rset_format_unpack_descs(const uint8_t *buf, size_t len, const char *what, int rank,
                                     rset_descs *descs_out, rset_err *err);

/* File names (FORMAT.md 1): "<prefix><rank>.redset" and
 * "<prefix><rank>.<scheme>.grp_<g>_of_<G>.mem_<m>_of_<n>.redset". Return a new string, NULL when
 * memory runs out. */
char *rset_format_desc_name(const char *prefix, int rank);
char *rset_format_redundancy_name(const char *prefix, const rset_desc *desc);

/* A file name taken apart. */
typedef struct rset_name {
    size_t             prefix_len;                 /* the name's first bytes, up to the rank */
    int                rank;                       /* parent rank */
    const rset_scheme *scheme;                     /* NULL: a descriptor file */
    int                set, sets, member, members; /* 0-based; valid with a scheme */
} rset_name;

/* True when `name` (no directory) has the form of a descriptor or redundancy file name with all
 * numbers in range and without leading zeros, and a prefix that is not empty. The rank is the longest
 * run of digits before the next dot, so a prefix that ends in a digit is not found again. A name that
 * ends in .mem_<m>_of_<n>.redset is never that of a descriptor. */
bool rset_format_parse_name(const char *name, rset_name *out);

#endif
