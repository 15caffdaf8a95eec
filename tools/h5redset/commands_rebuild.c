/* commands_rebuild.c: h5redset rebuild in one process: each file for itself, from the pieces that can be
 * reached. Under mpiexec see together.h. */
#include "commands.h"
#include "files.h"
#include "look.h"
#include "report.h"
#include "together.h"

#include <stdlib.h>
#include <string.h>

/* Where pieces may be: wherever something was seen. */
static strings
search_list(const options *o, const catalog *c)
{
    strings dirs = {0};

    for (size_t i = 0; i < o->search.n; i++)
        strings_add_once(&dirs, o->search.at[i]);
    for (size_t i = 0; i < c->sightings->n; i++)
        strings_add_once(&dirs, c->sightings->at[i].dir);
    return dirs;
}

static rset_status
bring_back(files *f, int rank, const strings *search, rset_outcome *out, rset_err *err)
{
    const char **dirs = must_alloc((search->n + 1) * sizeof *dirs);
    rset_status  st;

    for (size_t i = 0; i < search->n; i++)
        dirs[i] = search->at[i];
    st = rset_recover_alone(&f->local, rank, &f->evidence, dirs, true, out, err);
    free(dirs);
    return st;
}

/* The file `name` in `dir`; the directory goes again when nothing comes into it. */
static rset_status
bring_back_into(const char *dir, const char *prefix, const char *name, const char *path, int rank,
                bool stale, const strings *search, rset_outcome *out, rset_err *err)
{
    files       f = {0};
    char       *made = NULL;
    rset_status st = rset_dir_make(dir, &made, err);

    if (st == RSET_OK)
        st = files_open(dir, prefix, name, path, false, &f, err);
    if (st == RSET_OK) {
        if (stale) /* what its own redundancy file says is of an old generation */
            rset_evidence_free(&f.evidence);
        st = bring_back(&f, rank, search, out, err);
        files_close(&f);
    }
    if (st != RSET_OK && made != NULL)
        rset_dir_unmake(dir, made);
    free(made);
    return st;
}

static int
tell(const char *path, rset_status st, bool data, const rset_outcome *out, const rset_err *err)
{
    char *safe = shown(path), *text = shown(st == RSET_OK ? out->note : err->text);

    if (st != RSET_OK)
        fprintf(stderr, "h5redset: %s\n", text);
    else if (out->replaced)
        printf("%s: brought back\n", safe);
    else if (out->note[0] != '\0')
        printf("%s\n", text);
    else
        printf("%s: %s\n", safe, data ? "is as it should be" : "redundancy made anew");
    free(safe);
    free(text);
    return st == RSET_OK ? 0 : st == RSET_LOST || st == RSET_ABSENT ? 2 : 1;
}

static int
rebuild_member(const member *m, const strings *search)
{
    rset_err     err = RSET_ERR_NONE;
    rset_outcome out = {0};
    char        *path = member_path(m);
    char        *dir = dir_of(path);
    rset_status  st;
    int          status;

    st = bring_back_into(dir, m->own ? m->seen->prefix : NULL, rset_path_base(path), m->known->path,
                         m->known->desc.rank, m->state == STATE_STALE, search, &out, &err);
    status = tell(path, st, m->state != STATE_BARE, &out, &err);
    free(path);
    free(dir);
    return status;
}

/* A path under which nothing is recorded: pieces were copied elsewhere, and it is known by its name. */
static int
rebuild_named(const char *path, int rank, const strings *search, bool dry)
{
    rset_err     err = RSET_ERR_NONE;
    rset_outcome out = {0};
    char        *dir = dir_of(path);
    rset_status  st;
    int          status;

    if (dry) {
        printf("%s: not recorded under this path; would be looked for by its name\n", path);
        free(dir);
        return 0;
    }
    st = bring_back_into(dir, NULL, rset_path_base(path), path, rank, false, search, &out, &err);
    status = tell(path, st, true, &out, &err);
    free(dir);
    return status;
}

/* Does the catalog have anything at or below this path? */
static bool
is_in_catalog(const catalog *c, const char *path)
{
    strings one = {.n = 1, .at = (char *[]){(char *)path}};

    for (size_t i = 0; i < c->n; i++)
        for (int m = 0; m < c->sets[i].desc.members; m++) {
            char *at = member_path(&c->sets[i].members[m]);
            bool  within = path_is_within(&one, at);

            free(at);
            if (within)
                return true;
        }
    return false;
}

static int
rebuild_set(const cat_set *s, const strings *search, bool dry)
{
    int worst = 0;

    report_hopeless(s);
    for (int i = 0; i < s->desc.members; i++) {
        const member *m = &s->members[i];
        int           status = s->verdict == VERDICT_BEYOND ? 2 : 0;

        if (!m->asked || m->state == STATE_HEALTHY || m->known == NULL)
            continue;
        if (dry && status == 0) {
            char *path = member_path(m), *safe = shown(path);

            printf("%s: would be brought back (%s)\n", safe, state_looks[m->state].word);
            free(path);
            free(safe);
        } else if (status == 0) {
            status = rebuild_member(m, search);
        }
        worst = status > worst ? status : worst;
    }
    return worst;
}

int
command_rebuild(job *j, const options *o, const catalog *c)
{
    strings search;
    int     worst = 0;

    if (j->size > 1)
        return rebuild_together(j, o, c);
    search = search_list(o, c);
    for (size_t i = 0; i < c->n; i++) {
        int status = c->sets[i].asked ? rebuild_set(&c->sets[i], &search, o->dry_run) : 0;

        worst = status > worst ? status : worst;
    }
    for (size_t i = 0; i < o->paths.n; i++)
        if (!is_in_catalog(c, o->paths.at[i])) {
            int status = rebuild_named(o->paths.at[i], o->rank, &search, o->dry_run);

            worst = status > worst ? status : worst;
        }
    strings_free(&search);
    return worst;
}
