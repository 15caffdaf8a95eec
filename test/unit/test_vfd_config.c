/* Configuration strings: what is accepted, what is refused with which words, and that a refused
 * string changes nothing. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { FILE_MAX = 65536 };

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static rset_config
parsed(const char *text)
{
    rset_config c;
    rset_err    err = RSET_ERR_NONE;

    rset_config_defaults(&c);
    if (rset_config_parse(&c, text, &err) != RSET_OK)
        fail_msg("\"%s\" is refused: %s", text, err.text);
    return c;
}

/* `words`: what the message must contain, separated by '|'. */
static void
refused(const char *text, const char *words)
{
    rset_config before, after;
    rset_err    err = RSET_ERR_NONE;
    char        list[256], *rest, *word;

    rset_config_defaults(&before);
    before.timeout = 17;
    after = before;
    assert_int_equal(rset_config_parse(&after, text, &err), RSET_USAGE);
    assert_memory_equal(&before, &after, sizeof before);
    snprintf(list, sizeof list, "%s", words);
    for (word = strtok_r(list, "|", &rest); word; word = strtok_r(NULL, "|", &rest))
        if (strstr(err.text, word) == NULL)
            fail_msg("\"%s\": the message has no \"%s\": %s", text, word, err.text);
}

/* The last directory counts as the first one does; one more than there may be is not left out. */
static void
test_directories(void **state)
{
    char text[400] = "search=/d";

    (void)state;
    for (int i = 2; i <= RSET_SEARCH_MAX; i++)
        strcat(text, ":/d");
    assert_int_equal(strlen(parsed(text).search), 3 * RSET_SEARCH_MAX - 1);
    assert_int_equal(strlen(parsed(strcat(text, "::")).search), 3 * RSET_SEARCH_MAX + 1);
    refused(strcat(text, "/d"), "search|65 directories|at most 64");
}

static void
test_defaults(void **state)
{
    rset_config c = parsed("");

    (void)state;
    assert_ptr_equal(c.scheme, &rset_scheme_xor);
    assert_int_equal(c.set_size, 8);
    assert_int_equal(c.replicas, 1);
    assert_int_equal(c.checksums, 2);
    assert_string_equal(c.group, "");
    assert_true(c.timeout == 300);
    assert_int_equal(c.verify, RSET_VERIFY_OPEN);
    assert_false(c.required);
    assert_true(c.atomic);
    assert_true(c.readonly_rebuild);
    assert_int_equal(c.moved, RSET_MOVES_YES);
    assert_int_equal(c.keep, 1);
    assert_string_equal(c.generation, "");
    assert_false(c.fallback);
    assert_false(c.commit_flush);
    assert_false(c.async);
    assert_string_equal(c.files, "");
    assert_string_equal(c.search, "");
    assert_null(c.comm);
}

static void
test_every_key(void **state)
{
    rset_config c = parsed("scheme=RS;set_size=12;replicas=3;checksums=4;group=rack7;timeout=2.5;"
                           "verify=read;required=yes;atomic=no;readonly_rebuild=no;moved=copy;keep="
                           "3;generation=-2;fallback=yes;commit=flush;async=yes;files="
                           "ckpt_*.h5,/x/y.h5;search=/a:/b/c");

    (void)state;
    assert_ptr_equal(c.scheme, &rset_scheme_rs);
    assert_int_equal(c.set_size, 12);
    assert_int_equal(c.replicas, 3);
    assert_int_equal(c.checksums, 4);
    assert_string_equal(c.group, "rack7");
    assert_true(c.timeout == 2.5);
    assert_int_equal(c.verify, RSET_VERIFY_READ);
    assert_true(c.required);
    assert_false(c.atomic);
    assert_false(c.readonly_rebuild);
    assert_int_equal(c.moved, RSET_MOVES_COPY);
    assert_int_equal(parsed("moved=no").moved, RSET_MOVES_NO);
    assert_int_equal(c.keep, 3);
    assert_int_equal(parsed("keep=all").keep, RSET_KEEP_ALL);
    assert_string_equal(c.generation, "-2");
    assert_string_equal(parsed("generation=17").generation, "17");
    assert_true(c.fallback);
    assert_true(c.commit_flush);
    assert_true(c.async);
    assert_string_equal(c.files, "ckpt_*.h5,/x/y.h5");
    assert_string_equal(c.search, "/a:/b/c");
}

