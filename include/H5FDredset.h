/**
 * @file H5FDredset.h
 * @brief The HDF5 file driver "redset": files that are rebuilt after a node was lost.
 *
 * The driver writes plain HDF5 files through a lower driver (sec2 unless told otherwise). When a file
 * that was written is closed, the ranks of a communicator protect their files together: each keeps
 * some redundancy of the others'. When it is opened again, ranks whose file is missing or damaged get
 * it back first. See docs/configuration.md for the settings, each also available as a key of a
 * configuration string:
 *
 *     HDF5_DRIVER=redset HDF5_DRIVER_CONFIG="scheme=RS checksums=2"     no change to the program
 *     H5Pset_driver_by_name(fapl, "redset", "scheme=RS checksums=2");  no link with this library
 *     H5Pset_fapl_redset(fapl, &config);                                all settings
 *
 * The functions here are not under the lock of a thread-safe HDF5: a program with several threads calls them
 * from one at a time, and from none while another one is in HDF5. As those of HDF5 they begin with an empty error stack,
 * H5FD_redset_minor alone leaves it as it is.
 */
#ifndef H5FDredset_H
#define H5FDredset_H

#include <hdf5.h>
#include <mpi.h>

/** Is visible outside the library, which hides the rest. */
#if defined(__GNUC__)
#define H5FD_REDSET_EXPORT __attribute__((visibility("default")))
#else
#define H5FD_REDSET_EXPORT
#endif

/** Name of the driver, as in HDF5_DRIVER and H5Pset_driver_by_name. */
#define H5FD_REDSET_NAME "redset"

/** Number of the driver, as in H5Pset_driver_by_value. 256 to 511 are for drivers without a registered
 *  number; another one can be chosen when the library is built. */
#ifndef H5FD_REDSET_VALUE
#define H5FD_REDSET_VALUE ((H5FD_class_value_t)511)
#endif

/** Identifier of the driver; registers it when needed. H5I_INVALID_HID if that fails. */
#define H5FD_REDSET (H5FD_redset_init())

/** First field of every H5FD_redset_config_t. */
#define H5FD_REDSET_CONFIG_MAGIC 0x52534554u

/** Second field of every H5FD_redset_config_t: the layout of this header. */
#define H5FD_REDSET_CONFIG_VERSION 2u

/** Bytes of H5FD_redset_config_t::failure_group, with the final NUL. */
#define H5FD_REDSET_GROUP_SIZE 64

/** Bytes of H5FD_redset_config_t::files, H5FD_redset_config_t::search, H5FD_redset_config_t::report,
 *  H5FD_redset_config_t::root and H5FD_redset_config_t::together, with the final NUL. */
#define H5FD_REDSET_TEXT_SIZE 1024

/** Bytes of H5FD_redset_config_t::generation, with the final NUL. */
#define H5FD_REDSET_GENERATION_SIZE 264

/** H5FD_redset_config_t::keep: all generations, `keep=all` of a configuration string, in which 0 is an error. */
#define H5FD_REDSET_KEEP_ALL 0

/** Bytes of H5FD_redset_config_t::job, H5FD_redset_config_t::team and H5FD_redset_status_t::label, with the final NUL. */
#define H5FD_REDSET_LABEL_SIZE 256

/** How redundancy is made. */
typedef enum H5FD_redset_scheme_t {
    H5FD_REDSET_SINGLE = 0,  /**< none: files are only checked and described; survives no loss, and
                                needs no other ranks and no MPI */
    H5FD_REDSET_PARTNER = 1, /**< whole copies on `replicas` other members */
    H5FD_REDSET_XOR = 2,     /**< one parity: one member of a set may be lost */
    H5FD_REDSET_RS = 3       /**< Reed-Solomon: `checksums` members of a set may be lost */
} H5FD_redset_scheme_t;

/** What is checked before the content of a protected file is believed. */
typedef enum H5FD_redset_verify_t {
    H5FD_REDSET_VERIFY_OPEN =
        0, /**< all of it when ranks open together, and what protects it in the
                                      background; else block by block, when first read */
    H5FD_REDSET_VERIFY_READ = 1, /**< block by block, when first read */
    H5FD_REDSET_VERIFY_SIZE = 2, /**< that it exists and has its size */
    H5FD_REDSET_VERIFY_ALL = 3   /**< as OPEN, and what protects it before the open returns */
} H5FD_redset_verify_t;

