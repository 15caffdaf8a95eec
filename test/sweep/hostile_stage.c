/* hostile_stage.c: see hostile_stage.h. */
#include "hostile_stage.h"

#include "points.h"
#include "sweep.h"
#include "tripwire.h"

#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { N = 4, NOBODY = 65534, WHY = 1024, WATCHDOG = 600, SLACK = 256 * 1024 };

/* ---- the stage ---- */

static void
give_to_nobody(const char *dir)
{
    image all = image_take(dir);

    for (size_t i = 0; i < all.n; i++)
        assert_int_equal(chown(path_of("%s/%s", dir, all.at[i].path), NOBODY, NOBODY), 0);
    image_free(&all);
    for (int r = 0; r < N; r++)
        assert_int_equal(chown(path_of("%s/node%d", dir, r), NOBODY, NOBODY), 0);
    assert_int_equal(chown(path_of("%s/outside", dir), NOBODY, NOBODY), 0);
    assert_int_equal(chown(path_of("%s/outside/dir", dir), NOBODY, NOBODY), 0);
    assert_int_equal(chown(dir, NOBODY, NOBODY), 0);
}

void
stage_open(stage *g, survival_plan plan, int k, bool nobody)
{
    static const size_t sizes[N] = {5000, 777, 0, 4999};

    *g = (stage){.nobody = nobody};
    sample_open(&g->s, plan, N, k, sizes, N);
    if (mkdir(path_of("%s/outside", g->s.base), 0755) != 0 ||
        mkdir(path_of("%s/outside/dir", g->s.base), 0755) != 0)
        fail_msg("%s cannot be used", g->s.base);
    g->victim = strdup(path_of("%s/outside/victim", g->s.base));
    assert_non_null(g->victim);
    write_file(g->victim, "a victim", 8);
    write_file(path_of("%s/outside/dir/inner", g->s.base), "inner", 5);
    if (nobody)
        give_to_nobody(g->s.base);
    image_free(&g->s.image);
    g->s.image = image_take(g->s.base);
}

void
stage_close(stage *g)
{
    sample_close(&g->s);
    free(g->victim);
}

/* ---- in the child ---- */

/* Shared with the parent, which reads it after the child's end. */
typedef struct report {
    rset_status st;
    char        text[RSET_ERR_TEXT]; /* of the status */
    char        why[WHY];            /* what is wrong already, or "" */
} report;

static bool
become_nobody(void)
{
    return setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0;
}

#ifndef __SANITIZE_ADDRESS__
static size_t
address_space(void)
{
    FILE         *f = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;

    if (f != NULL && fscanf(f, "%lu", &pages) != 1)
        pages = 0;
    if (f != NULL)
        fclose(f);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}
#endif

/* The header is read with no more memory than 4 times its bytes and 1 MiB. Not with a sanitizer,
 * which needs address space for itself. */
static void
parse_modestly(const char *path, char *why)
{
#ifndef __SANITIZE_ADDRESS__
    struct rlimit limit, before;
    size_t        size = 0;
    uint8_t      *buf = read_file(path, &size);
    rset_header   h = {0};
    rset_err      err = RSET_ERR_NONE;

    getrlimit(RLIMIT_AS, &before);
    limit = before;
    limit.rlim_cur = address_space() + 4 * size + 1024 * 1024 + SLACK;
    setrlimit(RLIMIT_AS, &limit);
    if (rset_format_unpack_header(buf, size, "header", -1, &h, &err) == RSET_NOMEM)
        snprintf(why, WHY, "P9: %zu bytes of header take too much memory: %.500s", size, err.text);
    setrlimit(RLIMIT_AS, &before);
    rset_header_free(&h);
    free(buf);
#else
    (void)path, (void)why;
#endif
}

static void
parse_all(const stage *g, char *why)
{
    for (int r = 0; r < N && why[0] == '\0'; r++) {
        const char *path = sample_redundancy(&g->s, r);
        struct stat sb;

        if (lstat(path, &sb) == 0 && S_ISREG(sb.st_mode) && access(path, R_OK) == 0)
            parse_modestly(path, why);
    }
}

static rset_status
run(stage *g, stage_op op, char *why)
{
    tripwire_place places[N];
    job           *j = &g->s.job;

    for (int r = 0; r < N; r++)
        places[r] = (tripwire_place){j->ranks[r].dir, j->ranks[r].names[0], j->ranks[r].prefix};
    tripwire_arm(places, op == OP_ALONE ? 1 : N);
    switch (op) {
    case OP_ALONE: return job_recover_serial(j, 0);
    case OP_PROTECT: return job_protect(j);
    default: return job_recover_watched(j, why);
    }
}

/* A link that comes and goes. */
static atomic_bool racing;

static void *
race(void *arg)
{
    const stage *g = arg;
    char        *names[2] = {NULL, NULL};

    if (asprintf(&names[0], "%s/ckpt_0.h5.0.redset.0.fix", g->s.job.ranks[0].dir) < 0 ||
        asprintf(&names[1], "%s/ckpt_0.h5", g->s.job.ranks[0].dir) < 0)
        return NULL;
    while (racing)
        for (int i = 0; i < 2; i++) {
            (void)!symlink(g->victim, names[i]);
            sched_yield();
            unlink(names[i]);
        }
    free(names[0]);
    free(names[1]);
    return NULL;
}

