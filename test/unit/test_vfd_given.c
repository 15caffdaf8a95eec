/* Files and settings that the configuration names (vfd/given.h): what another user has made, or could change, is not read,
 * not followed and not written to; nor does a program with more rights than its user take settings from him. */
#include "given.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { OTHER = 20003, MAX = 100 };

static char top[] = "/tmp/test_given.XXXXXX";

static char *
in(const char *name)
{
    static char paths[4][200];
    static int  next;
    char       *path = paths[next++ % 4];

    snprintf(path, sizeof paths[0], "%s/%s", top, name);
    return path;
}

static void
put(const char *name, const char *text, mode_t mode)
{
    FILE *file = fopen(in(name), "w");

    assert_true(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
    assert_int_equal(chmod(in(name), mode), 0);
}

static const char *
content(const char *name)
{
    static char text[MAX];
    FILE       *file = fopen(in(name), "r");
    size_t      n;

    assert_non_null(file);
    n = fread(text, 1, sizeof text - 1, file);
    text[n] = '\0';
    fclose(file);
    return text;
}

static void
is_read(const char *name, const char *text)
{
    rset_err    err = RSET_ERR_NONE;
    char       *got = NULL;
    rset_status st = rset_given_read(in(name), MAX, &got, &err);

    if (st != RSET_OK)
        fail_msg("%s", err.text);
    assert_string_equal(got, text);
    free(got);
}

static void
is_not_read(const char *name, const char *why)
{
    rset_err err = RSET_ERR_NONE;
    char    *got = NULL;

    if (rset_given_read(in(name), MAX, &got, &err) != RSET_USAGE)
        fail_msg("%s was read", name);
    assert_null(got);
    if (strstr(err.text, why) == NULL || strstr(err.text, in(name)) == NULL)
        fail_msg("not said of %s: %s, but: %s", name, why, err.text);
}

static rset_status
append(const char *name, const char *why)
{
    rset_err          err = RSET_ERR_NONE;
    const rset_status st = rset_given_append(in(name), "x\n", 2, &err);

    if (st != RSET_OK && (why == NULL || strstr(err.text, why) == NULL))
        fail_msg("not said of %s: %s, but: %s", name, why != NULL ? why : "success", err.text);
    return st;
}

static void
to_other(const char *name)
{
    assert_int_equal(lchown(in(name), OTHER, OTHER), 0);
}

static bool
can_be_another(void)
{
    if (geteuid() == 0)
        return true;
    puts("SKIP: only root can make files of another user");
    return false;
}

/* ---- settings ---- */

static void
what_counts_as_settings(void **state)
{
    (void)state;
    put("own", "scheme=XOR", 0644);
    is_read("own", "scheme=XOR");
    is_not_read("none", "errno = 2");
    is_not_read("own/below", "errno = 20");
    is_not_read("", "no regular file");
    assert_int_equal(mkfifo(in("fifo"), 0600), 0);
    is_not_read("fifo", "no regular file");
    put("long", "0123456789", 0600);
    assert_int_equal(truncate(in("long"), MAX + 1), 0);
    is_not_read("long", "at most 100 bytes");
}

static void
what_others_may_change(void **state)
{
    (void)state;
    if (!can_be_another())
        skip();
    put("of_root", "a=1", 0666);
    is_read("of_root", "a=1"); /* whoever is root may do all */
    put("others", "a=1", 0644);
    to_other("others");
    is_not_read("others", "belongs to user 20003");
    assert_int_equal(seteuid(OTHER), 0);
    is_read("others", "a=1"); /* now it is his */
    assert_int_equal(chmod(in("others"), 0664), 0);
    is_not_read("others", "chmod go-w");
    assert_int_equal(seteuid(0), 0);
}

/* ---- links ---- */

static void
links_of_others_lead_nowhere(void **state)
{
    (void)state;
    put("target", "a=1", 0644);
    assert_int_equal(mkdir(in("dir"), 0755), 0);
    put("dir/target", "a=2", 0644);
    assert_int_equal(symlink("target", in("link")), 0);
    assert_int_equal(symlink(in("dir"), in("way")), 0);
    assert_int_equal(symlink("loop", in("loop")), 0);
    is_read("link", "a=1");
    is_read("way/target", "a=2");
    is_read("way/../dir//./target", "a=2");
    is_not_read("loop", "errno = 40");
    assert_int_equal(append("link", NULL), RSET_OK);
    assert_string_equal(content("target"), "a=1x\n");
    if (!can_be_another())
        return;
    to_other("link");
    to_other("way");
    is_not_read("link", "belongs to user 20003");
    is_not_read("way/target", "belongs to user 20003");
    assert_int_equal(append("link", "belongs to user 20003"), RSET_USAGE);
    assert_int_equal(append("way/new", "belongs to user 20003"), RSET_USAGE);
    assert_string_equal(content("target"), "a=1x\n");
    assert_int_equal(access(in("dir/new"), F_OK), -1);
}

/* ---- reports ---- */

static void
what_is_written_to(void **state)
{
    rset_err err = RSET_ERR_NONE;
    int      ends[2];
    char     name[40], got[3] = "";

    (void)state;
    assert_int_equal(append("report", NULL), RSET_OK);
    assert_int_equal(append("report", NULL), RSET_OK);
    assert_string_equal(content("report"), "x\nx\n");
    assert_int_equal(append("none/report", "errno = 2"), RSET_USAGE);
    assert_int_equal(append("fifo", "errno = 6"), RSET_USAGE); /* nobody reads it */
    assert_int_equal(rset_given_append("/dev/null", "x\n", 2, &err), RSET_OK);
    assert_int_equal(pipe(ends), 0);
    snprintf(name, sizeof name, "/dev/fd/%d", ends[1]);
    assert_int_equal(rset_given_append(name, "x\n", 2, &err), RSET_OK);
    assert_int_equal(read(ends[0], got, 2), 2);
    assert_string_equal(got, "x\n");
    close(ends[0]);
    close(ends[1]);
}

/* In a directory where everybody makes names. */
static void
what_others_have_planted(void **state)
{
    (void)state;
    if (!can_be_another())
        skip();
    assert_int_equal(mkdir(in("open"), 0755), 0);
    put("open/report", "", 0666);
    to_other("open/report");
    assert_int_equal(append("open/report", NULL),
                     RSET_OK); /* a project's, which its members share */
    assert_int_equal(chmod(in("open"), 01777), 0);
    assert_int_equal(append("open/report", "belongs to user 20003"), RSET_USAGE);
    assert_int_equal(link(in("target"), in("open/hard")), 0);
    assert_int_equal(append("open/hard", "2 names"), RSET_USAGE);
    assert_int_equal(mkfifo(in("open/fifo"), 0666), 0);
    to_other("open/fifo");
    {
        const int reads = open(in("open/fifo"), O_RDONLY | O_NONBLOCK);

        assert_int_equal(append("open/fifo", "belongs to user 20003"), RSET_USAGE);
        close(reads);
    }
    assert_int_equal(append("open/own", NULL), RSET_OK);
}

/* ---- the environment ---- */

static int
look_at_environment(void)
{
    const char *barred = "report=/x";

    return rset_given_env("TEST_GIVEN") == NULL && rset_given_is_barred(barred, "TEST_GIVEN") &&
                   !rset_given_is_barred("report=/y", "TEST_GIVEN")
               ? 7
               : 8;
}

/* This program, as a copy that another user may start with root's rights. */
static void
settings_of_one_who_has_less_rights(void **state)
{
    char command[600];
    int  status;

    (void)state;
    setenv("TEST_GIVEN", "report=/x", 1);
    assert_string_equal(rset_given_env("TEST_GIVEN"), "report=/x");
    assert_false(rset_given_is_barred("report=/x", "TEST_GIVEN"));
    if (!can_be_another())
        skip();
    snprintf(command, sizeof command, "cp /proc/%d/exe %s && chmod 4755 %s", getpid(), in("setuid"),
             in("setuid"));
    assert_int_equal(system(command), 0);
    fflush(stdout);
    if (fork() == 0) {
        if (setgid(OTHER) == 0 && setuid(OTHER) == 0)
            execl(in("setuid"), "setuid", "environment", (char *)NULL);
        _exit(9);
    }
    assert_true(wait(&status) > 0 && WIFEXITED(status));
    if (WEXITSTATUS(status) == 10) {
        puts("SKIP: set-user-ID programs have no effect in /tmp here");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 7);
}

/* ---- all ---- */

static int
begin(void **state)
{
    (void)state;
    return mkdtemp(top) == NULL || chmod(top, 0755) != 0;
}

static int
end(void **state)
{
    char command[100];

    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", top);
    return system(command);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_counts_as_settings),
        cmocka_unit_test(what_others_may_change),
        cmocka_unit_test(links_of_others_lead_nowhere),
        cmocka_unit_test(what_is_written_to),
        cmocka_unit_test(what_others_have_planted),
        cmocka_unit_test(settings_of_one_who_has_less_rights),
    };

    if (argc == 2 && strcmp(argv[1], "environment") == 0)
        return geteuid() == getuid() ? 10 : look_at_environment();
    return cmocka_run_group_tests(tests, begin, end);
}
