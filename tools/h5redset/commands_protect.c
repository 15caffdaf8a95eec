/* commands_protect.c: h5redset protect. */
#include "below.h"
#include "commands.h"
#include "exits.h"
#include "files.h"
#include "looked.h"
#include "owner.h"
#include "parallel.h"
#include "removable.h"
#include "wait.h"

#include "comm/comm_local.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct one {
    char       *path;
    rset_status st;
    rset_err    err;
    char        note[RSET_ERR_TEXT];
} one;

typedef struct many {
    const options *o;
    const job     *j;
    one           *files;
} many;

/* Protecting a file that is not what its redundancy says would make damage look right for ever. */
static rset_status
check_whole(const files *f, rset_err *err)
{
    const rset_evidence *ev = &f->evidence;
    const char          *dir = rset_dir_path(f->dir), *name = f->names[0];
    rset_damage          found = {0};
    bool                 there;
    rset_status          st;

    for (int i = 0; i < f->n; i++) {
        rset_dir *at = rset_local_dir(&f->local, i);

        there = false;
        if (at != NULL && rset_dir_find_file(at, f->names[i], NULL, &there, err) != RSET_OK)
            return err->status;
        if (!there)
            return rset_fail(err, RSET_ABSENT, "%s: no such file%s", f->paths[i],
                             ev->any ? "; it was protected: h5redset rebuild may restore it" : "");
    }
    if (ev->nshadows > 0)
        return rset_fail(err, RSET_IO,
                         "%s/%s: a change was not finished: open it with all its ranks first", dir,
                         name);
    if (!ev->has_header || ev->is_void)
        return RSET_OK;
    st = rset_verify_data(&f->local, &ev->header.infos[0], true, &found, err);
    if (st == RSET_OK && found.unread != 0)
        st = rset_fail_errno(err, RSET_IO, found.unread, "%s/%s: cannot be read", dir, name);
    else if (st == RSET_OK && found.any)
        st = rset_fail(
            err, RSET_DAMAGED,
            "%s/%s: is protected, and not what was protected: restore it with "
            "h5redset rebuild, or if its content is right as it is, h5redset unprotect it "
            "first",
            dir, name);
    rset_damage_free(&found);
    return st;
}

static void
protect_one(rset_comm *world, const options *o, const job *j, one *at)
{
    files        f = {0};
    protect_wish wish = {.all = true,
                         .sets = {.scheme = o->scheme,
                                  .parity = o->parity,
                                  .set_size = o->set_size,
                                  .group = j->host,
                                  .order = world->rank}};
    rset_status  st;

    at->err = RSET_ERR_NONE;
    st = files_open_path(at->path, (files_place){.within = &o->paths}, &f, &at->err);
    if (st == RSET_OK)
        st = files_hold(&f, HOLD_FROM_WRITERS, j, &at->err);
    if (st == RSET_OK)
        st = check_whole(&f, &at->err);
    at->st = protect_parallel(world, &wish, &f, st, at->note, &at->err);
    files_close(&f);
}

static void
protect_thread(rset_comm *world, void *arg)
{
    many *m = arg;

    protect_one(world, m->o, m->j, &m->files[world->rank]);
}

static int
tell(const job *j, const one *at, bool first)
{
    if (wait_tries_again(j, at->st, at->err.text))
        return EXITS_ERROR;
    if (at->st != RSET_OK && first)
        print_error("not protected: %s", at->err.text);
    else if (at->st == RSET_OK)
        print_line(stdout, "%s: protected", at->path);
    if (at->st == RSET_OK && first && at->note[0] != '\0')
        print_error("%s", at->note);
    return at->st == RSET_ABSENT    ? EXITS_NO_PATH
           : at->st == RSET_DAMAGED ? EXITS_REPAIR
                                    : exits_of(at->st);
}

/* One process has a thread for each file; of several each has its own file. */
static int
protect_all(const job *j, const options *o)
{
    many        m = {.o = o, .j = j, .files = must_alloc(o->paths.n * sizeof *m.files)};
    rset_err    err = RSET_ERR_NONE;
    rset_status st = RSET_OK;
    int         worst = 0;

    for (size_t i = 0; i < o->paths.n; i++)
        m.files[i].path = o->paths.at[i];
    if (j->size > 1)
        protect_one(j->comm, o, j, &m.files[0]);
    else
        st = rset_local_run((int)o->paths.n, o->timeout, protect_thread, &m, &err);
    for (size_t i = 0; st == RSET_OK && i < o->paths.n; i++)
        worst = exits_worse(worst, tell(j, &m.files[i], j->rank == 0 && i == 0));
    if (st != RSET_OK)
        print_error("not protected: %s", err.text);
    free(m.files);
    return st == RSET_OK ? worst : EXITS_ERROR;
}

