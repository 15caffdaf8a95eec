/* note.c: the names file is written. See names.h.
 *
 * It is written over: what tears does not check out, and costs a listing. Threads and processes that write it at the same
 * time wait for each other, so that none takes away what the other has added. */
#include "common/thread.h"
#include "names_internal.h"

#include <stdlib.h>
#include <string.h>

enum { TIDY = 4 /* stems, from which on those of files that are gone are dropped */, TRIES = 2000 };

typedef struct note {
    rset_dir   *dir;
    const char *prefix;
    rset_file  *file;
    rset_stems  stems;
    rset_noted  noted;            /* what it said before */
    bool        changed, lasting; /* there is something to write; what must be durable */
} note;

static rset_status
no_memory(const note *w, rset_err *err)
{
    return rset_fail(err, RSET_NOMEM, "%s" RSET_NAME_NAMES ": no memory to write it", w->prefix);
}

/* ---- opening ---- */

/* A writer needs a moment. */
static rset_status
wait_for_lock(note *w, rset_err *err)
{
    for (int i = 0; i < TRIES; i++) {
        if (rset_file_lock(w->file, true))
            return RSET_OK;
        rset_thread_nap(1);
    }
    return rset_fail(err, RSET_IO,
                     "%s: another process has been writing it for %d seconds; is it stopped? End "
                     "it, or let it go on",
                     rset_file_path(w->file), TRIES / 1000);
}

static rset_status
read_locked(note *w, rset_err *err)
{
    uint8_t    *buf = NULL;
    size_t      size = 0, got = 0;
    struct stat sb;
    rset_err    ignored = RSET_ERR_NONE;
    rset_status st = wait_for_lock(w, err);

    w->noted = RSET_NOTED_BAD;
    if (st == RSET_OK && rset_file_stat(w->file, &sb, &ignored) == RSET_OK &&
        sb.st_size <= RSET_NAMES_BYTES)
        size = (size_t)sb.st_size;
    if (st == RSET_OK && (buf = malloc(size + 1)) == NULL)
        st = no_memory(w, err);
    if (st == RSET_OK && rset_file_read(w->file, 0, buf, size, &got, &ignored) == RSET_OK)
        st = rset_stems_unpack(buf, got, w->prefix, &w->stems, &w->noted, err);
    free(buf);
    return st;
}

/* The names file tells of the data file, and is as open as that: *out. *known_out: false where that is not there; until it is,
 * nobody else needs the names. RSET_NOMEM. */
static rset_status
be_as_open_as(const note *w, rset_access *out, bool *known_out, rset_err *err)
{
    const size_t n = strlen(w->prefix);
    char        *data = strndup(w->prefix, n > 0 ? n - 1 : 0); /* without the dot */

    *out = RSET_ACCESS_OWNER;
    *known_out = data != NULL && data[0] != '\0' && rset_file_access(w->dir, data, out);
    if (data == NULL)
        return no_memory(w, err);
    free(data);
    return RSET_OK;
}

/* Where there is no room for it, or another user's has its name, there is none, and the directory is listed (N1, N7). */
static rset_status
create_names(note *w, const char *name, const rset_access *origin, rset_err *err)
{
    rset_err    own = RSET_ERR_NONE;
    struct stat sb;

    if (rset_file_create(w->dir, name, origin, &w->file, &own) == RSET_OK) {
        w->changed = w->lasting = true; /* a new one says nothing yet */
        return RSET_OK;
    }
    if (rset_dir_has_foreign(w->dir, name) ||
        (rset_err_lacks_room(&own) && rset_dir_stat(w->dir, name, &sb, NULL) == RSET_ABSENT))
        return RSET_OK;
    return rset_fail_as(err, &own);
}

/* Is it written over without a second name of it showing that? */
static bool
is_written_over(rset_file *file)
{
    struct stat sb;

    return rset_file_stat(file, &sb, NULL) == RSET_OK && sb.st_nlink == 1;
}

