/* fuzz_recover.c: whole recovery of a small set whose files were tampered with: four ranks, every
 * scheme, by all ranks or by one alone. test/fuzz/nightly_fuzz.sh builds and runs it with libFuzzer; the
 * corpus is run again by every test run (replay.c).
 *
 * First byte: scheme, and who recovers; the rest is a list of mutations (mutations.h). Never a crash, a
 * step outside the rank's own files, ranks that do not agree, or an error that blames our own code or
 * memory. As long as no checksum of what records the content was made to fit what was changed, every file is afterwards
 * what was protected, all of one generation, or the open is refused with nothing changed. Where journals, updates and names
 * files tell what is not so, files may also be opened as they are, without protection. */
#include "job.h"
#include "memfs.h"
#include "mutations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 4, SCHEMES = 4, WHY = 1024, ALONE = 0x80 };

int    LLVMFuzzerInitialize(int *argc, char ***argv);
int    LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

typedef struct kind {
    const rset_scheme *scheme;
    int                parity;
    job                job;
    mutations_set      set;
} kind;

static kind kinds[SCHEMES] = {{.scheme = &rset_scheme_single, .parity = 0},
                              {.scheme = &rset_scheme_partner, .parity = 1},
                              {.scheme = &rset_scheme_xor, .parity = 1},
                              {.scheme = &rset_scheme_rs, .parity = 2}};

/* ---- the set ---- */

static void
own_files_only(int rank, void *arg)
{
    const kind *k = arg;

    memfs_be(rank, k->job.ranks[rank].names[0], k->job.ranks[rank].prefix);
}

/* Two blocks on rank 1, nothing on rank 2. */
static void
protect_version(kind *k, int version)
{
    static const size_t sizes[N] = {600, 66000, 0, 599};
    static memfs_state  state;

    memfs_get(&state);
    for (int r = 0; r < N; r++) {
        memfs_file *f = memfs_put(&state, r, k->job.ranks[r].names[0], NULL, sizes[r]);

        for (size_t i = 0; i < sizes[r]; i++)
            f->data[i] = (uint8_t)(i * (size_t)(7 + r) + i / 251 + (size_t)version * 91);
    }
    memfs_set(&state);
    if (job_protect(&k->job) != RSET_OK)
        abort();
    memfs_get(version == 1 ? &k->set.older : &k->set.newer);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    for (int i = 0; i < SCHEMES; i++) {
        kind *k = &kinds[i];

        memfs_use(N);
        job_init(&k->job, MEMFS_BASE, N, k->scheme, k->parity, N);
        k->job.before = own_files_only;
        k->job.arg = k;
        protect_version(k, 1);
        protect_version(k, 2);
    }
    return 0;
}

/* ---- the oracle ---- */

static void
must(bool holds, const char *what, const char *text)
{
    if (holds)
        return;
    fprintf(stderr, "wrong: %s: %s\n", what, text);
    abort();
}

/* What a rank's disk says before anything is done. */
typedef struct sight {
    bool     has, is_void;
    uint64_t generation;
} sight;

static void
look(const kind *k, sight *sights)
{
    memfs_be(-1, "", "");
    for (int r = 0; r < N; r++) {
        rset_dir       *dir = NULL;
        rset_evidence   ev = {0};
        rset_err        err = RSET_ERR_NONE;
        const job_rank *rank = &k->job.ranks[r];

        must(rset_dir_open(rank->dir, false, &dir, &err) == RSET_OK &&
                 rset_survey(dir, rank->prefix, rank->names[0], &ev, &err) <= RSET_USAGE,
             "survey", err.text); /* it may be said to be of a newer release */
        sights[r] = (sight){.has = ev.has_header, .is_void = ev.has_header && ev.is_void};
        if (ev.has_header)
            sights[r].generation = ev.header.infos[0].desc.generation;
        rset_evidence_free(&ev);
        rset_dir_close(dir);
    }
}

static bool
data_equals(const kind *k, const memfs_state *a, const memfs_state *b, int r)
{
    const char       *name = k->job.ranks[r].names[0];
    const memfs_file *x = memfs_find((memfs_state *)(uintptr_t)a, r, name);
    const memfs_file *y = memfs_find((memfs_state *)(uintptr_t)b, r, name);

    if (x == NULL || y == NULL)
        return x == y;
    return x->kind == y->kind && x->size == y->size && memcmp(x->data, y->data, x->size) == 0;
}

