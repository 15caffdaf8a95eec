/* find.c: which names of ours are there. See names.h. */
#include "names_internal.h"
#include "store/recall.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct search {
    rset_dir   *dir;
    rset_names *to;
    rset_whose  whose;
    rset_stems
         noted; /* what the names file lists; of older generations also what is found to be one */
    char former[NAME_MAX + 1]; /* a name that an earlier release gave; "": none was seen */
    bool redundancy;           /* a redundancy file is among them */
    bool bad_list;             /* the names file says nothing */
    bool nomem;
} search;

/* A name that was looked at: the file that it leads to. */
typedef struct sighting {
    rset_name_kind kind;
    uint64_t
        beside; /* the older generation that it protects, which is of a prefix of its own; 0: none */
    rset_status st; /* of looking at it */
    struct stat sb;
} sighting;

/* ---- collecting ---- */

/* Adds the name, whether it is ours or not, the file is there or not, and the name known already or not. */
static bool
collect(const char *name, void *arg)
{
    search     *s = arg;
    rset_names *to = s->to;

    if (to->n == to->room) {
        size_t room = to->room > 0 ? 2 * to->room : 8;
        char **grown = realloc(to->at, room * sizeof *grown);

        s->nomem = grown == NULL;
        if (s->nomem)
            return false;
        to->at = grown;
        to->room = room;
    }
    to->at[to->n] = strdup(name);
    s->nomem = to->at[to->n] == NULL;
    to->n += !s->nomem;
    return !s->nomem;
}

/* A name that was there: it may have another suffix now. */
static bool
collect_all_of(const char *name, void *arg)
{
    search *s = arg;
    bool    fixed;
    char   *stem = rset_stem_of(name, s->to->prefix, &fixed);

    if (rset_name_is_former(name, s->to->prefix))
        snprintf(s->former, sizeof s->former, "%s", name);
    if (stem != NULL)
        (void)rset_stem_names(stem, s->to->prefix, collect, s);
    free(stem);
    return !s->nomem && collect(name, s);
}

static bool
is_published(rset_name_kind kind)
{
    return kind == RSET_NAME_PLAIN || kind == RSET_NAME_VOID || kind == RSET_NAME_REDO;
}

static rset_name_kind
kind_of(const search *s, const char *name)
{
    rset_name parsed;
    uint64_t  generation;

    return rset_name_classify(name, s->to->prefix, &parsed, &generation);
}

/* Why it does not count; NULL: it does, as a file that cannot be looked at. */
static const char *
why_not(const search *s, const sighting *seen)
{
    return seen->st == RSET_OK ? rset_whose_not(&s->whose, seen->kind, &seen->sb) : NULL;
}

/* Beside another user's data file that of this one has been protected: then what is his counts, whatever has the file's name. */
static void
settle_whose(search *s, const sighting *seen)
{
    rset_whose *w = &s->whose;

    if (w->mine || w->trust.uid == w->data.st_uid)
        return;
    for (size_t i = 0; i < s->to->n; i++)
        if (seen[i].st == RSET_OK && seen[i].beside == 0 && why_not(s, &seen[i]) == NULL)
            return;
    w->trust.uid = w->data.st_uid;
}

static void
note_foreign(rset_foreign *f, const char *name, const struct stat *sb, const char *why)
{
    if (f->n++ > 0)
        return;
    snprintf(f->name, sizeof f->name, "%s", name);
    f->why = why;
    f->uid = sb->st_uid;
}

/* One that is not ours says nothing. */
static void
look_at_list(search *s)
{
    char       *name = rset_join_names(s->to->prefix, RSET_NAME_NAMES);
    struct stat sb;
    const char *why = name != NULL && rset_dir_stat(s->dir, name, &sb, NULL) == RSET_OK
                          ? rset_whose_not(&s->whose, RSET_NAME_LIST, &sb)
                          : NULL;

    if (why != NULL && (S_ISREG(sb.st_mode) || !rset_trusts(&s->whose.trust, &sb)))
        note_foreign(&s->to->foreign, name, &sb, why);
    s->nomem = s->nomem || name == NULL;
    free(name);
}