/* One that may not be written, has another name as well, or is something else, is replaced. */
static rset_status
open_names(note *w, rset_err *err)
{
    char       *name = rset_join_names(w->prefix, RSET_NAME_NAMES);
    rset_access origin;
    rset_err    own = RSET_ERR_NONE;
    bool        known;
    rset_status st = be_as_open_as(w, &origin, &known, err);

    if (st == RSET_OK && name == NULL)
        st = no_memory(w, err);
    if (st != RSET_OK) {
        free(name);
        return st;
    }
    st = rset_file_open_update(w->dir, name, &w->file, &own);
    if (st == RSET_OK && !is_written_over(w->file)) {
        (void)rset_file_close(w->file, NULL);
        w->file = NULL;
        st = RSET_ABSENT;
    }
    if (st == RSET_OK) {
        if (known)
            rset_file_follow(w->file, origin);
        st = read_locked(w, err);
    } else if (st == RSET_NOMEM) {
        st = rset_fail_as(err, &own);
    } else {
        st = rset_stems_load(w->dir, w->prefix, &w->stems, &w->noted, err);
        if (st == RSET_OK)
            st = create_names(w, name, &origin, err);
    }
    free(name);
    return st;
}

/* ---- what it says from now on ---- */

/* Is it the name of an older generation, which is listed by its number? */
static bool
is_kept(const rset_names *there, const char *name)
{
    uint64_t generation;

    return rset_name_is_before(name, there->prefix, &generation) &&
           rset_names_has_older(there, generation);
}

/* Until now nobody has noted what is there. */
static rset_status
add_what_is_there(note *w, rset_err *err)
{
    rset_names  there;
    rset_status st = rset_names_known(w->dir, w->prefix, w->noted == RSET_NOTED_BAD, &there, err);

    for (size_t i = 0; st == RSET_OK && i < there.n; i++) {
        bool  fixed = false;
        char *stem =
            is_kept(&there, there.at[i]) ? NULL : rset_stem_of(there.at[i], w->prefix, &fixed);

        if (stem != NULL && !rset_stems_add(&w->stems, stem))
            st = no_memory(w, err);
        free(stem);
    }
    for (size_t i = 0; st == RSET_OK && i < there.nolder; i++)
        if (!rset_older_add(&w->stems, there.older[i]))
            st = no_memory(w, err);
    rset_names_free(&there);
    return st;
}

static bool
is_gone(const char *name, void *arg)
{
    const note *w = arg;
    struct stat sb;

    return rset_dir_stat(w->dir, name, &sb, NULL) == RSET_ABSENT;
}

/* Is any of them not listed yet; and is there one of a redundancy or descriptor file among them? Without memory for that: no, which whoever
 * adds it says. */
static bool
lists_too_few(const note *w, const char *const *names, size_t n, bool *lasting_out)
{
    bool too_few = false;

    *lasting_out = false;
    for (size_t i = 0; i < n; i++) {
        bool  fixed = false;
        char *stem = rset_stem_of(names[i], w->prefix, &fixed);

        too_few = too_few || (!fixed && stem != NULL && !rset_stems_has(&w->stems, stem));
        *lasting_out = *lasting_out || (stem != NULL && rset_stem_is_lasting(stem, w->prefix));
        free(stem);
    }
    return too_few;
}

/* None of the new names is there yet, and one that an earlier commit had made may be listed: so this comes before any is added. What a
 * commit is about to make may be noted while its program notes a journal: so `lasting` ones are dropped by the next commit only. */
static void
drop_what_is_gone(note *w, bool lasting)
{
    size_t kept = 0;

    for (size_t i = 0; i < w->stems.n; i++) {
        if ((lasting || !rset_stem_is_lasting(w->stems.at[i], w->prefix)) &&
            rset_stem_names(w->stems.at[i], w->prefix, is_gone, w))
            free(w->stems.at[i]);
        else
            w->stems.at[kept++] = w->stems.at[i];
    }
    w->stems.n = kept;
}

