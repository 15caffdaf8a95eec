/* comm_mpi_first_words.c: words between the ranks that come for the first time, and for the user. See comm_mpi_first_internal.h. */
#include "comm_mpi_first_internal.h"

#include "comm_mpi_fault.h"

#include <stdio.h>
#include <stdlib.h>

#include "comm_mpi_calls.h"

rset_status
rset_first_failed(const rset_first *f, int rc, rset_err *err)
{
    return rset_mpi_failed(f->parent, rc, "bringing the ranks of the communicator together", err);
}

rset_status
rset_first_listen(rset_first *f, rset_err *err)
{
    bool root = f->rank == 0;
    int  rc = MPI_Irecv(&f->in, (int)sizeof f->in, MPI_BYTE, root ? MPI_ANY_SOURCE : 0,
                       root ? f->tag : f->tag + 1, f->parent, &f->posted);

    return rc == MPI_SUCCESS ? RSET_OK : rset_first_failed(f, rc, err);
}

void
rset_first_reap(rset_first *f)
{
    for (rset_first_sent **at = &f->sent; *at != NULL;) {
        rset_first_sent *s = *at;
        int              done = 0;

        if (MPI_Test(&s->request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        s->busy = false;
        if (!s->kept)
            free(s);
    }
}

rset_status
rset_first_hear(rset_first *f, rset_word *out, int *from_out, bool *found_out, rset_err *err)
{
    MPI_Status status = {0};
    int        done = 0, rc = MPI_Test(&f->posted, &done, &status);

    *found_out = done != 0;
    if (rc != MPI_SUCCESS)
        return rset_first_failed(f, rc, err);
    if (!done)
        return rset_mpi_whole(f->parent, err);
    f->taken++;
    *out = f->in;
    *from_out = status.MPI_SOURCE;
    return rset_first_listen(f, err);
}

static rset_first_sent *
new_sent(rset_first *f, int to)
{
    rset_first_sent *s = calloc(1, sizeof *s), *blank = &f->blanks[to];

    if (s != NULL)
        return s;
    rset_first_reap(f);
    if (blank->busy)
        return NULL;
    *blank = (rset_first_sent){.kept = true, .busy = true};
    return blank;
}

rset_status
rset_first_say(rset_first *f, int to, rset_word w, rset_err *err)
{
    rset_first_sent *s = new_sent(f, to);
    int              rc;

    if (s == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for a message");
    s->word = w;
    rc = MPI_Isend(&s->word, (int)sizeof s->word, MPI_BYTE, to, to == 0 ? f->tag : f->tag + 1,
                   f->parent, &s->request);
    if (rc != MPI_SUCCESS) {
        s->busy = false;
        if (!s->kept)
            free(s);
        return rset_first_failed(f, rc, err);
    }
    s->next = f->sent;
    f->sent = s;
    return RSET_OK;
}

/* ---- texts ---- */

enum { WHO = RSET_FIRST_NAMED * 12 + 16 };

static const char *
name_missing(const rset_word *no, char who_out[WHO])
{
    size_t used = 0;
    int    n = no->missing < RSET_FIRST_NAMED ? no->missing : RSET_FIRST_NAMED;

    who_out[0] = '\0';
    for (int i = 0; i < n; i++)
        used +=
            (size_t)snprintf(who_out + used, WHO - used, "%s%d", i > 0 ? ", " : "", no->missed[i]);
    if (no->missing > RSET_FIRST_NAMED)
        snprintf(who_out + used, WHO - used, " and others");
    return who_out;
}

rset_status
rset_first_missing(rset_first *f, const rset_word *no, double waited, rset_err *err)
{
    char who[WHO];

    f->missing = *no;
    f->waited = waited;

    if (f->others.needy >= 0)
        return rset_fail(err, RSET_PEER,
                         "rank %d cannot have its file by itself; timed out after %.3g s waiting "
                         "for rank %s",
                         f->others.needy, waited, name_missing(no, who));
    if (no->failed > 0)
        return rset_fail(err, RSET_PEER, "rank %d could not create its file", no->failed - 1);
    if (f->apart == RSET_APART_SILENT)
        return rset_fail(err, RSET_PEER, "rank 0 has not answered for %.3g s", waited);
    return rset_fail(err, RSET_PEER, "timed out after %.3g s waiting for rank %s", waited,
                     name_missing(no, who));
}

/* The others begin later: where rank 0 waits as well, that says it. */
void
rset_first_say_waiting(const rset_first *f, double start, double timeout, const rset_word *no)
{
    char who[WHO];

    if (rset_comm_long_wait(start, f->rank == 0 ? RSET_LONG_WAIT : 3 * RSET_LONG_WAIT))
        rset_comm_say_waiting("for rank %s, at most %g s (timeout=): not all ranks have opened or "
                              "closed such a file yet",
                              name_missing(no, who), timeout);
}
