/* sweep_hostile.c: files that somebody else put there: headers with names,
 * owners, numbers and trees made to harm, with checksums that fit; links, FIFOs, devices where files
 * should be. Whatever they say, nothing but the rank's own files is touched, nothing crashes, no set-id
 * bits, no foreign owners, no memory beyond the bytes that are there. */
#include "points.h"

#include "format/tree.h"
#include "hostile_edits.h"
#include "hostile_stage.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

enum { N = 4 };

static const struct kind {
    survival_plan plan;
    int           k;
} kinds[] = {{PLAN_SINGLE, 0}, {PLAN_PARTNER, 1}, {PLAN_XOR, 1}, {PLAN_RS, 2}};

enum { KINDS = sizeof kinds / sizeof *kinds };

/* What has happened to rank 0 besides. */
typedef enum { LOST_NOTHING, LOST_DATA, LOST_NODE, SITUATIONS } situation;

static const char *const op_names[] = {"recover", "recover alone", "protect"};
static const char *const situation_names[] = {"", ", rank 0's data lost", ", node 0 lost"};

/* Of so many sets one is tried. */
static unsigned long every = 1, turn;

static bool
due(void)
{
    return turn++ % every == 0;
}

static void
prepare(const stage *g, situation lost)
{
    const bool node0[N] = {true};

    if (lost == LOST_DATA)
        unlink(sample_data(&g->s, 0));
    if (lost == LOST_NODE) {
        job_lose(&g->s.job, node0);
        if (g->nobody)
            assert_int_equal(chown(g->s.job.ranks[0].dir, 65534, 65534), 0);
    }
}

static stage_case
describe(const stage *g, stage_op op, situation lost, const char *fmt, ...)
{
    stage_case c = {.op = op};
    int        used =
        snprintf(c.what, sizeof c.what, "%s %d, %s%s as %s: ", sample_plan_names[g->s.set.plan],
                 g->s.set.k, op_names[op], situation_names[lost], g->nobody ? "nobody" : "self");
    va_list args;

    va_start(args, fmt);
    vsnprintf(c.what + used, sizeof c.what - (size_t)used, fmt, args);
    va_end(args);
    return c;
}

/* ---- headers ---- */

/* Cuts the header of rank r, if it is there. */
static bool
cut_rank(const stage *g, const hostile_edit *edits, int n, int r)
{
    const char       *path = path_of("%s", sample_redundancy(&g->s, r));
    const image_file *f = sample_original(&g->s, path);
    size_t            size = 0;
    uint8_t          *file;

    if (!exists(path))
        return false;
    file = hostile_cut(edits, n, f->data, f->size, sample_payload_at(&g->s, r), &size);
    if (file == NULL)
        return false;
    write_file(path, file, size);
    free(file);
    return true;
}

/* who: one rank, or -1: all headers say the same. */
static void
one_header(stage *g, const hostile_edit *edits, int n, int who, situation lost, stage_op op)
{
    stage_case c =
        describe(g, op, lost, "%s%d headers: ", who < 0 ? "all " : "rank ", who < 0 ? N : who);
    bool cut = false;

    for (int i = 0; i < n; i++) {
        size_t used = strlen(c.what);

        snprintf(c.what + used, sizeof c.what - used, "%s; ", hostile_text(&edits[i]));
        if (edits[i].how == EDIT_GROW && edits[i].number > RSET_TREE_MAX_BYTES)
            c.most_read = RSET_TREE_MAX_BYTES / 16; /* refused by its length, unread */
    }
    prepare(g, lost);
    for (int r = 0; r < N; r++)
        if (who < 0 || who == r)
            cut = cut_rank(g, edits, n, r) || cut;
    if (cut)
        stage_try(g, &c);
    sample_restore(&g->s);
}

static void
each_header(stage *g)
{
    int                 n;
    const hostile_edit *edits = hostile_edits(g->victim, &n);

    for (int e = 0; e < n; e++)
        for (situation lost = 0; lost < SITUATIONS; lost++)
            for (int who = -1; who < 2; who++)
                for (stage_op op = OP_RECOVER; op <= OP_ALONE; op++)
                    if (due())
                        one_header(g, &edits[e], 1, who, lost, op);
}

/* Several cuts at once, drawn by lot. */
static void
mixed_headers(stage *g, int times)
{
    int                 n;
    const hostile_edit *edits = hostile_edits(g->victim, &n);

    while (times-- > 0) {
        hostile_edit some[4];
        int          count = 2 + (int)points_random(3), who = (int)points_random(3) - 1;
        situation    lost = (situation)points_random(SITUATIONS);
        stage_op     op = points_random(3) == 0 ? OP_ALONE : OP_RECOVER;

        for (int i = 0; i < count; i++)
            some[i] = edits[points_random((uint64_t)n)];
        if (due())
            one_header(g, some, count, who, lost, op);
    }
}