static void
child(stage *g, const stage_case *c, report *rep)
{
    pthread_t racer;

    alarm(WATCHDOG); /* nothing here waits that long: the parent sees a signal */
    if (g->nobody && !become_nobody()) {
        snprintf(rep->why, sizeof rep->why, "cannot become nobody");
        return;
    }
    parse_all(g, rep->why);
    racing = c->racing;
    if (racing && pthread_create(&racer, NULL, race, g) != 0)
        return;
    rep->st = run(g, c->op, rep->why);
    if (racing) {
        racing = false;
        pthread_join(racer, NULL);
    }
    tripwire_disarm();
    snprintf(rep->text, sizeof rep->text, "%s", job_text(&g->s.job));
    if (rep->why[0] == '\0')
        tripwire_escapes(rep->why);
    if (rep->why[0] == '\0' && c->most_read > 0 && tripwire_bytes_read() > c->most_read)
        snprintf(rep->why, sizeof rep->why, "P9: %llu bytes were read",
                 (unsigned long long)tripwire_bytes_read());
}

/* ---- the verdict ---- */

/* Rank r's data file is what was protected, or what it was before the operation. */
static void
check_data(const stage *g, const image *before, int r, bool back, image_strictness how, char *why)
{
    const char       *path = path_of("node%d/%s", r, g->s.job.ranks[r].names[0]);
    const image_file *was = image_find(before, path);
    bool              original = image_same(&g->s.image, g->s.base, path, IMAGE_CONTENT, why);
    struct stat       sb = {.st_mode = 0}; /* nothing is there */
    bool              any = lstat(path_of("%s/%s", g->s.base, path), &sb) == 0;

    if (original && S_ISREG(sb.st_mode))
        why[0] = '\0';
    else if (back)
        snprintf(why, WHY, "said to be all right, but %.900s is not", path);
    else if (was != NULL ? image_same(before, g->s.base, path, how, why)
                         : !any || S_ISDIR(sb.st_mode)) /* a directory stands in no image */
        why[0] = '\0';
}

/* Refused: whatever was begun is gone again. */
static void
check_unchanged(const stage *g, const image *before, const report *rep, char *why)
{
    char difference[WHY];

    for (int r = 0; r < N && why[0] == '\0'; r++)
        if (!image_same(before, g->s.base, path_of("node%d", r), IMAGE_UNTOUCHED, difference))
            snprintf(why, WHY, "%s (%.400s), but %.400s", rset_status_name(rep->st), rep->text,
                     difference);
}

/* Nothing new has set-id bits or belongs to somebody else. These directories are root's own, where it may give the recorded group
 * (S7); unit.engine_hostile has others. */
static void
check_owners(const stage *g, const image *before, char *why)
{
    image after = image_take(g->s.base);
    uid_t uid = g->nobody ? NOBODY : geteuid();

    for (size_t i = 0; i < after.n && why[0] == '\0'; i++) {
        const image_file *f = &after.at[i], *was = image_find(before, f->path);

        if (was != NULL && was->st.st_ino == f->st.st_ino && was->st.st_mode == f->st.st_mode &&
            was->st.st_uid == f->st.st_uid && was->st.st_gid == f->st.st_gid)
            continue;
        if (S_ISREG(f->st.st_mode) &&
            (f->st.st_uid != uid || (g->nobody && f->st.st_gid != NOBODY) ||
             (f->st.st_mode & 07000) != 0))
            snprintf(why, WHY, "%.400s has mode %o, owner %u:%u now", f->path, f->st.st_mode,
                     f->st.st_uid, f->st.st_gid);
    }
    image_free(&after);
}

static void
judge(const stage *g, const stage_case *c, const image *before, const report *rep, char *why)
{
    bool back = rep->st == RSET_OK && c->op != OP_PROTECT; /* data files are as they were */
    /* taking a hard link away, or marking what it leads to, touches more than that name */
    image_strictness outside = c->linked ? IMAGE_CONTENT : IMAGE_UNTOUCHED;
    image_strictness data = c->op == OP_PROTECT ? IMAGE_CONTENT : IMAGE_UNTOUCHED;

    if (!image_same(&g->s.image, g->s.base, "outside", outside, why) || c->racing)
        return;
    why[0] = '\0';
    if (rep->st != RSET_OK && !c->objects && c->op != OP_PROTECT)
        check_unchanged(g, before, rep, why);
    for (int r = 0; r < N && why[0] == '\0'; r++)
        check_data(g, before, r, back && (c->stays >> r & 1) == 0 && (c->op != OP_ALONE || r == 0),
                   data, why);
    if (why[0] == '\0')
        check_owners(g, before, why);
}

/* Who is not root can read only what says so. */
static void
make_readable(const stage *g)
{
    for (int r = 0; geteuid() != 0 && r < N; r++) {
        struct stat sb;

        if (lstat(sample_data(&g->s, r), &sb) == 0 && S_ISREG(sb.st_mode))
            chmod(sample_data(&g->s, r), (sb.st_mode & 07777) | S_IRUSR);
    }
}

void
stage_try(stage *g, const stage_case *c)
{
    static report *rep;
    image          before = image_take(g->s.base);
    int            status = 0;
    pid_t          pid;

    if (rep == NULL)
        rep = mmap(NULL, sizeof *rep, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(rep != MAP_FAILED);
    *rep = (report){.st = RSET_BUG};
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        child(g, c, rep);
        sweep_end_child(0);
    }
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
    points_tried();
    if (WIFSIGNALED(status))
        snprintf(rep->why, WHY, "ended by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else if (status != 0)
        snprintf(rep->why, WHY, "the child ended with status %d", WEXITSTATUS(status));
    make_readable(g);
    if (rep->why[0] == '\0')
        judge(g, c, &before, rep, rep->why);
    if (rep->why[0] != '\0')
        points_wrong("%s: %s", c->what, rep->why);
    image_free(&before);
}