/* Nothing but the names file tells of what was put aside; that its generation is listed need not be durable yet. */
static bool
is_put_aside(const note *w, const char *name)
{
    rset_name            parsed;
    uint64_t             generation;
    const rset_name_kind kind = rset_name_classify(name, w->prefix, &parsed, &generation);

    return rset_name_role_of(kind) == RSET_ROLE_ASIDE;
}

/* What is kept is listed by its number. */
static bool
is_kept_or_gone(const char *name, void *arg)
{
    const note *w = arg;
    uint64_t    generation;

    return rset_name_is_before(name, w->prefix, &generation) || is_gone(name, arg);
}

static rset_status
drop_stem_of(note *w, uint64_t generation, rset_err *err)
{
    char *name = rset_name_of(RSET_NAME_DATA, w->prefix, generation);
    bool  fixed;
    char *stem = name != NULL ? rset_stem_of(name, w->prefix, &fixed) : NULL;

    if (stem != NULL && rset_stems_has(&w->stems, stem) &&
        rset_stem_names(stem, w->prefix, is_kept_or_gone, w))
        rset_stems_remove(&w->stems, stem);
    free(name);
    if (stem == NULL)
        return no_memory(w, err);
    free(stem);
    return RSET_OK;
}

/* Need not be durable: when the machine has been started again the directory is listed. */
static rset_status
add_older(note *w, uint64_t generation, rset_err *err)
{
    rset_older *there;

    if (rset_older_is(&w->stems, generation, &there))
        return RSET_OK;
    w->changed = true;
    return rset_older_add(&w->stems, (rset_older){.generation = generation})
               ? drop_stem_of(w, generation, err)
               : no_memory(w, err);
}

static rset_status
add(note *w, const char *name, rset_err *err)
{
    rset_status st = RSET_OK;
    bool        fixed;
    char       *stem = rset_stem_of(name, w->prefix, &fixed);

    if (is_put_aside(w, name))
        w->changed = w->lasting = true;
    if (!fixed && stem == NULL)
        st = no_memory(w, err);
    else if (!fixed && !rset_stems_has(&w->stems, stem)) {
        w->changed = true;
        w->lasting = w->lasting || rset_stem_is_lasting(stem, w->prefix);
        if (!rset_stems_add(&w->stems, stem))
            st = no_memory(w, err);
    }
    free(stem);
    return st;
}

/* Too many for it: then it is one that says nothing. */
static rset_status
write_names(note *w, rset_err *err)
{
    size_t      len = 0;
    uint8_t    *buf = rset_stems_pack(&w->stems, &len);
    rset_status st;

    if (buf == NULL)
        return no_memory(w, err);
    st = w->stems.many || len > RSET_NAMES_BYTES ? rset_file_resize(w->file, 0, err)
                                                 : rset_file_write(w->file, 0, buf, len, err);
    free(buf);
    if (st == RSET_OK && (w->lasting || w->noted != RSET_NOTED_GOOD))
        st = rset_file_sync(w->file, err);
    if (st != RSET_OK) /* nobody may take for durable what is not */
        (void)rset_file_resize(w->file, 0, NULL);
    return st;
}

/* `kept`: an older generation, 0: none. */
static rset_status
update(note *w, const char *const *names, size_t n, uint64_t kept, rset_err *err)
{
    rset_status st = RSET_OK;
    bool        lasting;

    if (w->noted != RSET_NOTED_GOOD)
        st = add_what_is_there(w, err);
    if (st == RSET_OK && w->stems.n >= TIDY && lists_too_few(w, names, n, &lasting))
        drop_what_is_gone(w, lasting);
    for (size_t i = 0; st == RSET_OK && i < n; i++)
        st = add(w, names[i], err);
    if (st == RSET_OK && kept != 0)
        st = add_older(w, kept, err);
    if (st != RSET_OK || (w->noted == RSET_NOTED_GOOD && !w->changed))
        return st;
    return write_names(w, err);
}