static void
test_spellings_that_mean_the_same(void **state)
{
    static const char *const same[] = {
        "scheme=RS;checksums=3;files=a.h5,b.h5",
        "scheme=RS checksums=3 files=a.h5,b.h5",
        "  scheme = rs ;; checksums\t= 3;\n files = a.h5, b.h5 ; ",
        "{scheme: RS; checksums: 3; files: a.h5,b.h5}",
        " { scheme: rs;checksums:3;files:\"a.h5,b.h5\"; } ",
        "scheme=XOR checksums=5 checksums=3 scheme=RS files=a.h5,b.h5",
    };
    rset_config first = parsed(same[0]);

    (void)state;
    for (size_t i = 1; i < LEN(same); i++) {
        rset_config other = parsed(same[i]);

        assert_memory_equal(&first, &other, sizeof first);
    }
    assert_true(parsed("required=on").required);
    assert_true(parsed("required=1").required);
    assert_false(parsed("required=yes required=False").required);
    assert_int_equal(parsed("verify=SIZE").verify, RSET_VERIFY_SIZE);
}

static void
test_values_with_odd_characters(void **state)
{
    (void)state;
    assert_string_equal(parsed("search=\"/a dir:/b;c\" scheme=RS").search, "/a dir:/b;c");
    assert_ptr_equal(parsed("search=\"/a dir\" scheme=RS").scheme, &rset_scheme_rs);
    assert_string_equal(parsed("files=\"a=b.h5\"").files, "a=b.h5");
    assert_string_equal(parsed("group=\"\"").group, "");
    assert_string_equal(parsed("search=/a:/b").search, "/a:/b");
    assert_string_equal(parsed("search:/a:/b").search, "/a:/b");
}

static void
test_refusals_name_key_value_and_choice(void **state)
{
    (void)state;
    refused("checksum=2", "\"checksum\"|checksums|scheme|search");
    refused("scheme=RAID5", "scheme|\"RAID5\"|SINGLE, PARTNER, XOR, RS, PARTNER:2");
    refused("scheme=", "scheme|\"\"|XOR");
    refused("set_size=0", "set_size|\"0\"|1 to 65536");
    refused("set_size=-3", "set_size|\"-3\"");
    refused("set_size=65537", "set_size|\"65537\"");
    refused("set_size=8x", "set_size|\"8x\"");
    refused("replicas=99999999999999999999", "replicas|\"99999999999999999999\"");
    refused("checksums=", "checksums|\"\"");
    refused("keep=0", "keep|\"0\"");
    refused("generation=x", "generation|\"x\"|-1, -2");
    refused("generation=-0", "generation|\"-0\"");
    refused("timeout=0", "timeout|\"0\"|more than 0");
    refused("timeout=.", "timeout");
    refused("timeout=1e3", "timeout|\"1e3\"");
    refused("timeout=-1", "timeout");
    refused("timeout=1000000000000000000000000000", "timeout");
    refused("verify=always", "verify|\"always\"|open, read, size");
    refused("verify=open,read", "verify");
    refused("required=maybe", "required|\"maybe\"|yes, no");
    refused("commit=write", "commit|\"write\"|close, flush");
    refused("async=soon", "async|\"soon\"|yes, no");
    refused("asynchronous=yes", "\"asynchronous\"|async, files");
    refused("scheme", "\"scheme\"|key=value");
    refused("=3", "no key \"\"|possible");
    refused("scheme=XOR,checksums=2", "scheme|\"XOR,checksums=2\"|separate");
    refused("group= scheme=RS", "group|\"scheme=RS\"");
    refused("group=\"x", "group|quote");
    refused("group=a\"b", "group|a\"b|quotes");
    refused("group=0123456789012345678901234567890123456789012345678901234567890123",
            "group|64|63");
    refused("{scheme: RS", "{|}");
    refused("scheme=RS;set_size=2;verify=x", "verify"); /* what came before is not kept */
}

