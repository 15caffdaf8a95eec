/* h5err.c: see h5err.h. */
#include "h5err.h"

#include "H5FDredset.h"
#include "comm/mpi/comm_mpi.h"
#include "said.h"
#include "team.h"

#include <ctype.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { STACK_ROOM = 32, PLACE = RSET_HOST_NAME + 64 /* of what `where` says */ };

static hid_t class_id = H5I_INVALID_HID;

/* Reasons that programs branch on, as they are printed behind "minor:". */
static struct reason {
    rset_status status;
    const char *words;
    hid_t       id;
} reasons[H5FD_REDSET_REASONS] = {
    [H5FD_REDSET_REASON_USAGE] = {RSET_USAGE, "Wrong use of redset", H5I_INVALID_HID},
    [H5FD_REDSET_REASON_BUSY] = {RSET_BUSY, "File is used by another process", H5I_INVALID_HID},
    [H5FD_REDSET_REASON_DAMAGED] = {RSET_DAMAGED, "Content is damaged", H5I_INVALID_HID},
    [H5FD_REDSET_REASON_PEER_MISSING] = {RSET_PEER, "Other ranks are missing", H5I_INVALID_HID},
    [H5FD_REDSET_REASON_UNRECOVERABLE] = {RSET_LOST, "Unrecoverable", H5I_INVALID_HID},
    [H5FD_REDSET_REASON_CHANGED] = {RSET_CHANGED, "Content was changed", H5I_INVALID_HID}};

/* The class must exist before the first record is pushed: registering clears the stack. */
static void
ensure_class(void)
{
    if (class_id > 0)
        return;
    class_id = H5Eregister_class("redset", "hdf5_vfd_redset", "0.1.0");
    for (int i = 0; class_id > 0 && i < H5FD_REDSET_REASONS; i++)
        reasons[i].id = H5Ecreate_msg(class_id, H5E_MINOR, reasons[i].words);
}

void
rset_h5err_terminate(void)
{
    class_id = H5I_INVALID_HID; /* HDF5 frees what is left of it, and of its messages */
}

/* The minor number of a status that programs branch on; else `general`. */
static hid_t
minor_of(rset_status status, hid_t general)
{
    for (int i = 0; i < H5FD_REDSET_REASONS; i++)
        if (reasons[i].status == status && reasons[i].id > 0)
            return reasons[i].id;
    return general;
}