/* ---- names of redundancy files ---- */

static const char *const file_names[] = {
    "ckpt_0.h5.1.%s.grp_1_of_1.mem_1_of_4.redset",
    "ckpt_0.h5.0.%s.grp_1_of_1.mem_2_of_4.redset",
    "ckpt_0.h5.0.%s.grp_1_of_1.mem_5_of_4.redset",
    "ckpt_0.h5.0.%s.grp_0_of_1.mem_1_of_4.redset",
    "ckpt_0.h5.0.%s.grp_1_of_1.mem_1_of_16777216.redset",
    "ckpt_0.h5.0.%s.grp_4294967297_of_4294967297.mem_1_of_4.redset",
    "ckpt_0.h5.18446744073709551616.%s.grp_1_of_1.mem_1_of_4.redset",
    "ckpt_0.h5.00.%s.grp_1_of_1.mem_1_of_4.redset",
    "ckpt_0.h5.0.%s.grp_1_of_1.mem_1_of_4.redset.void",
    "ckpt_0.h5.0.%s.grp_1_of_1.mem_1_of_4.redset.new",
    "ckpt_0.h5.0.%s.grp_1_of_1.mem_1_of_4.redset.fix",
    "ckpt_0.h5.0.%s.grp_1_of_1.mem_1_of_4.redset.new.void",
    "ckpt_0.h5.0.%s.grp_1_of_1.mem_1_of_4.redset\n",
    "ckpt_0.h5.%n%n.%s.redset",
};

/* The redundancy file of rank `from` under another name in node 0, beside rank 0's own or instead. */
static void
one_name(stage *g, int name, int from, bool instead, situation lost, stage_op op)
{
    const char *scheme = g->s.job.ranks[0].desc.scheme->file_name;
    const char *at = strstr(file_names[name], "%s");
    size_t      size;
    uint8_t    *file = read_file(sample_redundancy(&g->s, from), &size);
    char        base[256];
    stage_case  c;

    snprintf(base, sizeof base, "%.*s%s%s", (int)(at - file_names[name]), file_names[name], scheme,
             at + 2);
    c = describe(g, op, lost, "rank %d's redundancy file as %s%s", from, base,
                 instead ? " alone" : "");
    prepare(g, lost);
    if (instead)
        unlink(sample_redundancy(&g->s, 0));
    write_file(path_of("%s/%s", g->s.job.ranks[0].dir, base), file, size);
    if (g->nobody)
        assert_int_equal(chown(path_of("%s/%s", g->s.job.ranks[0].dir, base), 65534, 65534), 0);
    free(file);
    stage_try(g, &c);
    sample_restore(&g->s);
}

static void
each_name(stage *g)
{
    for (int name = 0; name < (int)(sizeof file_names / sizeof *file_names); name++)
        for (int from = 0; from < 2; from++)
            for (int instead = 0; instead < 2; instead++)
                for (situation lost = 0; lost < SITUATIONS; lost++)
                    for (stage_op op = 0; op < OPS; op++)
                        if (due() && (op != OP_PROTECT || lost == LOST_NOTHING))
                            one_name(g, name, from, instead != 0, lost, op);
}

/* ---- what is no regular file ---- */

typedef enum {
    LINK_TO_VICTIM,
    LINK_TO_NOTHING,
    LINK_TO_DIRECTORY,
    LINK_TO_SELF,
    LINK_HARD,
    A_FIFO,
    A_DIRECTORY,
    A_FULL_DIRECTORY,
    A_SOCKET,
    A_DEVICE,
    UNREADABLE,
    SPARSE,
    OBJECTS
} object;

static const char *const object_names[] = {"a link to a file outside",
                                           "a dangling link",
                                           "a link to a directory",
                                           "a link to itself",
                                           "a hard link",
                                           "a FIFO",
                                           "a directory",
                                           "a full directory",
                                           "a socket",
                                           "a device",
                                           "an unreadable file",
                                           "a sparse file"};

/* Names in a node's directory: %d is the rank. */
static const char *const place_names[] = {
    "ckpt_%d.h5",
    "ckpt_%d.h5.%d.redset",
    "ckpt_%d.h5.%d.redset.new",
    "ckpt_%d.h5.%d.redset.fix",
    "ckpt_%d.h5.%d.redset.0.fix",
    "REDUNDANCY",
    "REDUNDANCY.new",
    "REDUNDANCY.fix",
    "REDUNDANCY.void",
};

enum { PLACES = sizeof place_names / sizeof *place_names };