/* Writes a file, returns "@path". */
static const char *
at_file(const void *content, size_t size)
{
    static char name[64];
    int         fd;

    snprintf(name, sizeof name, "@/tmp/test_config.XXXXXX");
    fd = mkstemp(name + 1);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, size), size);
    close(fd);
    return name;
}

static void
test_key_that_is_meant(void **state)
{
    (void)state;
    refused("checksum=2", "no key \"checksum\" (is \"checksums\" meant?)");
    refused("Scheme=RS", "(is \"scheme\" meant?)");
    refused("time_out=3", "(is \"timeout\" meant?)");
    refused("setsize=4", "(is \"set_size\" meant?)");
    refused("teem=ocean", "(is \"team\" meant?)");
    refused("nodes=4", "no key \"nodes\"; possible: scheme");
    refused("x=4", "no key \"x\"; possible: scheme");
}

static void
test_parity_behind_the_scheme(void **state)
{
    (void)state;
    assert_int_equal(parsed("scheme=rs:3").checksums, 3);
    assert_int_equal(parsed("{scheme: PARTNER:2}").replicas, 2);
    assert_int_equal(parsed("scheme=RS:3 checksums=1").checksums, 1);
    assert_ptr_equal(parsed("scheme=XOR:1").scheme, &rset_scheme_xor);
    assert_int_equal(parsed("parity=3 scheme=RS").checksums, 3);
    assert_int_equal(parsed("scheme=PARTNER parity=2").replicas, 2);
    assert_int_equal(parsed("parity=1").parity, 0);
    refused("scheme=XOR:2", "scheme|\"XOR:2\"|RS:2");
    refused("scheme=SINGLE:1", "scheme|\"SINGLE:1\"");
    refused("scheme=RS:", "\"RS:\"");
    refused("scheme=RS:0", "\"RS:0\"");
    refused("scheme=RS:2x", "\"RS:2x\"");
    refused("scheme=RS:8 set_size=8", "RS|set_size 8");
    refused("parity=2", "XOR|parity 2|1 with XOR");
    refused("parity=1 scheme=SINGLE", "SINGLE|parity 1");
    refused("parity=0", "parity|\"0\"");
}

static void
test_variables_in_values(void **state)
{
    const char *at;

    (void)state;
    setenv("REDSET_TEST_NAME", "a b;c=d", 1);
    setenv("REDSET_TEST_2", "7", 1);
    setenv("REDSET_TEST_EMPTY", "", 1);
    unsetenv("REDSET_TEST_NOT");
    assert_string_equal(parsed("team=$REDSET_TEST_NAME scheme=RS").team, "a b;c=d");
    assert_string_equal(parsed("team=x${REDSET_TEST_2}y$REDSET_TEST_2.z").team, "x7y7.z");
    assert_string_equal(parsed("team=\"$REDSET_TEST_2 $$5\"").team, "7 $5");
    assert_string_equal(parsed("{team: ${REDSET_TEST_2}}").team, "7");
    assert_string_equal(parsed("team=a$REDSET_TEST_EMPTY").team, "a");
    assert_int_equal(parsed("checksums=$REDSET_TEST_2 scheme=RS").checksums, 7);
    assert_string_equal(parsed("search=/$$HOME").search, "/$HOME");
    refused("team=$REDSET_TEST_NOT", "team|REDSET_TEST_NOT, which is not set|$$");
    refused("search=/a:${REDSET_TEST_NOT}", "search|REDSET_TEST_NOT");
    refused("team=a$", "team|\"$\"|$$");
    refused("team=$1", "team|\"$\"");
    refused("team=${REDSET_TEST_2", "team|\"$\"");
    refused("team=${}", "team|\"$\"");
    at = at_file("# $NOT_IN_A_REMARK\nteam = m$REDSET_TEST_2\n", 42);
    assert_string_equal(parsed(at).team, "m7");
    unlink(at + 1);
}