/** Whether files follow ranks that were started on other nodes than those that have them. */
typedef enum H5FD_redset_moved_t {
    H5FD_REDSET_MOVED_YES = 0,  /**< they are brought to their ranks, and removed where they were */
    H5FD_REDSET_MOVED_COPY = 1, /**< the same, and stay where they were as well */
    H5FD_REDSET_MOVED_NO = 2    /**< they count as lost */
} H5FD_redset_moved_t;

/** What becomes of files that another program has changed since they were protected. */
typedef enum H5FD_redset_changed_t {
    H5FD_REDSET_CHANGED_RESTORE =
        0, /**< they come back as they were protected; the changed ones are put aside */
    H5FD_REDSET_CHANGED_KEEP =
        1 /**< they are opened as they are, and protected so, if nothing else is lost */
} H5FD_redset_changed_t;

/** When a file that was created or changed is protected. */
typedef enum H5FD_redset_commit_t {
    H5FD_REDSET_COMMIT_CLOSE = 0, /**< in H5Fclose, and when H5FDredset_commit is called */
    H5FD_REDSET_COMMIT_FLUSH = 1  /**< in each H5Fflush as well */
} H5FD_redset_commit_t;

/**
 * Why a call has failed, where a program can do something about it without reading the text: minor numbers of
 * the error records of class "redset". Other failures have minor numbers of HDF5 (H5E_WRITEERROR, say).
 */
typedef enum H5FD_redset_reason_t {
    H5FD_REDSET_REASON_USAGE = 0,   /**< an argument, a setting or the order of calls is wrong */
    H5FD_REDSET_REASON_BUSY = 1,    /**< another process uses the file: try again later */
    H5FD_REDSET_REASON_DAMAGED = 2, /**< content is not what was recorded, and is not restored */
    H5FD_REDSET_REASON_PEER_MISSING = 3,  /**< another rank did not come in time, has left, or has
                           done something else with files of this kind */
    H5FD_REDSET_REASON_UNRECOVERABLE = 4, /**< refused: more is lost than the scheme covers, or
                           nobody can tell which content counts. Nothing was changed */
    H5FD_REDSET_REASON_CHANGED =
        5, /**< content is neither what was recorded nor what this program has written: it is
                           not protected, and what was protected last comes back at the next open */
    H5FD_REDSET_REASONS = 6 /**< how many there are */
} H5FD_redset_reason_t;

/** Minor numbers to compare those of error records with, as HDF5's own H5E_CANTOPENFILE is used. */
#define H5FD_REDSET_E_USAGE   (H5FD_redset_minor(H5FD_REDSET_REASON_USAGE))
#define H5FD_REDSET_E_BUSY    (H5FD_redset_minor(H5FD_REDSET_REASON_BUSY))    /**< as above */
#define H5FD_REDSET_E_DAMAGED (H5FD_redset_minor(H5FD_REDSET_REASON_DAMAGED)) /**< as above */
#define H5FD_REDSET_E_PEER_MISSING                                                                 \
    (H5FD_redset_minor(H5FD_REDSET_REASON_PEER_MISSING)) /**< as above */
#define H5FD_REDSET_E_UNRECOVERABLE                                                                \
    (H5FD_redset_minor(H5FD_REDSET_REASON_UNRECOVERABLE))                     /**< as above */
#define H5FD_REDSET_E_CHANGED (H5FD_redset_minor(H5FD_REDSET_REASON_CHANGED)) /**< as above */

/**
 * Settings of the driver in a file access property list. Begin with H5FD_redset_config_init(), which
 * fills in the defaults given here; every byte counts when property lists are compared. New members come at the end, and zero is
 * their default: a program that was compiled with this header goes on working with a later driver.
 */