static void
silence(rset_h5err_scope *scope)
{
    scope->is_v2 = 1;
#ifndef H5_NO_DEPRECATED_SYMBOLS
    (void)H5Eauto_is_v2(H5E_DEFAULT, &scope->is_v2);
    if (!scope->is_v2) {
        (void)H5Eget_auto1(&scope->print.v1, &scope->print_arg);
        (void)H5Eset_auto1(NULL, NULL);
        return;
    }
#endif
    (void)H5Eget_auto2(H5E_DEFAULT, &scope->print.v2, &scope->print_arg);
    if (scope->print.v2 != NULL)
        (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

static void
unsilence(const rset_h5err_scope *scope)
{
#ifndef H5_NO_DEPRECATED_SYMBOLS
    if (!scope->is_v2) {
        (void)H5Eset_auto1(scope->print.v1, scope->print_arg);
        return;
    }
#endif
    if (scope->print.v2 != NULL)
        (void)H5Eset_auto2(H5E_DEFAULT, scope->print.v2, scope->print_arg);
}

bool
rset_h5err_paused(void)
{
    bool paused = false;

#if H5_VERSION_GE(1, 14, 5)
    if (H5Eis_paused(H5E_DEFAULT, &paused) < 0)
        return false;
#endif
    return paused;
}

/* ---- who mutes errors shall hear of a refusal ---- */

/* Of this thread: scopes within scopes, of which the outermost knows what the program has set; and what was refused in it. */
static _Thread_local int  depth;
static _Thread_local char refused[RSET_ERR_TEXT + PLACE];

/* Is this the rank that the message says was waited for? */
static bool
has_not_come(int rank, const char *text)
{
    char        words[32];
    const int   n = snprintf(words, sizeof words, "for rank %d", rank);
    const char *at = strstr(text, words);

    return at != NULL && isdigit((unsigned char)at[n]) == 0;
}

/* Is it for this rank to say? Who found it says it. What all have come to the first one says, unless that is what has not come. */
static bool
is_own(const rset_err *err)
{
    const rset_team_numbers ranks = rset_team_numbers_met();
    const int               own = rset_mpi_usable() ? ranks.own : -1;

    switch (err->status) {
    case RSET_PEER:
    case RSET_LOST:
        return err->rank == own || (err->rank < 0 && own == ranks.first) ||
               has_not_come(ranks.first, err->text);
    case RSET_DAMAGED:
    case RSET_BUSY:
    case RSET_CHANGED: return err->rank < 0 || err->rank == own;
    default: return false;
    }
}

static void
note_refusal(const rset_err *err, const char *place)
{
    if (depth > 0 && refused[0] == '\0' && is_own(err) && !rset_h5err_paused())
        snprintf(refused, sizeof refused, "%s%s", err->text, place);
}

/* Each kind once. */
static void
say_refusal(const rset_h5err_scope *scope, bool failed)
{
    bool muted = scope->print.v2 == NULL;

#ifndef H5_NO_DEPRECATED_SYMBOLS
    muted = scope->is_v2 ? muted : scope->print.v1 == NULL;
#endif
    if (failed && muted && refused[0] != '\0')
        rset_said(refused, 1);
    refused[0] = '\0';
}

void
rset_h5err_enter(rset_h5err_scope *scope)
{
    memset(scope, 0, sizeof *scope);
    depth++;
    scope->earlier = rset_h5err_take();
    silence(scope);
    ensure_class();
}

hid_t
rset_h5err_take(void)
{
    return H5Eget_num(H5E_DEFAULT) > 0 ? H5Eget_current_stack() : H5I_INVALID_HID;
}

void
rset_h5err_put(hid_t records)
{
    if (records > 0)
        (void)H5Eset_current_stack(records); /* closes it too */
}

typedef struct first_record {
    char  *buf;
    size_t size;
} first_record;

static herr_t
copy_first(unsigned n, const H5E_error2_t *record, void *arg)
{
    const first_record *to = arg;

    if (n == 0 && record->desc != NULL)
        snprintf(to->buf, to->size, "%s", record->desc);
    return 0;
}

void
rset_h5err_first(hid_t records, char *buf, size_t size)
{
    first_record to = {buf, size};

    buf[0] = '\0';
    if (records > 0)
        (void)H5Ewalk2(records, H5E_WALK_UPWARD, copy_first, &to);
}

void
rset_h5err_leave(rset_h5err_scope *scope, bool failed)
{
    hid_t since = rset_h5err_take();

    if (scope->earlier <= 0 && failed)
        rset_h5err_put(since);
    else {
        /* HDF5 writes beyond a full stack: append only while there is surely room */
        if (failed && since > 0 && H5Eget_num(scope->earlier) < STACK_ROOM)
            (void)H5Eappend_stack(scope->earlier, since, true);
        else if (since > 0)
            (void)H5Eclose_stack(since);
        rset_h5err_put(scope->earlier);
    }
    if (--depth == 0)
        say_refusal(scope, failed);
    unsilence(scope);
}

/* " (rank 3 on node1)", " (rank 1 of its communicator on node1)" where a program gave one; without MPI there are no ranks. */
static void
where(const rset_err *err, char *buf, size_t size)
{
    const rset_team_numbers ranks = rset_team_numbers_met();
    char                    host[RSET_HOST_NAME] = "";
    bool                    mpi = rset_mpi_usable();
    int                     rank = err->rank;

    if (err->host[0] != '\0')
        snprintf(host, sizeof host, "%s", err->host);
    else {
        (void)gethostname(host, sizeof host - 1);
        if (rank < 0 && mpi)
            rank = ranks.own;
    }
    if (rank >= 0 && mpi)
        snprintf(buf, size, " (rank %d%s on %s)", rank, ranks.others ? " of its communicator" : "",
                 host);
    else
        snprintf(buf, size, " (on %s)", host);
}

void
rset_h5err_push(const char *file, const char *func, unsigned line, hid_t major, hid_t minor,
                const rset_err *err)
{
    const char *base = strrchr(file, '/');
    char        place[PLACE];

    if (err == NULL || err->status == RSET_OK)
        return;
    where(err, place, sizeof place);
    note_refusal(err, place);
    (void)H5Epush2(H5E_DEFAULT, base ? base + 1 : file, func, line, class_id, major,
                   minor_of(err->status, minor), "%s%s", err->text, place);
}

void
rset_h5err_warn(const char *text)
{
    rset_said(text, RSET_SAID_MANY);
}

static void
warn_here(const rset_err *err, int most)
{
    char place[PLACE], text[RSET_ERR_TEXT + PLACE];

    where(err, place, sizeof place);
    snprintf(text, sizeof text, "%s%s", err->text, place);
    rset_said(text, most);
}

void
rset_h5err_warn_here(const rset_err *err)
{
    warn_here(err, RSET_SAID_MANY);
}

void
rset_h5err_warn_once(const rset_err *err)
{
    warn_here(err, 1);
}

/* Where the driver has pushed a record already, nothing is asked of HDF5: the caller may be in the middle of H5Ewalk2. */
hid_t
H5FD_redset_minor(H5FD_redset_reason_t reason)
{
    rset_h5err_scope scope;

    if (reason < 0 || reason >= H5FD_REDSET_REASONS)
        return H5I_INVALID_HID;
    if (class_id <= 0) {
        rset_h5err_enter(&scope);
        rset_h5err_leave(&scope, false);
    }
    return reasons[reason].id;
}