static void
test_set_that_cannot_carry_the_scheme(void **state)
{
    (void)state;
    refused("scheme=RS;set_size=4;checksums=4", "RS|set_size 4");
    refused("scheme=RS;set_size=255;checksums=2", "RS|set_size 255");
    refused("scheme=PARTNER;set_size=4;replicas=4", "PARTNER|set_size 4");
    refused("scheme=XOR;set_size=1", "XOR|set_size 1");
    (void)parsed("scheme=RS;set_size=254;checksums=2");
    (void)parsed("scheme=SINGLE;set_size=1");
    (void)parsed("scheme=XOR;set_size=2;checksums=7"); /* a key of another scheme does not matter */
}

static void
test_from_a_file(void **state)
{
    static const char text[] =
        "# the whole job\nscheme = RS\nchecksums = 3  # enough\n\nfiles = a*.h5,\n"
        "        b*.h5\n";
    static char big[FILE_MAX + 1];
    const char *at = at_file(text, sizeof text - 1);
    rset_config c = parsed(at);

    (void)state;
    assert_int_equal(c.checksums, 3);
    assert_string_equal(c.files, "a*.h5,b*.h5");
    unlink(at + 1);
    refused(at, "errno = 2");
    refused(at, at + 1);
    memset(big, ' ', sizeof big);
    at = at_file(big, sizeof big);
    refused(at, "65536");
    unlink(at + 1);
    at = at_file(big, FILE_MAX);
    (void)parsed(at);
    unlink(at + 1);
    at = at_file("scheme=RS\0x", 11);
    refused(at, "text");
    unlink(at + 1);
    at = at_file("@/etc/passwd", 12);
    refused(at, "key=value");
    unlink(at + 1);
    refused("@/tmp", "no regular file");
}

static void
test_which_files(void **state)
{
    static const struct {
        const char *files, *path;
        bool        covered;
    } t[] = {
        {"", "/any/thing.h5", true},
        {"*.h5", "/d/a.h5", true},
        {"*.h5", "/d.h5/a.nc", false},
        {"ckpt_*.h5", "/d/ckpt_17.h5", true},
        {"ckpt_*.h5", "/d/old_ckpt_17.h5", false},
        {"a.h5,ckpt_[0-9].h5", "/d/ckpt_7.h5", true},
        {"a.h5,ckpt_[0-9].h5", "/d/a.h5", true},
        {"a.h5,ckpt_[0-9].h5", "/d/ckpt_x.h5", false},
        {"/local/*/a.h5", "/local/x/y/a.h5", true},
        {"/local/*", "/global/local/a.h5", false},
        {"out/a.h5", "/d/out/a.h5", true},
        {"out/*", "/d/out/x/a.h5", true},
        {"out/a.h5", "/d/xout/a.h5", false},
        {"out/a.h5", "out/a.h5", true},
        {"a.h5", "a.h5", true},
    };

    (void)state;
    for (size_t i = 0; i < LEN(t); i++) {
        char        text[128];
        rset_config c;

        snprintf(text, sizeof text, "files=\"%s\"", t[i].files);
        c = parsed(text);
        if (rset_config_covers(&c, t[i].path) != t[i].covered)
            fail_msg("files=%s: %s is %scovered", t[i].files, t[i].path,
                     t[i].covered ? "not " : "");
    }
}