static void
place_path(const stage *g, int place, int r, char *path, size_t size)
{
    static const char word[] = "REDUNDANCY";
    const char       *name = place_names[place], *rank = strstr(name, "%d");
    const char       *again = rank != NULL ? strstr(rank + 2, "%d") : NULL;

    if (rank == NULL)
        snprintf(path, size, "%s%s", sample_redundancy(&g->s, r), name + sizeof word - 1);
    else if (again == NULL)
        snprintf(path, size, "%s", sample_data(&g->s, r));
    else
        snprintf(path, size, "%s%s", sample_descriptor(&g->s, r),
                 strstr(name, "redset") + strlen("redset"));
}

static bool
make_socket(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int                fd = socket(AF_UNIX, SOCK_STREAM, 0);
    bool               made = strlen(path) < sizeof at.sun_path;

    if (made)
        memcpy(at.sun_path, path, strlen(path) + 1);
    made = made && fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0;
    if (fd >= 0)
        close(fd);
    return made;
}

static bool
make_object(const stage *g, object what, const char *path)
{
    const char *base = strrchr(path, '/') + 1;

    unlink(path);
    switch (what) {
    case LINK_TO_VICTIM: return symlink(g->victim, path) == 0;
    case LINK_TO_NOTHING: return symlink(path_of("%s.none", g->victim), path) == 0;
    case LINK_TO_DIRECTORY: return symlink(path_of("%s/outside/dir", g->s.base), path) == 0;
    case LINK_TO_SELF: return symlink(base, path) == 0;
    case LINK_HARD: return link(g->victim, path) == 0;
    case A_FIFO: return mkfifo(path, 0666) == 0;
    case A_DIRECTORY: return mkdir(path, 0777) == 0;
    case A_FULL_DIRECTORY:
        if (mkdir(path, 0777) != 0)
            return false;
        write_file(path_of("%s/inner", path), "x", 1);
        return true;
    case A_SOCKET: return make_socket(path);
    case A_DEVICE: return mknod(path, S_IFCHR | 0666, makedev(1, 5)) == 0; /* endless zeros */
    case UNREADABLE: write_file(path, "x", 1); return geteuid() == 0 && chmod(path, 0) == 0;
    case SPARSE: write_file(path, "x", 1); return truncate(path, 17 << 20) == 0;
    default: return false;
    }
}

/* A hard link's victim has changed its link count, and with it its time of change. */
static void
look_again_at_victim(stage *g)
{
    image_file *f = (image_file *)sample_original(&g->s, g->victim);

    if (lstat(g->victim, &f->st) != 0)
        fail_msg("%s is gone", g->victim);
}

static void
one_object(stage *g, object what, int place, int r, situation lost, stage_op op)
{
    stage_case c =
        describe(g, op, lost, "%s at %s of rank %d", object_names[what], place_names[place], r);
    char path[512];

    c.objects = true;
    c.linked = what == LINK_HARD;
    if (lost == LOST_NODE && r == 0 && place == 0 && g->s.job.ranks[0].desc.members == 1)
        c.stays = 1U << 0;
    prepare(g, lost);
    place_path(g, place, r, path, sizeof path);
    if (make_object(g, what, path)) {
        if (g->nobody && what != LINK_HARD)
            assert_int_equal(lchown(path, 65534, 65534), 0);
        look_again_at_victim(g);
        stage_try(g, &c);
    }
    remove_tree(path);
    sample_restore(&g->s);
    look_again_at_victim(g);
}

static void
each_object(stage *g)
{
    for (object what = 0; what < OBJECTS; what++)
        for (int place = 0; place < PLACES; place++)
            for (int r = 0; r < 2; r++)
                for (situation lost = 0; lost < SITUATIONS; lost++)
                    for (stage_op op = 0; op < OPS; op++)
                        if (due() && (op != OP_PROTECT || lost == LOST_NOTHING))
                            one_object(g, what, place, r, lost, op);
}

static void
races(stage *g, int times)
{
    while (times-- > 0) {
        stage_case c = describe(g, OP_RECOVER, LOST_DATA, "a link that comes and goes");

        c.racing = true;
        if (!due())
            continue;
        prepare(g, LOST_DATA);
        stage_try(g, &c);
        sample_restore(&g->s);
    }
}

int
main(int argc, char **argv)
{
    bool all = points_begin("sweep_hostile", argc, argv), root = geteuid() == 0;

    every = all ? 1 : 97;
    if (!root)
        printf("not root: tried under this user's name only, and without devices\n");
    for (int nobody = 0; nobody <= (int)root; nobody++)
        for (int k = 0; k < KINDS; k++) {
            stage g;

            stage_open(&g, kinds[k].plan, kinds[k].k, nobody != 0);
            each_header(&g);
            mixed_headers(&g, 1500);
            each_name(&g);
            each_object(&g);
            races(&g, 100);
            stage_close(&g);
        }
    return points_end();
}
