/* publish.c: files that have come get their names, one after the other, and lose them where the files cannot be had. See
 * move_internal.h. */
#include "move_internal.h"

#include <stdio.h>
#include <stdlib.h>

/* A file of this rank that has the name of one that comes goes when that one can be had, and not before. */
static rset_status
name_what_was(rset_move *m)
{
    for (size_t i = 0; i < m->job.nfiles; i++) {
        rset_move_file *f = &m->job.files[i];
        char           *was;
        bool            there;

        if (rset_dir_find_file(m->args.local->dir, f->name, NULL, &there, m->err) != RSET_OK)
            return m->err->status;
        if (!there)
            continue;
        was = rset_move_temp_name(&m->job);
        if (was == NULL)
            return rset_fail(m->err, RSET_NOMEM, "%s: no memory for the names beside it",
                             rset_local_name(m->args.local));
        snprintf(f->was, sizeof f->was, "%s", was);
        free(was);
    }
    return RSET_OK;
}

/* An older generation is listed by its number, and has a names file of its own. */
static rset_status
note_older(rset_move *m)
{
    const rset_local *local = m->args.local;
    rset_status       st = RSET_OK;

    for (size_t i = 0; st == RSET_OK && i < m->job.nfiles; i++) {
        rset_move_file *f = &m->job.files[i];
        char            older[NAME_MAX + 1];

        if (f->older != 0 && rset_name_beside_older(f->name, local->prefix, older) != 0)
            st = rset_move_note(local->dir, older, f->name, &f->noted, m->err);
        else if (f->older != 0)
            st = rset_names_note_kept(local->dir, local->prefix, NULL, 0, f->older, m->err);
    }
    return st;
}

/* All names are noted before the first is given, the temporary ones too: what a crash leaves of them is found (N1). */
static rset_status
note_names(rset_move *m)
{
    const rset_local    *local = m->args.local;
    const rset_move_job *job = &m->job;
    const char         **names = calloc(3 * job->nfiles + 1, sizeof *names);
    size_t               n = 0;
    rset_status          st;

    if (names == NULL)
        return rset_fail(m->err, RSET_NOMEM, "%s: no memory for the names beside it",
                         rset_local_name(local));
    for (size_t i = 0; i < job->nfiles; i++) {
        const char *name = job->files[i].name;

        names[n++] = job->files[i].temp;
        if (job->files[i].was[0] != '\0')
            names[n++] = job->files[i].was;
        if (!rset_move_is_data(local, name) && job->files[i].older == 0)
            names[n++] = name;
    }
    m->noted = rset_move_lacks_names(local->dir, local->prefix);
    st = rset_names_note(local->dir, local->prefix, names, n, m->err);
    free(names);
    return st == RSET_OK ? note_older(m) : st;
}

/* There is a file of that name all the time, but where the file system has no links. */
static rset_status
publish_one(const rset_move *m, rset_move_file *f)
{
    rset_dir   *dir = m->args.local->dir;
    rset_err    own = RSET_ERR_NONE;
    rset_status st = RSET_OK;

    if (f->was[0] != '\0') {
        st = rset_dir_link(dir, f->name, dir, f->was, &own);
        if (st == RSET_USAGE)
            st = rset_dir_rename(dir, f->name, f->was, m->err);
        else if (st != RSET_OK)
            (void)rset_fail_as(m->err, &own);
    }
    if (st == RSET_OK)
        st = rset_dir_rename(dir, f->temp, f->name, m->err);
    if (st == RSET_OK)
        f->temp[0] = '\0';
    return st;
}

/* In which order names are given: what says whose an older generation is has its name before that, and the data files come last. */
typedef enum { OTHERS, OLDER, DATA, STEPS } step;

static step
step_of(const rset_move *m, const rset_move_file *f)
{
    char older[NAME_MAX + 1];

    if (rset_move_is_data(m->args.local, f->name))
        return DATA;
    return f->older != 0 && rset_name_beside_older(f->name, m->args.local->prefix, older) == 0
               ? OLDER
               : OTHERS;
}

/* On disk before the first of them gets its name is all that came before; before a data file, each other one. */
static rset_status
publish_step(rset_move *m, step now)
{
    rset_move_job *job = &m->job;
    bool           begun = now == OTHERS;
    rset_status    st = RSET_OK;

    for (size_t i = 0; st == RSET_OK && i < job->nfiles; i++) {
        if (step_of(m, &job->files[i]) != now)
            continue;
        if (!begun || now == DATA)
            st = rset_dir_sync(m->args.local->dir, m->err);
        begun = true;
        if (st == RSET_OK)
            st = publish_one(m, &job->files[i]);
    }
    return st;
}

rset_status
rset_move_publish(rset_move *m)
{
    rset_status st = name_what_was(m);

    if (st == RSET_OK)
        st = note_names(m);
    for (step now = OTHERS; st == RSET_OK && now < STEPS; now++)
        st = publish_step(m, now);
    return st == RSET_OK ? rset_dir_sync(m->args.local->dir, m->err) : st;
}

void
rset_move_take_back(const rset_move *m)
{
    const rset_local *local = m->args.local;
    char              older[NAME_MAX + 1];

    for (size_t i = m->job.nfiles; i > 0; i--) {
        const rset_move_file *f = &m->job.files[i - 1];

        (void)rset_dir_unlink(local->dir, f->temp[0] == '\0' ? f->name : f->temp, NULL);
        if (f->was[0] != '\0' && rset_dir_rename(local->dir, f->was, f->name, NULL) == RSET_OK)
            (void)rset_dir_unlink(local->dir, f->was, NULL); /* two names of one file stay */
        if (f->noted && rset_name_beside_older(f->name, local->prefix, older) != 0)
            (void)rset_names_forget(local->dir, older, NULL);
    }
    if (m->noted)
        (void)rset_names_forget(local->dir, local->prefix, NULL);
}