typedef struct H5FD_redset_config_t {
    unsigned magic;   /**< H5FD_REDSET_CONFIG_MAGIC */
    unsigned version; /**< H5FD_REDSET_CONFIG_VERSION */
    size_t   size;    /**< sizeof(H5FD_redset_config_t), of the program's header */
    MPI_Comm comm;    /**< The ranks that protect each other's files. MPI_COMM_NULL: MPI_COMM_WORLD,
                           and no MPI at all in a process that does not use it. H5Pset_fapl_redset duplicates
                           it. H5Pset_driver does not: there it has to stay until the last file that was opened
                           with it is closed. */
    hid_t    fapl_id; /**< Property list of the lower driver, which must keep a file in one ordinary
                           file of that name. H5P_DEFAULT: sec2. */
    double timeout;  /**< Seconds that ranks wait for each other before they return an error; 300 */
    int    scheme;   /**< An H5FD_redset_scheme_t; H5FD_REDSET_XOR */
    int    set_size; /**< Wanted members of a set; 8 */
    int replicas; /**< Copies made by PARTNER, and of files that `root` names, 1 to members - 1; 1 */
    int checksums; /**< Parities made by RS, 1 to members - 1; 2 */
    int verify;    /**< An H5FD_redset_verify_t; H5FD_REDSET_VERIFY_OPEN */
    int required;  /**< Not zero: H5Fclose of a file that could not be protected fails; zero: it
                           succeeds, with a warning. 1 here, 0 by configuration string */
    int atomic;    /**< Not zero: a protected file's old content can be restored until its new
                           content is protected. Zero: it is changed in place. 1 */
    int readonly_rebuild; /**< Not zero: an open for reading, too, rebuilds what is lost. Zero: it
                           writes nothing, and fails where something is lost or damaged. 1 */
    int moved;            /**< An H5FD_redset_moved_t; H5FD_REDSET_MOVED_YES */
    int keep; /**< Generations of a file that can be had, the newest counted: so many of its last
                           protected contents. H5FD_REDSET_KEEP_ALL, which is 0: all. 1 */
    int fallback; /**< Not zero: where the newest generation cannot be had, all ranks open the newest that can,
                           with a warning. Zero: the open fails, and the error says which older one is kept. 0 */
    int changed; /**< An H5FD_redset_changed_t; H5FD_REDSET_CHANGED_RESTORE */
    int commit;  /**< An H5FD_redset_commit_t; H5FD_REDSET_COMMIT_CLOSE */
    int async; /**< Not zero: H5Fclose returns when the file itself is closed, and it is protected in
                           the background; see H5FDredset_wait. Needs MPI_THREAD_MULTIPLE. 0 */
    char failure_group[H5FD_REDSET_GROUP_SIZE]; /**< What this rank is lost together with: ranks of
                           one failure group are put into different sets. "": the host name */
    char files[H5FD_REDSET_TEXT_SIZE];  /**< Patterns of the files that are protected, separated by
                           commas; all others pass through. "": every file */
    char search[H5FD_REDSET_TEXT_SIZE]; /**< More directories, at most 64, to look for files
                           and redundancy in, separated by colons. "" */
    char report[H5FD_REDSET_TEXT_SIZE]; /**< Where rank 0 writes in MPI_Finalize what protection has
                           cost all ranks: a file that is appended to, or "stderr". "": nowhere */
    char root[H5FD_REDSET_TEXT_SIZE]; /**< Patterns of files that one rank writes and all may open:
                           protected by their writer alone, and copied to `replicas` other members. "" */
    char together
        [H5FD_REDSET_TEXT_SIZE]; /**< patterns of files of each rank that are committed together, separated by commas: the files
                                    of one directory that match are protected when the last of them is closed, all or none; "": none */
    char generation
        [H5FD_REDSET_GENERATION_SIZE]; /**< Which generation of a file is opened for reading: "-1" the one
                           before the newest, "-2" the one before that; a number: the one with that count of commits;
                           16 hexadecimal digits: that one; "label:NAME": the newest with that label. "": the newest */
    char job
        [H5FD_REDSET_LABEL_SIZE]; /**< The job that protects the files, recorded with them. "": that
                           of Slurm (SLURM_JOB_ID), if there is one */
    int  parity; /**< The number that goes with `scheme`, in one word for all schemes, as in H5FD_redset_status_t: used
                           instead of `replicas` or `checksums`. 0: those say it */
    char team
        [H5FD_REDSET_LABEL_SIZE]; /**< Ranks of `comm` with one text protect each other's files, and wait for
                           nobody else, once all ranks have come together the first time. The same for all files of a
                           process. "" is a text, too */
} H5FD_redset_config_t;

/**
 * What protection has cost one process so far: files and bytes of their content, and seconds. Each
 * moment that the driver takes for protection is in one of the parts of `total`, and in no other;
 * writing and reading the HDF5 files itself is not in here, with one exception: what is read to protect
 * or verify them. New members come at the end, and `size` tells how many there are.
 */
