/* sweep_access.c: nothing that is written is more open than what it comes from, in each operation, in the open after it,
 * and with a node lost: neither when it is created, nor at any moment after that, nor in the end.
 *
 * The umask is 0, so that whatever follows that, and not the files, is open to all. In the first round all data files are their
 * owner's alone, and so must everything be; in the second those of the ranks differ. */
#include "image.h"
#include "scene.h"
#include "sweep.h"
#include "tap.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What was found, shared with children, in which ranks are threads. */
typedef struct findings {
    _Atomic long looked_at, too_open;
    char         first[1024];
} findings;

static bool         differ; /* round two */
static const scene *now;
static findings    *found;

static mode_t
mode_of(const char *path)
{
    static const mode_t modes[SCENE_RANKS] = {0600, 0660, 0640, 0644};
    const char         *node = strstr(path, "/node");

    return differ && node != NULL ? modes[(unsigned)(node[5] - '0') % SCENE_RANKS] : 0600;
}

/* ---- what is permitted ---- */

/* The data file that `name` lies beside, or is: the shortest part of it up to a dot that is a file's name. */
static bool
find_data(const char *dir, const char *name, struct stat *out)
{
    const char *ours = strstr(name, ".redset"), *end = name;

    if (ours == NULL)
        return stat(path_of("%s/%s", dir, name), out) == 0;
    while ((end = strchr(end + 1, '.')) != NULL && end <= ours)
        if (stat(path_of("%s/%.*s", dir, (int)(end - name), name), out) == 0 &&
            S_ISREG(out->st_mode))
            return true;
    return false;
}

/* Is it computed from the files of all members of a set? */
static bool
is_of_a_set(const char *name)
{
    return strstr(name, ".grp_") != NULL && now->kind->scheme != &rset_scheme_single &&
           (now->op->flags & SCENE_ROOT) == 0;
}

/* A new file that its program is about to create: it has nothing yet that could be kept from anybody. */
static bool
is_before_its_file(const char *name, bool data_is_there)
{
    return !data_is_there && (strstr(name, "redset.0000000000000000.undo") != NULL ||
                              strstr(name, "redset.0000000000000000.fix") != NULL);
}

static void
look_at(const char *path, const char *when)
{
    char        dir[512];
    const char *name = strrchr(path, '/');
    struct stat sb, data;
    bool        there;
    mode_t      more;

    if (name == NULL || stat(path, &sb) != 0 || !S_ISREG(sb.st_mode))
        return;
    snprintf(dir, sizeof dir, "%.*s", (int)(name - path), path);
    name++;
    there = find_data(dir, name, &data);
    ++found->looked_at;
    more = sb.st_mode & 07077;
    if (differ && !is_of_a_set(name))
        more &= ~(there ? data.st_mode : 0664);
    if (more != 0 && !is_before_its_file(name, there) && found->too_open++ == 0)
        snprintf(found->first, sizeof found->first, "%s: %s has the mode %03o", when, path,
                 (unsigned)sb.st_mode & 07777);
}

/* ---- at each moment ---- */

static void
after_call(const tap_event *e, long result)
{
    const int fd = e->call == TAP_CREATE ? (int)result : e->fd;
    char      link[64], path[512];
    ssize_t   n;

    if (result < 0 || (e->call != TAP_CREATE && e->call != TAP_FCHMOD && e->call != TAP_FCHOWN &&
                       e->call != TAP_RENAME && e->call != TAP_LINK))
        return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof path - 1);
    if (n <= 0)
        return;
    path[n] = '\0';
    if (e->to != NULL)
        snprintf(path + n, sizeof path - (size_t)n, "/%s", e->to);
    look_at(path, tap_name(e->call));
}

static const tap_hooks hooks = {.after = after_call};

/* ---- in the end ---- */

static void
look_at_all(const char *when)
{
    for (int r = 0; r < SCENE_RANKS; r++) {
        char           dir[256], path[600];
        DIR           *list;
        struct dirent *entry;

        snprintf(dir, sizeof dir, "%s", now->job.ranks[r].dir);
        list = opendir(dir);
        while (list != NULL && (entry = readdir(list)) != NULL) {
            snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
            look_at(path, when);
        }
        if (list != NULL)
            closedir(list);
    }
}

static void
operate(void *arg)
{
    scene *s = arg;

    scene_run(s, s->op->run, 1, NULL);
}

static void
reopen(void *arg)
{
    scene *s = arg;

    scene_run(s, s->reopen, 2, NULL);
}

static void
step(scene *s, void (*body)(void *arg), const char *when)
{
    found->too_open = 0;
    tap_use(&hooks);
    if (sweep_child(body, s) != CHILD_DONE)
        sweep_violation("%s, %s: it ends badly", scene_name(s), when);
    tap_use(NULL);
    look_at_all("in the end");
    if (found->too_open > 0)
        sweep_violation("%s, %s: %s; so often: %ld", scene_name(now), when, found->first,
                        found->too_open);
}

/* A sample has every third scene, and of the second round every fifth. There no replicas: the files of a scene that are one file
 * have one mode. */
static bool
is_tried(const scene *s)
{
    static int nth;

    return !(differ && (s->op->flags & SCENE_ROOT) != 0) &&
           (sweep_all() || nth++ % (differ ? 5 : 3) == 0);
}

static void
try_scene(scene *s)
{
    if (!is_tried(s))
        return;
    now = s;
    sweep_point();
    scene_begin(s);
    step(s, operate, "operated");
    step(s, reopen, "reopened");
    scene_lose(s, 1);
    step(s, reopen, "a node lost");
}

int
main(int argc, char **argv)
{
    sweep_begin("access", argc, argv);
    found = sweep_shared(sizeof *found);
    image_mode = mode_of;
    (void)umask(0);
    for (int round = 0; round < 2; round++) {
        differ = round == 1;
        scene_each(1, try_scene);
    }
    printf("%ld times a file was looked at\n", found->looked_at);
    return sweep_end();
}
