/* recall.c: see recall.h. A directory is listed without the lock; what is kept is looked at, and replaced, with it. */
#include "recall.h"

#include "store_sys.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    DIRS = 16,
    BYTES_MAX = 32 << 20,
    MARGIN = 2 /* seconds: clocks of file systems are coarse */
};

const struct timespec rset_recall_now = {.tv_sec = (time_t)1 << 60};

/* Names, each with its zero, one after the other. */
typedef struct names {
    char  *text;
    size_t used, room;
    char **at; /* into `text`, ascending; made when all are there */
    size_t n;
    bool   nomem, many;
} names;

/* Seconds, by the clock that gives the files of this machine their times, and by one that nobody sets. */
typedef struct moment {
    time_t wall, steady;
} moment;

typedef struct kept {
    dev_t       dev;
    ino_t       ino;
    moment      listed; /* when the listing began; 0: nothing is kept here */
    uint64_t    used;   /* of the directories kept, the one with the lowest goes first */
    const char *word;
    names       names;
} kept;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static kept            all[DIRS];
static uint64_t        uses;
static unsigned tables; /* rset_sys_tables when `all` was made: another table is another disk */

static void
names_free(names *list)
{
    free(list->text);
    free(list->at);
    *list = (names){0};
}

/* ---- listing ---- */

typedef struct listing {
    const char *word;
    names      *names;
} listing;

static bool
take(const char *name, void *arg)
{
    listing *l = arg;
    names   *to = l->names;
    size_t   len = strlen(name) + 1;

    if (strstr(name, l->word) == NULL)
        return true;
    if (to->used + len > to->room) {
        size_t room = to->room > 0 ? 2 * to->room : 4096;
        char  *grown = to->room < BYTES_MAX ? realloc(to->text, room) : NULL;

        to->many = to->room >= BYTES_MAX;
        to->nomem = grown == NULL && !to->many;
        if (grown == NULL)
            return false;
        to->text = grown;
        to->room = room;
    }
    memcpy(to->text + to->used, name, len);
    to->used += len;
    to->n++;
    return true;
}

static int
ascending(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool
sort(names *list)
{
    char *next = list->text;

    list->at = malloc((list->n + 1) * sizeof *list->at);
    if (list->at == NULL)
        return false;
    for (size_t i = 0; i < list->n; i++, next += strlen(next) + 1)
        list->at[i] = next;
    if (list->n > 0)
        qsort(list->at, list->n, sizeof *list->at, ascending);
    return true;
}

static rset_status
list(rset_dir *dir, const char *word, names *out, rset_err *err)
{
    listing     l = {word, out};
    rset_status st;

    *out = (names){0};
    st = rset_dir_list(dir, take, &l, err);
    if (st == RSET_OK && (out->nomem || (!out->many && !sort(out))))
        st = rset_fail(err, RSET_NOMEM, "%s: no memory to list the directory", rset_dir_path(dir));
    if (st != RSET_OK || out->many) {
        bool many = out->many;

        names_free(out);
        out->many = many;
    }
    return st;
}

/* ---- what is kept; all with the lock held ---- */

static void
forget(void)
{
    for (size_t i = 0; i < DIRS; i++) {
        names_free(&all[i].names);
        all[i] = (kept){0};
    }
    tables = rset_sys_tables;
}

static kept *
find(const struct stat *sb, const char *word)
{
    if (tables != rset_sys_tables)
        forget();
    for (size_t i = 0; i < DIRS; i++)
        if (all[i].listed.wall != 0 && all[i].dev == sb->st_dev && all[i].ino == sb->st_ino &&
            strcmp(all[i].word, word) == 0)
            return &all[i];
    return NULL;
}

/* Names with one prefix follow each other. */
static void
visit_names(const names *list, const char *prefix, bool (*visit)(const char *, void *), void *arg)
{
    const size_t len = strlen(prefix);
    size_t       from = 0, to = list->n;

    while (from < to) {
        size_t mid = from + (to - from) / 2;

        if (strncmp(list->at[mid], prefix, len) < 0)
            from = mid + 1;
        else
            to = mid;
    }
    while (from < list->n && strncmp(list->at[from], prefix, len) == 0 &&
           visit(list->at[from], arg))
        from++;
}

static moment
this_moment(void)
{
    struct timespec steady = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &steady);
    return (moment){time(NULL), steady.tv_sec};
}

/* When the listing began, by the wall clock as it was then or as it is now, whichever says earlier: it may have been set since. */
static time_t
listed_at(const kept *k)
{
    const moment now = this_moment();
    const time_t as_now = now.wall - (now.steady - k->listed.steady);

    return as_now < k->listed.wall ? as_now : k->listed.wall;
}

static bool
recalled(const struct stat *sb, const rset_recall *what, bool (*visit)(const char *, void *),
         void *arg)
{
    kept *k;
    bool  is;

    pthread_mutex_lock(&lock);
    k = find(sb, what->word);
    is = k != NULL && (what->since == NULL || listed_at(k) - MARGIN >= what->since->tv_sec);
    if (is) {
        k->used = ++uses;
        visit_names(&k->names, what->prefix, visit, arg);
    }
    pthread_mutex_unlock(&lock);
    return is;
}

/* A place for one more: the one that was not used for longest, or that has none (0). */
static kept *
oldest(void)
{
    kept *k = &all[0];

    for (size_t i = 1; i < DIRS; i++)
        if (all[i].used < k->used)
            k = &all[i];
    return k;
}

/* Takes over *list. */
static void
keep(const struct stat *sb, const char *word, moment began, names *list)
{
    kept *k;

    pthread_mutex_lock(&lock);
    k = find(sb, word);
    if (k == NULL)
        k = oldest();
    names_free(&k->names);
    *k = (kept){sb->st_dev, sb->st_ino, began, ++uses, word, *list};
    pthread_mutex_unlock(&lock);
    *list = (names){0};
}

/* ---- the whole ---- */

/* Of a directory with too many names to be kept. */
typedef struct filter {
    const rset_recall *what;
    bool (*visit)(const char *name, void *arg);
    void *arg;
} filter;

static bool
pass(const char *name, void *arg)
{
    filter *f = arg;

    return strncmp(name, f->what->prefix, strlen(f->what->prefix)) != 0 ||
           strstr(name, f->what->word) == NULL || f->visit(name, f->arg);
}

rset_status
rset_dir_recall(rset_dir *dir, const rset_recall *what, bool (*visit)(const char *name, void *arg),
                void *arg, rset_err *err)
{
    filter      f = {what, visit, arg};
    names       found = {0};
    struct stat sb;
    moment      began = this_moment();
    bool        known = rset_sys_now->fstat(dir->fd, &sb) == 0;
    rset_status st;

    if (known && recalled(&sb, what, visit, arg))
        return RSET_OK;
    st = list(dir, what->word, &found, err);
    if (st == RSET_OK && found.many)
        return rset_dir_list(dir, pass, &f, err);
    if (st != RSET_OK)
        return st;
    visit_names(&found, what->prefix, visit, arg);
    if (known)
        keep(&sb, what->word, began, &found);
    names_free(&found);
    return RSET_OK;
}

void
rset_recall_forget(void)
{
    pthread_mutex_lock(&lock);
    forget();
    pthread_mutex_unlock(&lock);
}