typedef struct H5FD_redset_stats_t {
    size_t size; /**< in: sizeof(H5FD_redset_stats_t); out: the bytes that were filled in */
    unsigned long long files_protected;   /**< closed with redundancy on the other ranks, or encoded
                           again when they were opened */
    unsigned long long bytes_protected;   /**< in these files */
    unsigned long long files_verified;    /**< opened, and the whole content compared with what was
                           recorded; blocks that are compared when first read count as bytes only */
    unsigned long long bytes_verified;    /**< in these files and blocks */
    unsigned long long files_rebuilt;     /**< lost or damaged, and rebuilt */
    unsigned long long bytes_rebuilt;     /**< in these files */
    unsigned long long files_unprotected; /**< closed, and could not be protected */
    double             total;      /**< Seconds of all parts below together, but `background` */
    double             background; /**< Seconds of `total` that were the background's (async) */
    double rendezvous; /**< waiting until all ranks have come to open or close their files */
    double reading;    /**< reading files, to encode, verify or rebuild them */
    double arithmetic; /**< checksums and parity */
    double sending;    /**< moving data between ranks */
    double writing;    /**< writing redundancy, undo journals, rebuilt files */
    double syncing;    /**< until the disk has them (fsync) */
    double waiting;    /**< waiting for other ranks in the middle of an encode or a rebuild */
    double other;      /**< all the rest: names, headers, decisions */
} H5FD_redset_stats_t;

/** What an open did about the file of this rank; of several things the one with the largest number. */
typedef enum H5FD_redset_did_t {
    H5FD_REDSET_DID_NOT_ASK = 0, /**< nothing was asked: nobody protects it, it was created, or
                           this process has not opened it */
    H5FD_REDSET_DID_NOTHING = 1, /**< nothing was needed, or could be done */
    H5FD_REDSET_DID_COPY = 2,    /**< it lay where another rank runs now, and was copied here */
    H5FD_REDSET_DID_MOVE = 3,    /**< the same, and was removed there */
    H5FD_REDSET_DID_REBUILD = 4, /**< it was lost or damaged, and is back */
    H5FD_REDSET_DID_FORWARD = 5, /**< the commit in which a job had died was finished */
    H5FD_REDSET_DID_BACK = 6,    /**< it was rolled back to what was protected last */
    H5FD_REDSET_DID_REFUSE = 7,  /**< the open has failed; `why` has the reason */
    H5FD_REDSET_DID_FALL_BACK =
        8 /**< the newest generation cannot be had, and an older one was opened */
} H5FD_redset_did_t;

/** What is known of one file. New members come at the end, and `size` tells how many there are. */
typedef struct H5FD_redset_status_t {
    size_t size; /**< in: sizeof(H5FD_redset_status_t); out: the bytes that were filled in */
    unsigned long long generation; /**< The commit that protected it last, a number that is the same
                           on all ranks; 0: there is none, or its writer records none */
    unsigned long long commits;    /**< its upper 24 bits: how many times the file was protected. Of
                           no meaning where `root` names the file */
    int                scheme;     /**< An H5FD_redset_scheme_t; -1: nothing protects it */
    int                parity; /**< replicas of PARTNER, checksums of RS, 1 for XOR, 0 for SINGLE */
    int                ranks;  /**< that were protected together; 0: nothing protects it */
    int is_protected; /**< 1: what protects it is there, and it has not changed since; content is
                           not compared. 0: not so, see `why` */
    int did;          /**< What the last open of it by this process did, an H5FD_redset_did_t */
    unsigned long long ranks_concerned; /**< ranks whose open then did more than nothing */
    unsigned long long ranks_rebuilt;   /**< and whose file was lost or damaged, and is back */
    char why[H5FD_REDSET_TEXT_SIZE];    /**< Why it is not protected, a sentence; "": it is */
    unsigned long long time; /**< seconds since 1970, UTC, of that commit; 0: not recorded */
    char label[H5FD_REDSET_LABEL_SIZE]; /**< the text that a program gave that commit; "": none */
    unsigned long long
        opened; /**< The generation that the last open of it by this process has opened,
                           which may be an older one (`generation`, `fallback`); 0: none, or not known */
    unsigned long long opened_commits;                       /**< its upper 24 bits */
    unsigned long long opened_time;                          /**< as `time`, of that one */
    char               opened_label[H5FD_REDSET_LABEL_SIZE]; /**< as `label`, of that one */
    /** What it is to this process, which has it open through the driver: "tentative" (not used yet), "refused", "clean", "changed",
     * "created", "shadow" (created beside the old file, which has the name); the last four with ", in doubt" while nobody knows
     * whether a commit counts. "": it is not open. */
    char state[32];
} H5FD_redset_status_t;

/**
 * One generation of a file: what a commit has protected. New members come at the end, and `size` tells how many there are.
 */