/* job= is recorded, so it is text that may be. */
static void
test_job_is_text_that_may_be_recorded(void **state)
{
    const rset_config c = parsed("job=\"run 7, \xc3\xa9t\xc3\xa9\""), none = parsed("");
    rset_config       bad;
    rset_err          err = RSET_ERR_NONE;

    (void)state;
    assert_string_equal(c.job, "run 7, \xc3\xa9t\xc3\xa9");
    assert_string_equal(none.job, "");
    rset_config_defaults(&bad);
    assert_int_equal(rset_config_parse(&bad, "job=\xff", &err), RSET_USAGE);
}

/* Do their keys differ in this one, and no other? RSET_KEYS: in none. */
static bool
differs(const rset_config *a, const rset_config *b, rset_key in)
{
    uint64_t one[RSET_KEYS], two[RSET_KEYS];
    bool     as_said = true;

    rset_config_keys(a, one);
    rset_config_keys(b, two);
    for (rset_key key = 0; key < RSET_KEYS; key++)
        as_said = as_said && (one[key] != two[key]) == (key == in);
    return as_said;
}

/* What root= names is covered, whatever files= names. */
static void
test_files_of_one_rank(void **state)
{
    const rset_config none = parsed("files=a.h5"), c = parsed("files=a.h5 root=meta*.h5,log/b.h5");

    (void)state;
    assert_false(rset_config_is_root(&none, "/d/a.h5"));
    assert_false(rset_config_is_root(&c, "/d/a.h5"));
    assert_true(rset_config_is_root(&c, "/d/meta7.h5"));
    assert_true(rset_config_is_root(&c, "/d/log/b.h5"));
    assert_true(rset_config_covers(&c, "/d/meta7.h5"));
    assert_true(rset_config_covers(&c, "/d/a.h5"));
    assert_false(rset_config_covers(&c, "/d/b.h5"));
    assert_true(differs(&none, &c, RSET_KEY_ROOT));
}

static void
test_keys_of_what_must_be_equal(void **state)
{
    rset_config a = parsed(""), b = parsed("group=x timeout=5 verify=size files=a search=/b");
    rset_config c = parsed("checksums=3"), d = parsed("scheme=RS"),
                e = parsed("scheme=RS checksums=3");
    rset_config f = parsed("set_size=4"), g = parsed("keep=2"), h = parsed("together=a_*,b_*");

    (void)state;
    assert_true(differs(&a, &b, RSET_KEYS));
    assert_true(differs(&a, &c, RSET_KEYS)); /* XOR has no checksums= */
    assert_true(differs(&a, &d, RSET_KEY_SCHEME));
    assert_true(differs(&d, &e, RSET_KEY_SCHEME));
    assert_true(differs(&a, &f, RSET_KEY_SCHEME));
    assert_true(differs(&a, &g, RSET_KEY_KEEP));
    assert_true(differs(&a, &h, RSET_KEY_TOGETHER));
    assert_int_equal(rset_config_parity(&a), 1);
    assert_int_equal(rset_config_parity(&d), 2);
    assert_int_equal(rset_config_parity(&e), 3);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_directories),
        cmocka_unit_test(test_every_key),
        cmocka_unit_test(test_spellings_that_mean_the_same),
        cmocka_unit_test(test_values_with_odd_characters),
        cmocka_unit_test(test_refusals_name_key_value_and_choice),
        cmocka_unit_test(test_key_that_is_meant),
        cmocka_unit_test(test_parity_behind_the_scheme),
        cmocka_unit_test(test_variables_in_values),
        cmocka_unit_test(test_set_that_cannot_carry_the_scheme),
        cmocka_unit_test(test_from_a_file),
        cmocka_unit_test(test_which_files),
        cmocka_unit_test(test_files_of_one_rank),
        cmocka_unit_test(test_job_is_text_that_may_be_recorded),
        cmocka_unit_test(test_keys_of_what_must_be_equal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