/* Is anything left that records rank r's data in that generation? */
static bool
recorded(const kind *k, const sight *sights, int r, uint64_t generation)
{
    int left = k->scheme->left(k->parity);

    for (int d = 0; d <= left; d++)
        if (sights[(r + d) % N].has && sights[(r + d) % N].generation == generation)
            return true;
    return false;
}

/* The mark of rank r's data file, 0: none. */
static uint64_t
mark_of(const kind *k, const memfs_state *s, int r)
{
    const char       *name = k->job.ranks[r].names[0];
    const memfs_file *data = memfs_find((memfs_state *)(uintptr_t)s, r, name);
    uint64_t          mark = 0;

    for (int i = 0; data != NULL && data->has_mark && i < 8; i++)
        mark |= (uint64_t)data->mark[i] << (8 * i);
    return mark;
}

/* May rank r's file stay as it was, although it is not of that generation? When nothing is recorded of it
 * any more, and it does not say itself that it is of another; and when it was void: then it is what an
 * application wrote last. */
static bool
may_stay(const kind *k, const memfs_state *before, const sight *sights, int r, uint64_t generation)
{
    uint64_t mark = mark_of(k, before, r);

    return sights[r].is_void ||
           (!recorded(k, sights, r, generation) && (mark == 0 || mark == generation));
}

/* All files are of that generation, or stayed as they were and may. */
static bool
is_generation(const kind *k, const memfs_state *before, const memfs_state *after,
              const sight *sights, const memfs_state *want, int last)
{
    uint64_t generation = mark_of(k, want, 0);

    for (int r = 0; r <= last; r++)
        if (!data_equals(k, after, want, r) &&
            !(data_equals(k, after, before, r) && may_stay(k, before, sights, r, generation)))
            return false;
    return true;
}

/* A names file may list more than there is after an open that was refused (R5, N1). */
static bool
is_names_file(const memfs_file *f)
{
    rset_name parsed;

    return mutations_kind(f, &parsed) == RSET_NAME_LIST;
}

/* A commit that all ranks had agreed on is finished before anything else is looked at (protect.h, 3): where there was an unpublished file,
 * redundancy files may have got their names even so; where there was an update, it may have been put into its file. */
static bool
same_but_for_commits(const kind *k, const memfs_state *before, const memfs_state *after)
{
    static memfs_state a, b;
    bool               same, unpublished[N] = {false};

    memfs_copy(&a, before);
    memfs_copy(&b, after);
    for (int i = 0; i < MEMFS_FILES; i++)
        if (a.files[i].used && (strstr(a.files[i].name, RSET_SUFFIX_NEW) != NULL ||
                                strstr(a.files[i].name, RSET_SUFFIX_REDO) != NULL))
            unpublished[a.files[i].dir] = true;
    for (int i = 0; i < MEMFS_FILES; i++) {
        memfs_file *both[] = {&a.files[i], &b.files[i]};

        for (int x = 0; x < 2; x++)
            if (both[x]->used &&
                (is_names_file(both[x]) ||
                 (unpublished[both[x]->dir] &&
                  strcmp(both[x]->name, k->job.ranks[both[x]->dir].names[0]) != 0)))
                memfs_remove(both[x]);
    }
    same = memfs_same(&a, &b);
    memfs_clear(&a);
    memfs_clear(&b);
    return same;
}

/* Each file is what it was, or what was protected once. */
static void
must_be_somebodys(const kind *k, const memfs_state *before, const memfs_state *after,
                  const char *text)
{
    for (int r = 0; r < N; r++)
        must(data_equals(k, after, before, r) || data_equals(k, after, &k->set.older, r) ||
                 data_equals(k, after, &k->set.newer, r),
             "other data", text);
}

/* Opened as it is, since nobody records what it should be, as far as all, or one process alone, can see. */
static bool
is_unverified(rset_reason reason)
{
    return reason == RSET_REASON_NO_RECORD_AS_IS || reason == RSET_REASON_SERIAL_UNRECORDED;
}