typedef struct H5FD_redset_generation_t {
    size_t
        size; /**< in, of the first of a list: sizeof(H5FD_redset_generation_t); out, of each: the
                           bytes that were filled in */
    unsigned long long generation; /**< The commit, a number that is the same on all ranks */
    unsigned long long commits;    /**< its upper 24 bits, the number that `generation` of
                           H5FD_redset_config_t takes: how many times the file was protected until then */
    unsigned long long time;       /**< seconds since 1970, UTC; 0: not recorded */
    int scheme;    /**< An H5FD_redset_scheme_t; -1: nothing in its directory protects it */
    int parity;    /**< as in H5FD_redset_status_t */
    int ranks;     /**< that were protected together; 0: nothing protects it */
    int is_newest; /**< 1: it has the file's name; 0: it is kept beside (`keep`) */
    unsigned long long file_size; /**< of the data file, bytes */
    unsigned long long
         bytes; /**< that it takes on this rank's disk: the data file, and what protects
                           it and others there. What two generations share counts with the newer one */
    int  is_here; /**< 1: data and what protects it are there, with the recorded sizes; content is not compared.
                           0: not so, see `why`; other ranks may be able to restore it */
    char label[H5FD_REDSET_LABEL_SIZE]; /**< the text that a program gave that commit; "": none */
    char why[H5FD_REDSET_TEXT_SIZE];    /**< Why it is not here, a sentence; "": it is */
} H5FD_redset_generation_t;

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Registers the driver with HDF5 unless it is registered already, by this library or as a plugin.
 *
 * @return Its identifier, which belongs to the library; H5I_INVALID_HID on failure.
 */
H5FD_REDSET_EXPORT hid_t H5FD_redset_init(void);

/**
 * The minor number of error records that have this reason. It belongs to the library, is the same until HDF5 is closed, and
 * may be asked for in the middle of H5Ewalk2: the error stack stays as it is.
 *
 * @param[in] reason Why a call may fail.
 * @return The number; H5I_INVALID_HID: there is no such reason.
 */
H5FD_REDSET_EXPORT hid_t H5FD_redset_minor(H5FD_redset_reason_t reason);

/**
 * Fills a configuration with the defaults, unused bytes with zero. For languages that do not read this header;
 * others call H5FD_redset_config_init.
 *
 * @param[out] config Any content; NULL does nothing.
 * @param[in]  size   Bytes that there are of it, at least those of the first version; else nothing is done.
 */
H5FD_REDSET_EXPORT void H5FD_redset_config_fill(H5FD_redset_config_t *config, size_t size);

/**
 * Fills a configuration with the defaults, unused bytes with zero.
 *
 * @param[out] config Any content; NULL does nothing.
 */
static inline void
H5FD_redset_config_init(H5FD_redset_config_t *config)
{
    H5FD_redset_config_fill(config, sizeof *config);
}

/**
 * Makes a file access property list use the driver. Collective over config->comm unless that is
 * MPI_COMM_NULL: the communicator is duplicated here (waiting at most config->timeout seconds), when it
 * is given for the first time; all property lists made with it share the duplicate, and all files opened
 * with them. It is kept until MPI_Finalize, because another rank may use it longer than this one does. When
 * a rank died or was stopped in the middle of something, it is of no use any more: give another
 * communicator. Property list and communicator given may be released right after this call.
 *
 * @param[in] fapl_id A file access property list.
 * @param[in] config  The settings; NULL: the defaults, changed by what HDF5_DRIVER_CONFIG says
 *                    (unless HDF5_DRIVER names another driver).
 * @return Not negative on success. On failure an error record names the setting, its value and what
 *         is possible, and fapl_id is unchanged.
 */
H5FD_REDSET_EXPORT herr_t H5Pset_fapl_redset(hid_t fapl_id, const H5FD_redset_config_t *config);

/**
 * Tells the settings in a property list that uses the driver, however they were given.
 *
 * @param[in]     fapl_id    A file access property list.
 * @param[in,out] config_out Its `size` says how large it is, as H5FD_redset_config_init sets it; filled with the settings.
 *                           Their communicator and lower property list belong to fapl_id: valid as long as that, not to
 *                           be freed. Unchanged on failure.
 * @return Not negative on success; negative if fapl_id does not use the driver, what that was given is wrong, or `size` is
 *         less than that of the first version.
 */
H5FD_REDSET_EXPORT herr_t H5Pget_fapl_redset(hid_t fapl_id, H5FD_redset_config_t *config_out);

