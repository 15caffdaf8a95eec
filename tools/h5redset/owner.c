/* owner.c: see owner.h. */
#include "owner.h"

#include "text.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { NO_GROUP = 65534, GROUPS_MAX_N = 1 << 16 };

/* What the process began with, while it works for another. */
static struct {
    bool   away;
    int    n;
    gid_t *groups;
    uid_t  uid; /* whose rights it has meanwhile */
    gid_t  gid;
} began;

bool
owner_matters(void)
{
    return geteuid() == 0;
}

uint64_t
owner_of(const struct stat *sb)
{
    return owner_matters() ? sb->st_uid : geteuid();
}

uint64_t
owner_self(void)
{
    return geteuid();
}

/* ---- who he is ---- */

/* What is known of a user. `text` holds what `found` points to. */
typedef struct known {
    struct passwd  entry;
    struct passwd *found; /* NULL: nothing */
    char          *text;
} known;

/* A directory service that does not answer is no user that is not known: he may have groups. */
static rset_status
look_up(uid_t uid, known *out, rset_err *err)
{
    size_t room = 4096;
    int    rc = ERANGE;

    *out = (known){0};
    while (rc == ERANGE || rc == EINTR) {
        room *= rc == ERANGE ? 2 : 1;
        out->text = must_grow(out->text, room);
        rc = getpwuid_r(uid, &out->entry, out->text, room, &out->found);
    }
    if (rc == 0 || out->found != NULL || rc == ENOENT || rc == ESRCH)
        return RSET_OK;
    return rset_fail_errno(err, RSET_IO, rc, "user %lu: cannot be looked up", (unsigned long)uid);
}

char *
owner_name(uint64_t owner)
{
    known who;
    char *name;

    if (look_up((uid_t)owner, &who, NULL) == RSET_OK && who.found != NULL)
        name = must_copy(who.found->pw_name);
    else
        name = must_print("user %llu", (unsigned long long)owner);
    free(who.text);
    return name;
}

char *
owner_recorded(const char *user)
{
    char      *end = NULL;
    const long number = user != NULL ? strtol(user, &end, 10) : -1;

    if (user == NULL || user[0] == '\0')
        return NULL;
    return number >= 0 && *end == '\0' ? owner_name((uint64_t)number) : must_copy(user);
}

/* ---- being him ---- */

static rset_status
keep_groups(rset_err *err)
{
    began.n = getgroups(0, NULL);
    if (began.n >= 0) {
        began.groups = must_alloc(((size_t)began.n + 1) * sizeof *began.groups);
        began.n = getgroups(began.n, began.groups);
    }
    return began.n >= 0 ? RSET_OK
                        : rset_fail_errno(err, RSET_IO, errno, "the groups of this process");
}

static int
take_groups(const struct passwd *who)
{
    gid_t *groups = NULL;
    int    n = 0, rc = -1;

    if (who == NULL)
        return setgroups(0, NULL);
    while (rc < 0 && n < GROUPS_MAX_N) {
        n = n == 0 ? 64 : 2 * n;
        groups = must_grow(groups, (size_t)n * sizeof *groups);
        rc = getgrouplist(who->pw_name, who->pw_gid, groups, &n);
    }
    rc = rc < 0 ? -1 : setgroups((size_t)n, groups);
    free(groups);
    return rc;
}

/* A process that has other rights than its user's is shut to it by the kernel, as if it had secrets: then the processes of one job
 * cannot read each other's memory, as MPI does. Its owner does not change, and is root. */
static void
stay_open(void)
{
    (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

/* What setfsuid comes to, it says only when it is asked again. */
static bool
switch_to(uid_t uid, gid_t gid)
{
    (void)setfsgid(gid);
    (void)setfsuid(uid);
    stay_open();
    return (gid_t)setfsgid((gid_t)-1) == gid && (uid_t)setfsuid((uid_t)-1) == uid;
}

/* Nothing may go on with rights that are not those that it is meant for. */
static void
must_switch_to(uid_t uid, gid_t gid)
{
    if (switch_to(uid, gid))
        return;
    fputs("h5redset: the rights of another user cannot be had again\n", stderr);
    exit(EXIT_FAILURE);
}

/* Groups first: a user has no right to set them. */
static rset_status
take_rights(uid_t uid, const known *who, rset_err *err)
{
    const gid_t gid = who->found != NULL ? who->found->pw_gid : (gid_t)NO_GROUP;
    const int   rc = take_groups(who->found);

    if (rc != 0)
        return rset_fail_errno(err, RSET_IO, errno, "user %lu: his groups cannot be had",
                               (unsigned long)uid);
    began.uid = uid;
    began.gid = gid;
    if (switch_to(uid, gid))
        return RSET_OK;
    return rset_fail(err, RSET_IO, "user %lu: his rights cannot be had", (unsigned long)uid);
}

rset_status
owner_become(uint64_t owner, rset_err *err)
{
    rset_err    own = RSET_ERR_NONE;
    known       who;
    rset_status st;

    owner_return();
    if (!owner_matters() || owner == 0)
        return RSET_OK;
    st = look_up((uid_t)owner, &who, &own);
    if (st == RSET_OK)
        st = keep_groups(&own);
    began.away = st == RSET_OK;
    if (st == RSET_OK)
        st = take_rights((uid_t)owner, &who, &own);
    free(who.text);
    if (st != RSET_OK)
        owner_return();
    return st == RSET_OK
               ? st
               : rset_fail(err, st, "%s; nothing is done for him: run h5redset as him", own.text);
}

uint64_t
owner_now(void)
{
    return began.away ? began.uid : 0;
}

void
owner_return(void)
{
    if (!began.away)
        return;
    must_switch_to(geteuid(), getegid());
    if (setgroups((size_t)began.n, began.groups) != 0) {
        fputs("h5redset: the groups of root cannot be had again\n", stderr);
        exit(EXIT_FAILURE);
    }
    free(began.groups);
    began.groups = NULL;
    began.away = false;
}

void
owner_pause(void)
{
    if (began.away)
        must_switch_to(geteuid(), getegid());
}

void
owner_resume(void)
{
    if (began.away)
        must_switch_to(began.uid, began.gid);
}