rset_status
rset_names_note(rset_dir *dir, const char *prefix, const char *const *names, size_t n,
                rset_err *err)
{
    return rset_names_note_kept(dir, prefix, names, n, 0, err);
}

rset_status
rset_names_note_kept(rset_dir *dir, const char *prefix, const char *const *names, size_t n,
                     uint64_t generation, rset_err *err)
{
    note        w = {.dir = dir, .prefix = prefix};
    rset_status st = open_names(&w, err);

    if (st == RSET_OK && w.file != NULL)
        st = update(&w, names, n, generation, err);
    if (rset_file_close(w.file, err) != RSET_OK && st == RSET_OK)
        st = err->status;
    rset_stems_free(&w.stems);
    return st;
}

rset_status
rset_names_note_temporary(rset_dir *dir, const char *prefix, const char *name, rset_err *err)
{
    rset_stems  stems;
    rset_noted  noted;
    rset_status st = rset_stems_load(dir, prefix, &stems, &noted, err);
    bool        fixed, listed = false;
    char       *stem = rset_stem_of(name, prefix, &fixed);

    if (st == RSET_OK && stem == NULL)
        st = rset_fail(err, RSET_NOMEM, "%s: no memory for its name", name);
    if (st == RSET_OK)
        listed = noted != RSET_NOTED_GOOD || rset_stems_has(&stems, stem);
    rset_stems_free(&stems);
    free(stem);
    return st != RSET_OK || listed ? st : rset_names_note(dir, prefix, &name, 1, err);
}

/* ---- what becomes of an older generation ---- */

/* Opens the names file that there is; one that does not count, or is not written over, stays as it is. The generation in it; NULL: none.
 * `w` is to be ended in any case. */
static rset_older *
open_older(note *w, uint64_t generation)
{
    char       *name = rset_join_names(w->prefix, RSET_NAME_NAMES);
    rset_err    ignored = RSET_ERR_NONE;
    rset_older *one = NULL;

    if (name != NULL && rset_file_open_update(w->dir, name, &w->file, &ignored) == RSET_OK &&
        is_written_over(w->file) && read_locked(w, &ignored) == RSET_OK &&
        w->noted == RSET_NOTED_GOOD)
        (void)rset_older_is(&w->stems, generation, &one);
    free(name);
    return one;
}

static void
end_older(note *w)
{
    (void)rset_file_close(w->file, NULL);
    rset_stems_free(&w->stems);
}

void
rset_names_forget_older(rset_dir *dir, const char *prefix, uint64_t generation)
{
    note              w = {.dir = dir, .prefix = prefix};
    rset_err          ignored = RSET_ERR_NONE;
    const rset_older *one = open_older(&w, generation);

    if (one != NULL) {
        rset_older_remove(&w.stems, one);
        (void)write_names(&w, &ignored);
    }
    end_older(&w);
}

void
rset_names_note_refused(rset_dir *dir, const char *prefix, uint64_t generation, bool refused)
{
    note        w = {.dir = dir, .prefix = prefix};
    rset_err    ignored = RSET_ERR_NONE;
    rset_older *one = open_older(&w, generation);

    if (one != NULL && one->refused != refused) {
        one->refused = refused;
        (void)write_names(&w, &ignored);
    }
    end_older(&w);
}

rset_status
rset_names_forget(rset_dir *dir, const char *prefix, rset_err *err)
{
    char       *name = rset_join_names(prefix, RSET_NAME_NAMES);
    rset_status st = name != NULL ? rset_dir_unlink(dir, name, err)
                                  : rset_fail(err, RSET_NOMEM, "%s: no memory", prefix);

    free(name);
    return st;
}
