/* hold.c: files that a program has open are not touched. See files.h.
 *
 * HDF5 locks each file that a program opens, and this asks for the same lock. It holds on the node that has the file, so each
 * process asks for the files that it has itself. Where HDF5 is told not to lock (HDF5_USE_FILE_LOCKING=FALSE), what is seen is what
 * the driver claims (names/claim.h), and the undo journal of a file that changes. */
#include "files.h"
#include "wait.h"

#include <stdlib.h>

/* ---- what is waited for ---- */

/* A data file that nobody has open. */
static bool
is_unlocked(const obstacle *o)
{
    rset_dir  *dir = NULL;
    rset_file *file = NULL;
    const bool is = rset_dir_open(o->dir, false, &dir, NULL) != RSET_OK ||
                    rset_file_hold(dir, o->name, o->exclusive, &file, NULL) != RSET_BUSY;

    (void)rset_file_close(file, NULL);
    rset_dir_close(dir);
    return is;
}

/* Nobody has claimed the file whose redundancy files' names begin with o->name. */
static bool
is_unclaimed(const obstacle *o)
{
    rset_err   ignored = RSET_ERR_NONE;
    rset_dir  *dir = NULL;
    rset_file *made = NULL;
    const bool is =
        rset_dir_open(o->dir, false, &dir, NULL) != RSET_OK ||
        rset_claim(dir, o->name, o->dir, RSET_CLAIM_ALONE, &made, &ignored) != RSET_BUSY;

    rset_claim_end(made);
    rset_dir_close(dir);
    return is;
}

/* A program has file `name` of a directory in use: `what` it does. `o`: the lock that it has, which is waited for; NULL: none that
 * could be asked for. */
static rset_status
say_open(const job *j, obstacle *o, rset_dir *dir, const char *name, const char *what,
         rset_err *err)
{
    const char *at = rset_dir_path(dir);
    char       *text = must_print("%s/%s: a program on %s %s", at, name, j->host, what);

    if (o != NULL) {
        o->dir = at;
        o->text = text;
        wait_note(j, o);
    }
    free(text);
    return rset_fail(
        err, RSET_BUSY,
        "%s/%s: a program on %s %s: close it there, or wait until the program has ended, "
        "and try again; nothing was changed",
        at, name, j->host, what);
}

/* ---- holding ---- */

/* Is that held already? */
static rset_status
is_held(const files *f, rset_dir *dir, const char *name, bool *is_out, rset_err *err)
{
    rset_status st = RSET_OK;

    *is_out = false;
    for (int i = 0; st == RSET_OK && !*is_out && i < f->n_held; i++)
        st = rset_file_has_name(dir, name, f->held[i], is_out, err);
    return st;
}

static void
keep(files *f, rset_file *file)
{
    f->held = must_grow(f->held, ((size_t)f->n_held + 1) * sizeof(rset_file *));
    f->held[f->n_held++] = file;
}

/* What is no regular file cannot be locked, nor is it touched. */
static rset_status
hold_one(files *f, rset_dir *dir, const char *name, hold_from from, const job *j, rset_err *err)
{
    rset_err    own = RSET_ERR_NONE;
    rset_file  *file = NULL;
    bool        held = false;
    rset_status st = is_held(f, dir, name, &held, &own);

    if (st == RSET_OK && !held)
        st = rset_file_hold(dir, name, from == HOLD_FROM_ALL, &file, &own);
    if (file != NULL)
        keep(f, file);
    if (st == RSET_BUSY)
        return say_open(
            j,
            &(obstacle){.name = name, .exclusive = from == HOLD_FROM_ALL, .is_free = is_unlocked},
            dir, name, "has it open", err);
    return st == RSET_OK || st == RSET_ABSENT || st == RSET_DAMAGED ? RSET_OK
                                                                    : rset_fail_as(err, &own);
}

/* Of a program that has the file open without HDF5's lock. */
static rset_status
claim(files *f, const job *j, rset_err *err)
{
    rset_err    own = RSET_ERR_NONE;
    rset_file  *made = NULL;
    rset_status st = RSET_OK;

    if (!f->claimed)
        st = rset_claim(f->dir, f->prefix, f->paths[0], RSET_CLAIM_ALONE, &made, &own);
    if (made != NULL)
        keep(f, made);
    f->claimed = f->claimed || made != NULL;
    if (st == RSET_BUSY)
        return say_open(j, &(obstacle){.name = f->prefix, .is_free = is_unclaimed}, f->dir,
                        f->names[0], "has it open to change it", err);
    return st == RSET_OK ? st : rset_fail_as(err, &own);
}

/* A program may write a new file beside the old one, which it is going to replace. */
static rset_status
hold_shadows(const files *f, const job *j, rset_err *err)
{
    rset_status st = RSET_OK;

    for (size_t i = 0; st == RSET_OK && i < f->evidence.nshadows; i++) {
        char      *name = rset_name_of(RSET_NAME_SHADOW, f->prefix, f->evidence.shadows[i]);
        rset_file *guard = NULL;
        bool       used = false;

        if (name == NULL)
            no_memory();
        st = rset_guarded_look(f->dir, name, RSET_GUARD_WRITTEN, &guard, &used, err);
        (void)rset_file_close(guard, NULL);
        free(name);
        if (st == RSET_OK && used)
            st = say_open(j, NULL, f->dir, f->names[0], "is writing it anew", err);
    }
    return st;
}

rset_status
files_hold(files *f, hold_from from, const job *j, rset_err *err)
{
    rset_status st = RSET_OK;

    for (int i = 0; st == RSET_OK && i < f->n; i++)
        if (rset_local_dir(&f->local, i) != NULL)
            st = hold_one(f, rset_local_dir(&f->local, i), f->names[i], from, j, err);
    if (st == RSET_OK) /* a program may have closed it just now */
        st = rset_survey_again(f->dir, f->prefix, f->names[0], &f->evidence, err);
    if (st == RSET_OK && f->evidence.undo.busy)
        st = say_open(j, NULL, f->dir, f->names[0], "is changing it", err);
    if (st == RSET_OK)
        st = claim(f, j, err);
    return st == RSET_OK ? hold_shadows(f, j, err) : st;
}

hold_from
hold_to_rebuild(const files *f)
{
    return f->evidence.is_void || f->evidence.undo.there ? HOLD_FROM_ALL : HOLD_FROM_WRITERS;
}

void
hold_end(files *f)
{
    for (int i = 0; i < f->n_held; i++)
        (void)rset_file_close(f->held[i], NULL);
    free(f->held);
    f->held = NULL;
    f->n_held = 0;
    f->claimed = false;
}