/* Drops names of files that are gone, and those that are not ours or that of the names file. */
static void
look_at_all(search *s, sighting *seen)
{
    rset_names *to = s->to;
    size_t      kept = 0;
    char        older[NAME_MAX + 1];

    for (size_t i = 0; i < to->n; i++) {
        sighting *at = &seen[kept];

        at->st = rset_dir_stat(s->dir, to->at[i], &at->sb, NULL);
        at->kind = at->st != RSET_ABSENT ? kind_of(s, to->at[i]) : RSET_NAME_LIST;
        at->beside =
            at->kind == RSET_NAME_OTHER ? rset_name_beside_older(to->at[i], to->prefix, older) : 0;
        if (at->kind == RSET_NAME_LIST || (at->kind == RSET_NAME_OTHER && at->beside == 0))
            free(to->at[i]);
        else
            to->at[kept++] = to->at[i];
    }
    to->n = kept;
}

/* Generations of which there is something that protects them as older ones. Ascending names: the newest first. */
static void
note_older(search *s, const sighting *seen)
{
    for (size_t i = s->to->n; i > 0 && !s->nomem; i--)
        if (seen[i - 1].beside != 0 && why_not(s, &seen[i - 1]) == NULL)
            s->nomem = !rset_older_add(&s->noted, (rset_older){.generation = seen[i - 1].beside});
}

/* Drops those that do not count, and those of other prefixes. */
static void
drop_foreign(search *s, const sighting *seen)
{
    rset_names *to = s->to;
    size_t      kept = 0;

    for (size_t i = 0; i < to->n; i++) {
        const char *why = why_not(s, &seen[i]);

        if (seen[i].beside != 0) {
            free(to->at[i]);
            continue;
        }
        if (why != NULL &&
            (S_ISREG(seen[i].sb.st_mode) || !rset_trusts(&s->whose.trust, &seen[i].sb)))
            note_foreign(&to->foreign, to->at[i], &seen[i].sb,
                         why); /* what is in one's own way one has made */
        if (why != NULL) {
            free(to->at[i]);
            continue;
        }
        s->redundancy = s->redundancy || is_published(seen[i].kind);
        to->at[kept++] = to->at[i];
    }
    to->n = kept;
}

/* Leaves the names of files that count. Each is looked at and classified once; most names that may be there are not. */
static void
leave_out(search *s)
{
    rset_names *to = s->to;
    sighting   *seen;

    to->n = rset_leave_out_doubles(
        to->at, to->n); /* all at once: others can put any number of names there */
    s->redundancy = false;
    to->foreign = (rset_foreign){0};
    seen = calloc(to->n + 1, sizeof *seen);
    s->nomem = s->nomem || seen == NULL;
    if (seen != NULL) {
        look_at_all(s, seen);
        settle_whose(s, seen);
        note_older(s, seen);
        drop_foreign(s, seen);
    }
    free(seen);
    if (s->bad_list)
        look_at_list(s);
    s->whose.trust.foreign = to->foreign.n > 0;
    rset_dir_trust(s->dir, &s->whose.trust);
}

/* Is it a name of this file that was seen? Its owner has made it then, as all that counts. */
static bool
is_of_former(const search *s)
{
    struct stat sb;

    return s->former[0] != '\0' && rset_dir_stat(s->dir, s->former, &sb, NULL) == RSET_OK &&
           rset_whose_not(&s->whose, RSET_NAME_UNDO, &sb) == NULL;
}

static rset_status
outcome(const search *s, rset_status st, rset_err *err)
{
    return st == RSET_OK && s->nomem
               ? rset_fail(err, RSET_NOMEM, "%s: no memory for the names in it",
                           rset_dir_path(s->dir))
               : st;
}