static void
judge(kind *k, bool alone, rset_status st, mutations_trust trust, const memfs_state *before,
      const memfs_state *after, const sight *sights)
{
    const char *text = k->job.ranks[0].err.text;
    int         last = alone ? 0 : N - 1;
    char        why[WHY];

    must(memfs_escapes(why) == 0, "step outside", why);
    must(st != RSET_BUG && st != RSET_NOMEM, rset_status_name(st), text);
    if (trust == MUTATIONS_FORGED)
        return;
    if (st == RSET_OK && is_unverified(k->job.ranks[0].out.reason)) {
        must(memfs_same(before, after), "opened unverified, and changed",
             k->job.ranks[0].out.note); /* required=no, and nobody records what they should be */
    } else if (st == RSET_OK && trust == MUTATIONS_TOLD && !k->job.ranks[0].out.protected_) {
        must_be_somebodys(k, before, after,
                          k->job.ranks[0].out.note); /* closed, or open, or first: so it was told */
    } else if (st == RSET_OK) {
        must(is_generation(k, before, after, sights, &k->set.older, last) ||
                 is_generation(k, before, after, sights, &k->set.newer, last),
             "neither old nor new", k->job.ranks[0].out.note);
    } else if (st == RSET_IO) { /* something in the way of a rename, half way */
        must_be_somebodys(k, before, after, text);
    } else {
        must(same_but_for_commits(k, before, after), "refused, but changed", text);
    }
}

/* ---- one input ---- */

static rset_status
recover(kind *k, bool alone)
{
    char        why[WHY] = "";
    rset_status st;

    if (alone) {
        own_files_only(0, k);
        st = job_recover_serial(&k->job, 0);
    } else {
        st = job_recover_watched(&k->job, why);
    }
    memfs_be(-1, "", "");
    must(why[0] == '\0', "ranks", why);
    return st;
}

/* What is whole is left alone. */
static void
again(kind *k, const memfs_state *after)
{
    static memfs_state last;

    if (recover(k, false) != RSET_OK || !k->job.ranks[0].out.protected_)
        must(false, "a second recovery", k->job.ranks[0].err.text);
    memfs_get(&last);
    must(memfs_same(after, &last), "a second recovery", "changed something");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static memfs_state before, after;
    sight              sights[N];
    kind              *k;
    bool               alone;
    mutations_trust    trust;
    rset_status        st;

    if (size == 0)
        return 0;
    k = &kinds[data[0] % SCHEMES];
    alone = (data[0] & ALONE) != 0;
    memfs_set(&k->set.newer);
    memfs_get(&before);
    trust = mutations_do(&k->set, &before, data + 1, size - 1);
    memfs_set(&before);
    look(k, sights);
    st = recover(k, alone);
    memfs_get(&after);
    judge(k, alone, st, trust, &before, &after, sights);
    if (!alone && trust != MUTATIONS_FORGED && st == RSET_OK && k->job.ranks[0].out.protected_)
        again(k, &after);
    return 0;
}

/* ---- mutating so that checksums do not stop everything ---- */

static size_t
append(uint8_t *data, size_t size, size_t max, const uint8_t *more, size_t n)
{
    if (size + n > max)
        return size;
    memcpy(data + size, more, n);
    return size + n;
}

/* A journal, update or names file, most of whose arguments mean something. */
static size_t
append_told(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    uint8_t more[17] = {(uint8_t)(MUTATE_JOURNAL + seed % 3)};

    for (size_t i = 1; i < sizeof more; i++, seed = seed * 1103515245u + 12345u)
        more[i] = (uint8_t)(i < 8 ? (seed >> 16) % 8 : seed >> 16);
    return append(data, size, max, more, sizeof more);
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    uint8_t  more[5] = {0};
    unsigned dice = seed * 2654435761u >> 8;

    size = LLVMFuzzerMutate(data, size, max);
    for (size_t i = 1; i < sizeof more; i++)
        more[i] = (uint8_t)(seed >> (5 * i));
    if (dice % 8 == 0) {
        more[0] = (uint8_t)(dice / 8 % MUTATIONS);
        size = append(data, size, max, more, 4);
    } else if (dice % 8 == 1) {
        more[0] = MUTATE_EDIT;
        size = append(data, size, max, more, 4);
    } else if (dice % 8 == 2) {
        more[0] = MUTATE_SUMS;
        size = append(data, size, max, more, 1);
    } else if (dice % 8 == 5) {
        for (unsigned i = 0; i <= dice / 8 % 4; i++)
            size = append_told(data, size, max, seed + i);
    }
    if (dice % 8 == 2 || dice % 8 == 3 || dice % 8 == 4)
        size = append(data, size, max, (const uint8_t[]){MUTATE_SEAL, 255}, 2);
    return size;
}