/**
 * Waits until what goes on in the background for a file (H5FD_redset_config_t::async) is complete. Returns at
 * once when nothing does. Local: ranks need not call it together. Not so while a file waits for the others of its group (`together`):
 * it is protected without them then, which all ranks have to do.
 *
 * @param[in] path The file, by any of its names; NULL: all files that this process has closed.
 * @return Not negative: the file is protected, or it is not and that is no error (`required`); a warning
 *         says so. Negative: it could not be protected, or for NULL one of them; an error record tells why,
 *         once: to the first who asks, opens or closes the file, at the latest, in words, in MPI_Finalize.
 */
H5FD_REDSET_EXPORT herr_t H5FDredset_wait(const char *path);

/**
 * Tells whether H5FDredset_wait would return at once, without waiting.
 *
 * @param[in]  path     As there.
 * @param[out] done_out 1: nothing goes on, and the result is that of H5FDredset_wait; 0: something does.
 * @return As H5FDredset_wait when nothing goes on, else not negative.
 */
H5FD_REDSET_EXPORT herr_t H5FDredset_test(const char *path, int *done_out);

/**
 * Tells what protection has cost this process so far. Local: ranks need not call it together, and it waits for
 * nobody; what goes on in the background is counted when it is complete (H5FDredset_wait). May be called at
 * any time, also after MPI_Finalize.
 *
 * @param[in]     path      One file: the figures of all files of its kind, those whose base names differ in their
 *                          numbers only; it need not exist. NULL: of all files of this process.
 * @param[in,out] stats_out Its `size` says how large it is; the rest is filled in. All zero where nothing was
 *                          protected.
 * @return Not negative on success; negative if `size` is less than this header's, then nothing is changed.
 */
H5FD_REDSET_EXPORT herr_t H5FDredset_stats(const char *path, H5FD_redset_stats_t *stats_out);

/**
 * Tells what is known of one file: which commit protects it and whether that still holds, by what its directory says now;
 * and what the last open of it did, if that was this process's. Local: ranks need not call it together, it waits for nobody,
 * and writes nothing. What goes on in the background counts when it is complete (H5FDredset_wait). Of files that this process
 * has used long ago, after hundreds of others, only what the directory says is known.
 *
 * @param[in]     path       A file of this rank; it may be open, and need not exist. Of files that HDF5 does not open: the
 *                           first.
 * @param[in,out] status_out Its `size` says how large it is; the rest is filled in.
 * @return Not negative on success. Negative, and nothing is changed: `size` is less than that of the first version of the
 *         struct, or the directory cannot be read.
 */
H5FD_REDSET_EXPORT herr_t H5FDredset_status(const char *path, H5FD_redset_status_t *status_out);

/**
 * Tells which generations of one file there are, newest first, by what its directory says now: the newest, which has the file's name,
 * and older ones that are kept (`keep`). Local, as H5FDredset_status: it waits for nobody, and writes nothing. A rank that has lost
 * some does not see them; the others do.
 *
 * @param[in]     path A file of this rank; it may be open, and need not exist.
 * @param[in,out] list Room for *n of them, of which the first one's `size` says how large each is; filled with the newest.
 *                     NULL where *n is 0.
 * @param[in,out] n    in: how many the list has room for; out: how many there are, which may be more. 0: nothing protects
 *                     the file.
 * @return Not negative on success. Negative, and *n is unchanged: `size` is less than that of the first version of the
 *         struct, or the directory cannot be read.
 */
H5FD_REDSET_EXPORT herr_t H5FDredset_generations(const char *path, H5FD_redset_generation_t *list,
                                                 size_t *n);

/**
 * Files of this rank that belong together are protected together, as with `together` of H5FD_redset_config_t: when H5Fclose has
 * closed the last of them, in one commit, all or none, also where the job dies in it. Until then none of them is protected anew. To
 * be called by each rank with its own files, in the same order on all, before they are closed; it holds for each time that they
 * are, and may be said again. Local.
 *
 * @param[in] paths 2 to 8 files, all in one directory, which need not be there yet.
 * @param[in] n     How many.
 * @return Negative: there are fewer or more, one is given twice, or they are in several directories.
 */
H5FD_REDSET_EXPORT herr_t H5FDredset_group(const char *const *paths, size_t n);