/* `text` with %r replaced. */
static char *
with_rank(const char *text, int rank)
{
    const char *at = strstr(text, "%r");

    return at == NULL ? must_copy(text)
                      : must_print("%.*s%d%s", (int)(at - text), text, rank, at + 2);
}

/* All HDF5 files of a directory, in their order, as those of ranks. False: which rank each is of cannot be told. */
static bool
add_below(const char *dir, strings *own)
{
    const size_t before = own->n;
    size_t       others = 0;
    rset_err     err = RSET_ERR_NONE;
    const bool   all = below_add_files(dir, own, &others, &err);

    if (!all)
        print_error("%s; nothing is protected: it may be one of the files; give permission, or "
                    "name the files themselves",
                    err.text);
    else if (own->n == before)
        print_error("%s: no HDF5 file is in it", dir);
    else if (others > 0)
        print_error("%s: %zu files there are not HDF5, and are left out", dir, others);
    return all;
}

/* Is it a directory? False, which is told: that cannot be known. */
static bool
tell_kind(const char *path, bool *is_directory_out)
{
    rset_err   err = RSET_ERR_NONE;
    const bool known = looked_is_directory(path, is_directory_out, &err) == RSET_OK;

    if (!known)
        print_error("%s; nothing is protected", err.text);
    return known;
}

/* Where each process has one file. */
static bool
add_own(const job *j, const options *o, strings *own)
{
    char      *path = with_rank(o->paths.at[o->paths.n > 1 ? j->rank : 0], j->rank);
    bool       is_directory = false;
    const bool known = tell_kind(path, &is_directory);

    if (is_directory)
        print_error("%s: is a directory: with mpiexec name the file of each process, with %%r for "
                    "its rank",
                    path);
    else if (known)
        strings_add(own, path);
    free(path);
    return known;
}

/* Where one process has all files. */
static bool
add_named(const char *path, strings *own)
{
    bool is_directory = false;

    if (!tell_kind(path, &is_directory))
        return false;
    if (is_directory)
        return add_below(path, own);
    strings_add(own, path);
    return true;
}

int
protect_paths(job *j, const options *o, strings *own_out)
{
    strings own = {0};
    bool    all = true;

    for (size_t i = 0; j->size == 1 && i < o->paths.n; i++)
        all = add_named(o->paths.at[i], &own) && all;
    if (j->size > 1 && o->paths.n != 1 && o->paths.n != (size_t)j->size) {
        if (j->rank == 0)
            print_error("%zu paths for %d processes: name one, with %%r for the rank where names "
                        "differ, or one for each process",
                        o->paths.n, j->size);
    } else if (j->size > 1) {
        all = add_own(j, o, &own);
    }
    if (job_most(j, own.n == 0 || !all) != 0)
        strings_free(&own);
    *own_out = own;
    return !all ? EXITS_ERROR : j->size == 1 ? EXITS_NOTHING : EXITS_USAGE;
}

/* The lowest and the highest owner of files. */
typedef struct span {
    uint64_t low, high;
} span;

static void
merge_spans(void *into, const void *other)
{
    const span *o = other;
    span       *s = into;

    s->low = o->low < s->low ? o->low : s->low;
    s->high = o->high > s->high ? o->high : s->high;
}

rset_status
protect_owner(job *j, const strings *own, uint64_t *owner_out, rset_err *err)
{
    span        all = {UINT64_MAX, 0};
    struct stat sb;
    bool        there = false;
    rset_status st = RSET_OK;

    for (size_t i = 0; i < own->n; i++)
        if (looked_path(own->at[i], false, &sb, &there, err) != RSET_OK)
            st = RSET_IO;
        else if (there) /* of what is missing nothing is known */
            merge_spans(&all, &(span){owner_of(&sb), owner_of(&sb)});
    if (j->comm != NULL)
        st = rset_reduce(j->comm, st, j->host, &(rset_reduction){&all, sizeof all, merge_spans},
                         err);
    if (st == RSET_OK && all.low < all.high)
        st = rset_fail(err, RSET_USAGE,
                       "not protected: files of several owners (%llu and %llu are their numbers): "
                       "what is protected together is of one owner",
                       (unsigned long long)all.low, (unsigned long long)all.high);
    *owner_out = all.low == UINT64_MAX ? owner_self() : all.low;
    return st;
}

/* Nothing is done where what protects the files now, and will go, is needed by others that were protected with them: that was told. */
int
command_protect(job *j, const options *o, const picture *p)
{
    return !o->force && needed_tell(&p->newest, j->rank == 0) ? EXITS_ERROR : protect_all(j, o);
}
