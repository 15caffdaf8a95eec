/* moment_world.c: see moment_world.h. */
#include "moment_world.h"

#include "image.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PIECE = 5000 };

moment_program moment_programs[MOMENT_RANKS];
int            moment_pieces, moment_unwilling;
bool           moment_writes_long;

/* ---- what programs do ---- */

static void
write_piece(moment_program *p)
{
    uint8_t        bytes[PIECE];
    const uint64_t off = (uint64_t)rand_r(&p->seed) % (MOMENT_SIZE - PIECE);
    rset_err       err = RSET_ERR_NONE;

    memset(bytes, (int)rand_r(&p->seed), sizeof bytes);
    if (rset_journal_save(p->journal, off, PIECE, &err) != RSET_OK ||
        rset_journal_save(p->next, off, PIECE, &err) != RSET_OK ||
        rset_file_write(p->file, off, bytes, PIECE, &err) != RSET_OK)
        abort();
}

static void *
write_on(void *arg)
{
    moment_program *p = arg;

    for (int n = 0; n < 4 || !p->enough; n++)
        write_piece(p);
    return NULL;
}

static void
save_copy(moment_program *p)
{
    size_t got = 0;

    p->was = malloc(MOMENT_SIZE);
    if (p->was == NULL || rset_file_read(p->file, 0, p->was, MOMENT_SIZE, &got, NULL) != RSET_OK ||
        got != MOMENT_SIZE)
        abort();
}

static rset_status
change(job *j, int rank, rset_local *local)
{
    job_rank       *k = &j->ranks[rank];
    moment_program *p = &moment_programs[rank];
    rset_status     st;

    *p = (moment_program){.rank = rank, .seed = (unsigned)(rank + 1), .local = local};
    st = rset_change_begin(local, &k->evidence, true, &p->journal, &k->err);
    if (st == RSET_OK)
        st = rset_file_open_update(local->dir, local->names[0], &p->file, &k->err);
    for (int n = 0; st == RSET_OK && n < moment_pieces; n++)
        write_piece(p);
    if (st == RSET_OK)
        st = rset_survey_local(local, &k->evidence, &k->err);
    if (st == RSET_OK)
        st = rset_journal_begin_next(local, &k->evidence, &p->next, &k->err);
    if (st != RSET_OK)
        return st;
    save_copy(p);
    local->next = p->next;
    p->enough = !moment_writes_long;
    p->running = pthread_create(&p->thread, NULL, write_on, p) == 0;
    return rank == moment_unwilling ? rset_fail(&k->err, RSET_USAGE, "this rank does not want to")
                                    : RSET_OK;
}

static void
settle(job *j, int rank, rset_local *local, rset_status st)
{
    moment_program *p = &moment_programs[rank];
    rset_err        err = RSET_ERR_NONE;

    (void)j;
    p->enough = true;
    if (p->running)
        (void)pthread_join(p->thread, NULL);
    if (st == RSET_OK && rset_journal_succeed(p->next, local->names[0], &err) != RSET_OK)
        abort();
    if (st == RSET_OK)
        write_piece(p); /* and on, by the journal that it has become */
    rset_file_close(p->file, NULL);
    if (st == RSET_OK)
        rset_journal_leave(p->next);
    else
        rset_journal_drop(p->next);
    rset_journal_leave(p->journal);
}

void
moment_begin(moment_world *w, const rset_scheme *scheme, int parity)
{
    const size_t size = MOMENT_SIZE;

    w->base = scratch_make();
    job_init(&w->job, w->base, MOMENT_RANKS, scheme, parity, MOMENT_RANKS);
    w->job.keep = 1;
    job_write_data(&w->job, &size, 1, 1);
    assert_int_equal(job_protect(&w->job), RSET_OK);
    w->first = image_take(w->base);
    w->job.change = change;
    w->job.settle = settle;
    moment_pieces = 200;
    moment_unwilling = -1;
    moment_writes_long = true;
}

void
moment_end(moment_world *w)
{
    for (int r = 0; r < MOMENT_RANKS; r++) {
        free(moment_programs[r].was);
        moment_programs[r].was = NULL;
    }
    w->job.change = NULL;
    image_free(&w->first);
    job_free(&w->job);
    remove_tree(w->base);
    free(w->base);
}
