/* test_identity.c: a name finds a file, its identity says that it is still the same one: what is published is what was verified (S4),
 * and one process at a time repairs a file (N6). With real processes. */
#include "names/claim.h"
#include "names/names.h"
#include "store/identity.h"
#include "store_scene.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Which file has the name; zeros: none. */
static rset_identity
who(const char *name)
{
    rset_identity is;

    assert_int_equal(rset_dir_identity(dir, name, &is, NULL), RSET_OK);
    return is;
}

static void
S4_another_file_under_the_temporary_name_is_not_published(void **state)
{
    rset_published mine = {.was = NULL};
    rset_identity  now;
    rset_err       err = RSET_ERR_NONE;

    (void)state;
    put("mine", "verified");
    mine.is = who("mine");
    assert_int_equal(rename(in_top("mine"), in_top("kept")), 0);
    put("mine", "half of another process's");
    assert_int_equal(rset_dir_publish(dir, "mine", "final", &mine, &err), RSET_BUSY);
    now = who("final");
    assert_int_equal(now.inode, 0);
    assert_int_equal(rename(in_top("kept"), in_top("mine")), 0);
    assert_int_equal(rset_dir_publish(dir, "mine", "final", &mine, NULL), RSET_OK);
    assert_content("final", "verified");
    assert_int_equal(rset_dir_publish(dir, "mine", "final", &mine, NULL), RSET_BUSY);
}

/* A program may create a file, or move one into its place, while what it lost is rebuilt. */
static void
S4_what_another_process_gave_the_name_stays(void **state)
{
    const rset_identity none = {0};
    rset_identity       old;
    rset_published      mine = {.was = &none};

    (void)state;
    put("mine", "verified");
    mine.is = who("mine");
    put("final", "of a program");
    assert_int_equal(rset_dir_publish(dir, "mine", "final", &mine, NULL), RSET_BUSY);
    assert_content("final", "of a program");
    old = who("final");
    mine.was = &old;
    assert_int_equal(rename(in_top("final"), in_top("aside")), 0);
    put("final", "of a program again");
    assert_int_equal(rset_dir_publish(dir, "mine", "final", &mine, NULL), RSET_BUSY);
    assert_content("final", "of a program again");
    assert_int_equal(rename(in_top("aside"), in_top("final")), 0);
    assert_int_equal(rset_dir_publish(dir, "mine", "final", &mine, NULL), RSET_OK);
    assert_content("final", "verified");
    put("mine", "of a rebuild again");
    mine = (rset_published){.is = who("mine"), .was = &none};
    assert_int_equal(unlink(in_top("final")), 0);
    assert_int_equal(rset_dir_publish(dir, "mine", "final", &mine, NULL), RSET_OK);
    assert_content("final", "of a rebuild again");
}

static void
a_file_is_told_from_others_and_from_what_it_was(void **state)
{
    rset_identity       a, b, later;
    rset_file          *file = NULL;
    const rset_identity none = who("missing");

    (void)state;
    put("a", "same");
    put("b", "same");
    a = who("a");
    b = who("b");
    assert_true(rset_identity_unchanged(&a, &a));
    assert_false(rset_identity_same(&a, &b));
    assert_false(rset_identity_same(&none, &none));
    later = a;
    later.modified++;
    assert_true(rset_identity_same(&a, &later));
    assert_false(rset_identity_unchanged(&a, &later));
    assert_int_equal(rset_file_open(dir, "a", &file, NULL), RSET_OK);
    assert_int_equal(rename(in_top("b"), in_top("a")), 0);
    assert_int_equal(rset_file_identity(file, &later, NULL), RSET_OK);
    assert_true(rset_identity_same(&a, &later));
    later = who("a");
    assert_true(rset_identity_same(&b, &later));
    rset_file_close(file, NULL);
}

/* A child holds the files of prefix "x." until the parent lets it go, or kills it. */
static pid_t
child_that_holds(int *said, int *let_go)
{
    int   up[2], down[2];
    pid_t child;
    char  byte = 0;

    assert_int_equal(pipe(up), 0);
    assert_int_equal(pipe(down), 0);
    child = fork();
    if (child == 0) {
        rset_file *held = NULL;
        const bool ok =
            rset_claim_to_repair(dir, "x.", "x", 1, &held, NULL) == RSET_OK && held != NULL;

        close(down[1]);
        (void)!write(up[1], "h", 1);
        (void)!read(down[0], &byte, 1);
        rset_claim_end(held);
        _exit(ok ? 0 : 1);
    }
    close(up[1]);
    close(down[0]);
    assert_int_equal(read(up[0], &byte, 1), 1);
    *said = up[0];
    *let_go = down[1];
    return child;
}

static void
N6_one_process_at_a_time_repairs(void **state)
{
    rset_file *held = NULL;
    rset_err   err = RSET_ERR_NONE;
    int        said, let_go, status;
    pid_t      child;

    (void)state;
    assert_int_equal(rset_claim_to_repair(dir, "x.", "x", 1, &held, NULL), RSET_OK);
    assert_null(held); /* there is nothing that could be locked */
    assert_int_equal(rset_names_note(dir, "x.", NULL, 0, NULL), RSET_OK);
    child = child_that_holds(&said, &let_go);
    assert_int_equal(rset_claim_to_repair(dir, "x.", "x", 1, &held, &err), RSET_BUSY);
    assert_null(held);
    assert_int_equal(rset_names_note(dir, "x.", NULL, 0, NULL),
                     RSET_OK); /* which waits for nobody */
    close(let_go);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(rset_claim_to_repair(dir, "x.", "x", 1, &held, NULL), RSET_OK);
    assert_non_null(held);
    rset_claim_end(held);
    close(said);
    child = child_that_holds(&said, &let_go);
    assert_int_equal(kill(child, SIGKILL), 0); /* the lock goes with it */
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(rset_claim_to_repair(dir, "x.", "x", 1, &held, NULL), RSET_OK);
    rset_claim_end(held);
    close(said);
    close(let_go);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(S4_what_another_process_gave_the_name_stays),
        IN_DIRECTORY(S4_another_file_under_the_temporary_name_is_not_published),
        IN_DIRECTORY(a_file_is_told_from_others_and_from_what_it_was),
        IN_DIRECTORY(N6_one_process_at_a_time_repairs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