/* What an earlier release has left is not touched, nor what lies beside it: there is no list then, by which anything could be removed. */
static rset_status
unless_former(const search *s, rset_status st, rset_err *err)
{
    if (st != RSET_OK || !is_of_former(s))
        return st;
    rset_names_free(s->to);
    return rset_fail(err, RSET_USAGE,
                     "%s/%s: was left by an earlier release of redset, which alone can tell what "
                     "is in it: nothing was changed; open and close the files with that release "
                     "and keep=1, or remove what protects them with its h5redset unprotect",
                     rset_dir_path(s->dir), s->former);
}

/* ---- by the names file, and by what is known of the directory ---- */

/* The undo journal of a file that was never protected: it is made without a word in the names file. */
static bool
collect_fixed(search *s)
{
    static const rset_name_kind fixed[] = {RSET_NAME_BEGUN, RSET_NAME_UNDO};

    for (size_t i = 0; i < sizeof fixed / sizeof *fixed && !s->nomem; i++) {
        char *name = rset_name_of(fixed[i], s->to->prefix, 0);

        s->nomem = name == NULL || !collect(name, s);
        free(name);
    }
    return !s->nomem;
}

static rset_status
by_stems(search *s, bool all, rset_err *err)
{
    const rset_stems *stems = &s->noted;

    for (size_t i = 0; i < stems->n && !s->nomem; i++)
        (void)rset_stem_names(stems->at[i], s->to->prefix, collect, s);
    for (size_t i = 0; all && i < stems->nolder && !s->nomem; i++)
        (void)rset_older_names(stems->older[i].generation, s->to->prefix, collect, s);
    if (!s->nomem)
        (void)collect_fixed(s);
    leave_out(s);
    return outcome(s, RSET_OK, err);
}

static rset_status
by_directory(search *s, const struct timespec *since, rset_err *err)
{
    const rset_recall what = {.word = RSET_NAMES_WORD, .prefix = s->to->prefix, .since = since};
    rset_status       st = rset_dir_recall(s->dir, &what, collect_all_of, s, err);

    if (st == RSET_OK && !s->nomem)
        (void)collect_fixed(s);
    leave_out(s);
    return outcome(s, st, err);
}

/* The list of older generations is believed, as the rest of the names file is. */
static void
take_older(search *s)
{
    s->to->older = s->noted.older;
    s->to->nolder = s->noted.nolder;
    s->noted.older = NULL;
    s->noted.nolder = 0;
}

/* Leaves those older generations in the list of which there is something. */
static void
leave_out_older(search *s)
{
    rset_names *to = s->to;
    bool       *there = calloc(s->noted.nolder + 1, sizeof *there);
    uint64_t    generation = 0;
    rset_older *one;
    size_t      n = 0;

    s->nomem = s->nomem || there == NULL;
    for (size_t i = 0; !s->nomem && i < to->n; i++)
        if (rset_name_is_before(to->at[i], to->prefix, &generation) &&
            rset_older_is(&s->noted, generation, &one))
            there[one - s->noted.older] = true;
    for (size_t i = 0; !s->nomem && i < s->noted.nolder; i++)
        if (there[i])
            s->noted.older[n++] = s->noted.older[i];
    s->noted.nolder = n;
    free(there);
}

bool
rset_names_has_older(const rset_names *list, uint64_t generation)
{
    rset_stems  at = {.older = list->older, .nolder = list->nolder};
    rset_older *ignored;

    return rset_older_is(&at, generation, &ignored);
}

/* By all that is known of the directory. */
static rset_status
by_all(search *s, const struct timespec *since, rset_err *err)
{
    const rset_status st = by_directory(s, since, err);

    leave_out_older(s);
    take_older(s);
    return outcome(s, st, err);
}

/* Without a names file nothing of ours was made here since the directory was listed; but somebody may have put files here
 * that did not come from the driver, together with the data file. */