/**
 * Protects a file that stays open: flushes it, and protects what it is then, as H5Fclose would. The program goes on with it as
 * with a file opened just now, and may commit it again; a job that is killed any time later finds what was committed last, on all
 * ranks. What is in the file is what H5Fflush puts there: all that was written before the call, complete as HDF5 sees it.
 * Only what has changed is encoded, where the file has kept its size.
 *
 * Collective over the ranks that protect files of this kind, like H5Fclose, which a rank may call instead for the last time;
 * ranks that have changed nothing come as well. A file of one rank (`root`) is committed by that rank alone.
 *
 * With `atomic` zero, and of a file that was opened with H5F_ACC_SWMR_WRITE, the commit counts until the file next changes: no old
 * content is kept.
 *
 * With `async` the call does not wait for the other ranks: what the file is now is protected in the background while it is written
 * on, and H5FDredset_wait tells what came of it, or the next commit, which is tried all the same. Not so the first commit of a file
 * that was created.
 *
 * @param[in] file_id A file that this driver has open to be changed; any id of that file.
 * @return Not negative: all ranks' files are protected as they are. Negative on all ranks, whatever `required` says: none is;
 *         what was committed last is still what a crash goes back to. The file can be used as before, and a later commit may
 *         succeed, with two exceptions: HDF5 could not write the file itself, then only H5Fclose is left; or ranks have died
 *         in the middle of the commit, then the file may not change any more, since some may have completed it. Also: it
 *         is no such file, or one that nobody protects; then other ranks wait for this one.
 */
H5FD_REDSET_EXPORT herr_t H5FDredset_commit(hid_t file_id);

/**
 * Gives the next commit of a file a name: the one at its H5FDredset_commit or H5Fclose, if any rank has changed its file by then. It is recorded in
 * what protects the files, and told by H5FDredset_status and h5redset. Local: one rank that gives a label is enough; of
 * several that of the lowest rank counts. Called again before the close it replaces the text.
 *
 * @param[in] file_id A file that this driver has open to be changed.
 * @param[in] text    1 to 255 bytes of printable UTF-8, without line ends; copied.
 * @return Not negative on success. Negative: it is no such text, or no such file.
 */
H5FD_REDSET_EXPORT herr_t H5FDredset_label(hid_t file_id, const char *text);

/*
 * Files of any format, which HDF5 does not open: the restart files of a program, say. Each rank names its own, which are
 * complete on disk and closed, and calls these functions together with all others:
 *
 *     write files, close them; H5FDredset_protect_files(paths, n, NULL);
 *     at the start: if (H5FDredset_recover_files(paths, n, NULL) == 0) read them;
 *
 * The rules are the same for all three.
 *   - Collective over config->comm, MPI_COMM_WORLD if that is MPI_COMM_NULL: every rank calls the same function, and
 *     H5Fclose and H5Fopen of other files come before or after it on all ranks. A rank that does not come is waited for
 *     `timeout` seconds (less, if it did not come before, and has not been heard of since); then the others return an error
 *     that names it, and nothing was done. It is told the same when it comes, and is in step again at the next call.
 *   - `paths`, borrowed: `n` files of this rank, at least one, in any directories, which may be private to its node. `n` may
 *     differ by rank. The first names the redundancy files, which lie beside it (`FIRST.<rank>...`): keep it the first.
 *   - `config`: as for H5Pset_fapl_redset; NULL: the defaults, changed by what HDF5_DRIVER_CONFIG says. Of its members
 *     only comm, timeout, scheme, set_size, replicas, checksums, moved, failure_group and report count.
 *   - What cannot be done is an error on all ranks, whatever `required` says. The error record has the file, and the rank
 *     and host that found it.
 */

/**
 * Protects files as they are on disk now. All files of all ranks together have one generation: after a crash in the middle
 * either what was protected before counts, or this. A program that writes new content over protected files has neither
 * until this function has returned: it should take two sets of names in turn. `keep` says nothing for such files.
 *
 * @param[in] paths  Files of this rank, `n` of them; borrowed.
 * @param[in] n      How many, at least 1.
 * @param[in] config With whom and how they are protected; NULL: the defaults, changed by HDF5_DRIVER_CONFIG.
 * @return Not negative: all are protected. Negative: none is, or what was protected before still is, if its content is.
 */
H5FD_REDSET_EXPORT herr_t H5FDredset_protect_files(const char *const *paths, int n,
                                                   const H5FD_redset_config_t *config);