static rset_status
without(search *s, const char *data, rset_err *err)
{
    struct stat sb;

    return by_all(
        s, data != NULL && rset_dir_stat(s->dir, data, &sb, NULL) == RSET_OK ? &sb.st_ctim : NULL,
        err);
}

rset_status
rset_names_known(rset_dir *dir, const char *prefix, bool now, rset_names *out, rset_err *err)
{
    search      s = {.dir = dir, .to = out, .whose = rset_whose_of(dir, prefix, NULL)};
    rset_status st;

    *out = (rset_names){.prefix = prefix};
    st = by_all(&s, now ? &rset_recall_now : NULL, err);
    rset_stems_free(&s.noted);
    return unless_former(&s, st, err);
}

rset_status
rset_names_list(rset_dir *dir, const char *prefix, rset_names *out, rset_err *err)
{
    return rset_names_known(dir, prefix, true, out, err);
}

/* What the names file lists is not believed any more. */
static void
forget_noted(search *s)
{
    rset_stems_free(&s->noted);
    s->redundancy = false;
}

/* `all`: looks for older generations as well; so it does where what is noted may not be all. */
static rset_status
find(rset_dir *dir, const char *prefix, const char *data, bool all, rset_names *out, rset_err *err)
{
    search      s = {.dir = dir, .to = out, .whose = rset_whose_of(dir, prefix, data)};
    rset_noted  noted;
    rset_status st = rset_stems_load(dir, prefix, &s.noted, &noted, err);

    *out = (rset_names){.prefix = prefix};
    s.bad_list = noted == RSET_NOTED_BAD;
    if (st == RSET_OK && (noted == RSET_NOTED_GOOD || noted == RSET_NOTED_OLD))
        st = by_stems(&s, all || noted != RSET_NOTED_GOOD, err);
    out->noted = noted == RSET_NOTED_GOOD && s.redundancy;
    if (st == RSET_OK && out->noted) {
        if (all)
            leave_out_older(&s);
        take_older(&s);
        st = outcome(&s, st, err);
    } else if (st == RSET_OK) {
        if (noted != RSET_NOTED_OLD) /* one that leads to nothing */
            forget_noted(&s);
        /* An old one lists what was durable, and this process began after that. */
        st = noted == RSET_NOTED_NONE
                 ? without(&s, data, err)
                 : by_all(&s, noted == RSET_NOTED_OLD ? NULL : &rset_recall_now, err);
    }
    rset_stems_free(&s.noted);
    return unless_former(&s, st, err);
}

rset_status
rset_names_find(rset_dir *dir, const char *prefix, const char *data, rset_names *out, rset_err *err)
{
    return find(dir, prefix, data, false, out, err);
}

rset_status
rset_names_find_all(rset_dir *dir, const char *prefix, const char *data, rset_names *out,
                    rset_err *err)
{
    return find(dir, prefix, data, true, out, err);
}

rset_status
rset_names_older(rset_dir *dir, const char *prefix, rset_older **list_out, size_t *n_out,
                 rset_err *err)
{
    rset_stems  stems;
    rset_noted  noted;
    rset_names  there;
    rset_status st = rset_stems_load(dir, prefix, &stems, &noted, err);

    if (st == RSET_OK && noted == RSET_NOTED_GOOD) {
        *list_out = stems.older;
        *n_out = stems.nolder;
        stems.older = NULL;
        rset_stems_free(&stems);
        return st;
    }
    rset_stems_free(&stems);
    *list_out = NULL;
    *n_out = 0;
    if (st != RSET_OK)
        return st;
    st = rset_names_find_all(dir, prefix, NULL, &there, err);
    *list_out = there.older;
    *n_out = there.nolder;
    there.older = NULL;
    rset_names_free(&there);
    return st;
}

void
rset_names_free(rset_names *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->at[i]);
    free(list->at);
    free(list->older);
    list->at = NULL;
    list->older = NULL;
    list->n = list->nolder = 0;
}