/**
 * Brings back what is lost or damaged of files that were protected by H5FDredset_protect_files, with the same paths in the
 * same order on each rank. All content is verified, redundancy too. Directories are made where they are missing.
 *
 * @param[in] paths  Files of this rank, `n` of them; borrowed.
 * @param[in] n      How many, at least 1.
 * @param[in] config With whom and how they are protected; NULL: the defaults, changed by HDF5_DRIVER_CONFIG.
 * @return 0: all files are there, as they were protected last, and are protected. 1: no rank has any sign that such files
 *         were ever protected; nothing was changed, and whether they are there was not looked at. Negative: refused. More is
 *         lost than the scheme covers, and nothing was changed; or the files are there, and the content of some of them
 *         cannot be verified or protected again: the error record tells which.
 */
H5FD_REDSET_EXPORT herr_t H5FDredset_recover_files(const char *const *paths, int n,
                                                   const H5FD_redset_config_t *config);

/**
 * Removes all that protects these files: H5FDredset_recover_files returns 1 then. The files stay as they are; those that are
 * lost stay lost.
 *
 * @param[in] paths  Files of this rank, `n` of them; borrowed.
 * @param[in] n      How many, at least 1.
 * @param[in] config With whom and how they are protected; NULL: the defaults, changed by HDF5_DRIVER_CONFIG.
 * @return Not negative: nothing protects them any more, or nothing did. Negative: nothing was removed on any rank, because
 *         a rank has such a file open through the driver; or not all could be.
 */
H5FD_REDSET_EXPORT herr_t H5FDredset_unprotect_files(const char *const *paths, int n,
                                                     const H5FD_redset_config_t *config);

/**
 * Gives a protected file of each rank another name, together with what protects it: what `mv` alone would leave behind. A file
 * that has the new name already is replaced. All ranks' files get their new names, or none does; after a crash all ranks
 * find the same content under one of the two names. The data is read and encoded once more, and is not copied.
 *
 * Collective over the ranks that protect files of this kind: those of the communicator with which this process has closed or
 * opened such a file last, else MPI_COMM_WORLD, without those that have none (H5FDredset_skip). H5Fclose and H5Fopen of other files
 * come before or after it on all ranks.
 * The file must not be open.
 *
 * @param[in] old_path This rank's file. What is lost or damaged of it is restored first.
 * @param[in] new_path Its new name, in a directory that exists, on the same file system.
 * @return Not negative: all files have their new names, and are protected. Negative: none has, if the error record does not
 *         say that only the old names could not be removed. Files that are not protected are refused.
 */
H5FD_REDSET_EXPORT herr_t H5FDredset_rename(const char *old_path, const char *new_path);

/**
 * Removes one older generation of a file, on all ranks: its content, and what protects that. What is older or newer stays.
 *
 * Collective over the ranks that protect files of this kind, as H5FDredset_rename. The file itself may be open.
 *
 * @param[in] path       This rank's file. A rank that has lost it, or the generation, takes part all the same.
 * @param[in] generation Which one, as H5FDredset_generations tells it; the same on all ranks.
 * @return Not negative: it is gone. Negative: nothing was removed on any rank, because it is the newest, no rank has it, or
 *         one has it open; or it could not be removed everywhere, then what is left goes with another call, or when a later
 *         commit would have removed it.
 */
H5FD_REDSET_EXPORT herr_t H5FDredset_drop(const char *path, unsigned long long generation);

/**
 * Says that this rank of MPI_COMM_WORLD has no files whose names match, and will neither open nor close one: nobody waits for it
 * from now on. The files of the other ranks are protected and rebuilt among those ranks, as by a communicator of their own; it is not
 * needed for that, and does not come. Ranks that wait for it already go on. It cannot be undone: if this rank uses such a file
 * after all, that is not protected.
 *
 * Not collective: called by the ranks that have no such files, once for each pattern, at any time. The first use of the driver is
 * different: all ranks of a job have to come together once, and as for a file it is waited for that, at most `timeout`. So where
 * ranks skip before the others have files, all call it at the start, those that skip nothing with NULL.
 *
 * @param[in] pattern Names as for `files`, one pattern; the names of the files of all ranks match it, or of none. Files that
 *                    `root` names have all ranks. NULL or "": nothing is skipped, ranks only come together.
 * @return Not negative: it was said, or nobody has to be told: there is no MPI, or one rank. Negative: not all ranks have come
 *         together in time, and nothing was said.
 */
H5FD_REDSET_EXPORT herr_t H5FDredset_skip(const char *pattern);

#ifdef __cplusplus
}
#endif

#endif /* H5FDredset_H */
