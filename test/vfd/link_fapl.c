/* link_fapl WHAT: a program that links the driver and uses H5FDredset.h.
 *
 *   link_fapl struct   settings in and out of property lists, copies, refusals
 *   link_fapl env      (with HDF5_DRIVER_CONFIG) settings from the environment
 *   link_fapl files    files opened with such property lists
 *   link_fapl copies   where HDF5 has loaded another copy of the library, copy/libhdf5_vfd_redset.so
 *   link_fapl create|muted NAME_%d.h5   (on four ranks) a file of each, protected in pairs
 *   link_fapl comm     (on several ranks) communicators: shared by all lists, kept until MPI_Finalize
 *
 * Exit status 0 when all is right; each check that is not prints a line. */
#include "link_fapl.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int wrong;

char       message[MESSAGE_MAX];
static int prints;

static herr_t
keep_message(unsigned n, const H5E_error2_t *record, void *arg)
{
    (void)n;
    (void)arg;
    strncat(message, record->desc, sizeof message - strlen(message) - 1);
    return 0;
}

static herr_t
print(hid_t stack, void *arg)
{
    (void)arg;
    prints++;
    message[0] = '\0';
    return H5Ewalk2(stack, H5E_WALK_DOWNWARD, keep_message, NULL);
}

hid_t
new_fapl(void)
{
    return H5Pcreate(H5P_FILE_ACCESS);
}

H5FD_redset_config_t
defaults(void)
{
    H5FD_redset_config_t c;

    memset(&c, 0xa5, sizeof c);
    H5FD_redset_config_init(&c);
    return c;
}

/* What the property list says must be what was given. */
static void
expect(hid_t fapl, const H5FD_redset_config_t *given)
{
    H5FD_redset_config_t got = {.size = sizeof got};

    CHECK(H5Pget_fapl_redset(fapl, &got) >= 0);
    CHECK(memcmp(&got, given, sizeof got) == 0);
}

/* ---- struct ---- */

static void
check_defaults(void)
{
    H5FD_redset_config_t c = defaults();

    CHECK(c.magic == H5FD_REDSET_CONFIG_MAGIC && c.version == H5FD_REDSET_CONFIG_VERSION);
    CHECK(c.fapl_id == H5P_DEFAULT && c.timeout == 300 && c.scheme == H5FD_REDSET_XOR);
    CHECK(c.set_size == 8 && c.replicas == 1 && c.checksums == 2);
    CHECK(c.verify == H5FD_REDSET_VERIFY_OPEN && c.required == 1 && c.async == 0);
    CHECK(c.failure_group[0] == '\0' && c.files[0] == '\0' && c.search[0] == '\0');
    for (size_t i = 0; i < sizeof c.files; i++)
        CHECK(c.files[i] == 0 && c.search[i] == 0);
    H5FD_redset_config_init(NULL);
}

static void
check_round_trip(void)
{
    H5FD_redset_config_t c = defaults();
    hid_t                a = new_fapl(), b, other = new_fapl();

    c.scheme = H5FD_REDSET_RS;
    c.set_size = 12;
    c.checksums = 3;
    c.replicas = 5;
    c.timeout = 1.5;
    c.verify = H5FD_REDSET_VERIFY_READ;
    c.required = 0;
    c.async = 1;
    snprintf(c.failure_group, sizeof c.failure_group, "rack7");
    snprintf(c.files, sizeof c.files, "*.h5,x");
    snprintf(c.search, sizeof c.search, "/a:/b");
    CHECK(H5Pset_fapl_redset(a, &c) >= 0);
    CHECK(H5Pget_driver(a) == H5FD_REDSET);
    expect(a, &c);
    b = H5Pcopy(a);
    expect(b, &c);
    CHECK(H5Pequal(a, b) > 0);
    CHECK(H5Pset_fapl_redset(other, &c) >= 0 && H5Pequal(a, other) > 0);
    c.async = 0;
    CHECK(H5Pset_fapl_redset(other, &c) >= 0 && H5Pequal(a, other) == 0);
    expect(other, &c);
    c.timeout = 2;
    CHECK(H5Pset_fapl_redset(other, &c) >= 0 && H5Pequal(a, other) == 0);
    memset(c.files + 10, 'x', 20); /* behind the end of the string */
    CHECK(H5Pset_fapl_redset(b, &c) >= 0 && H5Pequal(b, other) > 0);
    strcpy(c.generation, "label:\"a\""); /* no quote is one too many where there are none around */
    CHECK(H5Pset_fapl_redset(b, &c) >= 0 && H5Pget_fapl_redset(b, &c) >= 0 &&
          strcmp(c.generation, "label:\"a\"") == 0);
    strcpy(c.generation, "");
    strcpy(c.report, "no"); /* is nowhere, as "" is */
    CHECK(H5Pset_fapl_redset(b, &c) >= 0 && H5Pequal(b, other) > 0);
    (void)H5Pclose(a);
    (void)H5Pclose(b);
    (void)H5Pclose(other);
}

static void
check_given_otherwise(void)
{
    H5FD_redset_config_t c = defaults(), got = defaults();
    hid_t                a = new_fapl();

    CHECK(H5Pset_driver_by_name(a, H5FD_REDSET_NAME,
                                "scheme=RS; checksums=3 async=yes files=\"a b\"") >= 0);
    CHECK(H5Pget_driver(a) == H5FD_REDSET);
    c.scheme = H5FD_REDSET_RS;
    c.checksums = 3;
    c.async = 1;
    c.required = 0; /* asked for in words, not in the program */
    snprintf(c.files, sizeof c.files, "a b");
    expect(a, &c);
    CHECK(H5Pset_driver_by_value(a, H5FD_REDSET_VALUE, NULL) >= 0);
    c = defaults();
    c.required = 0;
    expect(a, &c);
    c.set_size = 5;
    CHECK(H5Pset_driver(a, H5FD_REDSET, &c) >= 0); /* without this library's help */
    expect(a, &c);
    CHECK(H5Pset_driver_by_name(a, H5FD_REDSET_NAME, "scheme=WRONG") >= 0); /* found when used */
    CHECK(H5Pget_fapl_redset(a, &got) < 0 && strstr(message, "\"WRONG\"") != NULL);
    CHECK(H5Pset_fapl_sec2(a) >= 0);
    CHECK(H5Pget_fapl_redset(a, &got) < 0);
    (void)H5Pclose(a);
}

/* Structs of other headers: of an earlier version, which ended before `team`, and of a later one, which has more. */
static void
check_sizes(void)
{
    const size_t earlier = offsetof(H5FD_redset_config_t, parity);
    struct {
        H5FD_redset_config_t c;
        char                 more[64];
    } later;
    H5FD_redset_config_t c, got = defaults();
    hid_t                a = new_fapl();
    char                 rest[sizeof c - offsetof(H5FD_redset_config_t, parity)];

    memset(&c, 0xa5, sizeof c);
    memset(rest, 0xa5, sizeof rest);
    H5FD_redset_config_fill(&c, earlier - 1);
    CHECK(c.magic != H5FD_REDSET_CONFIG_MAGIC);
    H5FD_redset_config_fill(&c, earlier);
    CHECK(c.size == earlier && c.set_size == 8 && memcmp(&c.parity, rest, sizeof rest) == 0);
    c.set_size = 6;
    CHECK(H5Pset_fapl_redset(a, &c) >= 0);
    CHECK(H5Pget_fapl_redset(a, &got) >= 0 && got.size == sizeof got);
    CHECK(got.set_size == 6 && got.parity == 0 && got.team[0] == '\0');
    memset(&c, 0xa5, sizeof c);
    c.size = earlier;
    CHECK(H5Pget_fapl_redset(a, &c) >= 0 && c.set_size == 6 && c.size == earlier);
    CHECK(memcmp(&c.parity, rest, sizeof rest) == 0);
    CHECK(H5Pset_driver(a, H5FD_REDSET, &c) >= 0); /* without this library's help */
    CHECK(H5Pget_fapl_redset(a, &got) >= 0 && got.set_size == 6 && got.team[0] == '\0');
    c.size = earlier - 1;
    CHECK(H5Pget_fapl_redset(a, &c) < 0 && strstr(message, "its size is") != NULL);
    CHECK(H5Pset_fapl_redset(a, &c) < 0 && strstr(message, "its size is") != NULL);
    CHECK(H5Pset_driver(a, H5FD_REDSET, &c) >= 0); /* found when used */
    CHECK(H5Pget_fapl_redset(a, &got) < 0 && strstr(message, "its size is") != NULL);

    H5FD_redset_config_fill(&later.c, sizeof later);
    later.c.set_size = 7;
    CHECK(later.c.size == sizeof later && H5Pset_fapl_redset(a, &later.c) >= 0);
    CHECK(H5Pget_fapl_redset(a, &got) >= 0 && got.set_size == 7 && got.size == sizeof got);
    CHECK(H5Pget_fapl_redset(a, &later.c) >= 0 && later.c.size == sizeof got);
    H5FD_redset_config_fill(&later.c, sizeof later);
    later.more[63] = 1;
    CHECK(H5Pset_fapl_redset(a, &later.c) < 0 && strstr(message, "does not know") != NULL);
    CHECK(H5Pset_driver(a, H5FD_REDSET, &later.c) >= 0);
    CHECK(H5Pget_fapl_redset(a, &got) < 0 && strstr(message, "does not know") != NULL);
    (void)H5Pclose(a);
}

/* One word for the number of all schemes. */
static void
check_parity(void)
{
    H5FD_redset_config_t c = defaults(), got = defaults();
    hid_t                a = new_fapl();

    c.scheme = H5FD_REDSET_RS;
    c.parity = 3;
    CHECK(H5Pset_fapl_redset(a, &c) >= 0 && H5Pget_fapl_redset(a, &got) >= 0);
    CHECK(got.checksums == 3 && got.replicas == 1 && got.parity == 0);
    c.scheme = H5FD_REDSET_PARTNER;
    CHECK(H5Pset_fapl_redset(a, &c) >= 0 && H5Pget_fapl_redset(a, &got) >= 0);
    CHECK(got.checksums == 2 && got.replicas == 3);
    (void)H5Pclose(a);
}

void
refused(const H5FD_redset_config_t *c, const char *word)
{
    hid_t fapl = new_fapl();

    prints = 0;
    (void)H5Pset_fapl_sec2(fapl);
    CHECK(H5Pset_fapl_redset(fapl, c) < 0);
    CHECK(prints == 1);
    if (strstr(message, word) == NULL) {
        printf("no \"%s\" in: %s\n", word, message);
        wrong++;
    }
    CHECK(H5Pget_driver(fapl) == H5FD_SEC2);
    (void)H5Pclose(fapl);
}

#define REFUSED(change, word)                                                                      \
    do {                                                                                           \
        H5FD_redset_config_t c = defaults();                                                       \
        change;                                                                                    \
        refused(&c, word);                                                                         \
    } while (0)

static void
check_refusals(void)
{
    hid_t gone = new_fapl();

    (void)H5Pclose(gone);
    REFUSED(c.magic = 0, "H5FD_redset_config_init");
    REFUSED(c.version = 9, "version 9");
    REFUSED(c.scheme = 7, "scheme cannot be 7");
    REFUSED(c.scheme = -1, "scheme cannot be -1");
    REFUSED(c.set_size = 0, "set_size");
    REFUSED(c.replicas = 0, "replicas");
    REFUSED(c.checksums = -2, "checksums cannot be -2");
    REFUSED(c.parity = -1, "parity cannot be -1");
    REFUSED(c.parity = 2, "parity cannot be 2"); /* XOR */
    REFUSED(c.timeout = 0, "timeout");
    REFUSED(c.timeout = 0.0 / 0.0, "timeout");
    REFUSED(c.verify = 4, "verify cannot be 4");
    REFUSED(memset(c.files, 'x', sizeof c.files), "files");
    REFUSED(memset(c.search, 'x', sizeof c.search), "search");
    REFUSED(memset(c.job, 'x', sizeof c.job), "job");
    REFUSED(memset(c.team, 'x', sizeof c.team), "team");
    REFUSED(memcpy(c.job, "a\nb", 4), "job");
    REFUSED(memcpy(c.failure_group, "a\nb", 4), "group cannot be");
    REFUSED(memcpy(c.team, "a\tb", 4), "team cannot be");
    REFUSED(memcpy(c.report, "yes", 4), "report cannot be");
    REFUSED(memcpy(c.together, "a", 2), "together cannot be \"a\"");
    REFUSED(memcpy(c.together, "a,b,c,d,e,f,g,h,i", 18), "together cannot be");
    REFUSED(memcpy(c.generation, "last", 5), "generation cannot be \"last\"");
    REFUSED(memset(c.failure_group, 'x', sizeof c.failure_group), "failure_group");
    REFUSED((c.scheme = H5FD_REDSET_RS, c.set_size = 4, c.checksums = 4), "set_size 4");
    REFUSED(c.fapl_id = gone, "fapl_id");
    REFUSED(c.fapl_id = H5P_DATASET_CREATE_DEFAULT, "fapl_id");
    CHECK(H5Pset_fapl_redset(H5P_DATASET_CREATE_DEFAULT, NULL) < 0);
    CHECK(H5Pset_fapl_redset(gone, NULL) < 0);
    CHECK(H5Pget_fapl_redset(gone, NULL) < 0);
}

/* The lower property list is copied, and stays as long as anybody uses it. */
static void
check_lower_list(void)
{
    H5FD_redset_config_t c = defaults(), got = defaults();
    hid_t                lower = new_fapl(), a = new_fapl(), b;

    (void)H5Pset_fapl_stdio(lower);
    c.fapl_id = lower;
    CHECK(H5Pset_fapl_redset(a, &c) >= 0);
    CHECK(H5Pset_fapl_core(lower, 1024, false) >= 0);
    (void)H5Pclose(lower);
    b = H5Pcopy(a);
    (void)H5Pclose(a);
    CHECK(H5Pget_fapl_redset(b, &got) >= 0);
    CHECK(H5Pget_driver(got.fapl_id) == H5FD_STDIO);
    CHECK(H5Iget_ref(got.fapl_id) == 1);
    (void)H5Pclose(b);
    H5E_BEGIN_TRY
    {
        CHECK(H5Iis_valid(got.fapl_id) <= 0);
    }
    H5E_END_TRY
    a = new_fapl();
    CHECK(H5Pset_fapl_redset(a, NULL) >= 0);
    c.fapl_id = a;
    refused(&c, "redset again");
    (void)H5Pclose(a);
}

static void
check_after_h5close(void)
{
    hid_t a;

    CHECK(H5close() >= 0);
    (void)H5Eset_auto2(H5E_DEFAULT, print, NULL);
    a = new_fapl();
    CHECK(H5Pset_fapl_redset(a, NULL) >= 0 && H5Pget_driver(a) == H5FD_REDSET);
    REFUSED(c.set_size = 0, "set_size");
    (void)H5Pclose(a);
}

/* ---- files ---- */

static void
check_file(hid_t fapl, const char *name, const H5FD_redset_config_t *expected)
{
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl), again, got;

    CHECK(file >= 0);
    (void)H5Gclose(H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    got = H5Fget_access_plist(file);
    CHECK(H5Pget_driver(got) == H5FD_REDSET);
    expect(got, expected);
    again = H5Fopen(name, H5F_ACC_RDWR, got); /* the same file: one class, one cmp */
    CHECK(again >= 0);
    CHECK(H5Fclose(file) >= 0 && H5Pclose(got) >= 0 && H5Fclose(again) >= 0);
    file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
    CHECK(H5Lexists(file, "g", H5P_DEFAULT) > 0);
    (void)H5Fclose(file);
    CHECK(H5Fdelete(name, fapl) >= 0 && access(name, F_OK) != 0);
}

/* In memory, and written to the file when it is closed: protected, and opened again, as with any lower driver. */
static void
check_core(void)
{
    H5FD_redset_config_t c = defaults();
    hid_t                a = new_fapl(), lower = new_fapl(), file;

    c.scheme = H5FD_REDSET_SINGLE;
    c.fapl_id = lower;
    CHECK(H5Pset_fapl_core(lower, 1024, true) >= 0 && H5Pset_fapl_redset(a, &c) >= 0);
    for (int i = 0; i < 2; i++) { /* the second over the first */
        file = H5Fcreate("core.h5", H5F_ACC_TRUNC, H5P_DEFAULT, a);
        CHECK(H5Gclose(H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)) >= 0);
        CHECK(H5Fclose(file) >= 0 && access("core.h5.redset.names", F_OK) == 0);
    }
    file = H5Fopen("core.h5", H5F_ACC_RDONLY, a);
    CHECK(file >= 0 && H5Fclose(file) >= 0);
    file = H5Fopen("core.h5", H5F_ACC_RDWR, a);
    CHECK(file >= 0 && H5Ldelete(file, "g", H5P_DEFAULT) >= 0 && H5Fclose(file) >= 0);
    file = H5Fopen("core.h5", H5F_ACC_RDONLY, a);
    CHECK(file >= 0 && H5Lexists(file, "g", H5P_DEFAULT) == 0 && H5Fclose(file) >= 0);
    CHECK(H5Fdelete("core.h5", a) >= 0);
    (void)H5Pclose(lower);
    (void)H5Pclose(a);
}

static void
check_files(void)
{
    H5FD_redset_config_t c = defaults();
    hid_t                a = new_fapl(), lower = new_fapl();

    c.required = 0; /* nobody can protect these */
    CHECK(H5Pset_fapl_redset(a, &c) >= 0);
    check_file(a, "struct.h5", &c);
    CHECK(H5Pset_driver_by_name(a, H5FD_REDSET_NAME, "timeout=5") >= 0);
    c.timeout = 5;
    check_file(a, "string.h5", &c);
    (void)H5Pset_fapl_stdio(lower);
    c.fapl_id = lower;
    CHECK(H5Pset_fapl_redset(a, &c) >= 0);
    CHECK(H5Pget_fapl_redset(a, &c) >= 0); /* with the copy of `lower` */
    check_file(a, "stdio.h5", &c);
    (void)H5Pclose(lower);
    /* the property list goes first */
    lower = H5Fcreate("late.h5", H5F_ACC_TRUNC, H5P_DEFAULT, a);
    (void)H5Pclose(a);
    CHECK(H5Fclose(lower) >= 0 && unlink("late.h5") == 0);
}

/* ---- env ---- */

static void
check_environment(void)
{
    H5FD_redset_config_t c = defaults(), got = defaults();
    hid_t                a = new_fapl();

    CHECK(H5Pset_fapl_redset(a, &c) >= 0); /* a struct says everything */
    expect(a, &c);
    CHECK(H5Pset_fapl_redset(a, NULL) >= 0);
    c.scheme = H5FD_REDSET_PARTNER;
    expect(a, &c);
    CHECK(H5Pset_driver_by_name(a, H5FD_REDSET_NAME, NULL) >= 0);
    c.required = 0;
    expect(a, &c);
    CHECK(setenv("HDF5_DRIVER", "sec2", 1) == 0); /* then the settings are another driver's */
    CHECK(H5Pset_fapl_redset(a, NULL) >= 0);
    c = defaults();
    expect(a, &c);
    CHECK(setenv("HDF5_DRIVER", "redset", 1) == 0 && setenv("HDF5_DRIVER_CONFIG", "x=1", 1) == 0);
    refused(NULL, "\"x\"");
    CHECK(H5Pget_fapl_redset(a, &got) >= 0);
    (void)H5Pclose(a);
}

/* HDF5 has loaded another copy of the library, with a state of its own: this one says so whatever it is asked. */
static void
check_copies(void)
{
    H5FD_redset_config_t c = defaults();
    H5FD_redset_stats_t  stats = {.size = sizeof stats};
    hid_t                file = H5Fcreate("a.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);

    refused(&c, "HDF5 has loaded the driver redset from ");
    CHECK(strstr(message, "/copy/libhdf5_vfd_redset.so") != NULL);
    CHECK(strstr(message, "/plugins/libhdf5_vfd_redset.so") != NULL);
    CHECK(H5FDredset_commit(file) < 0 && strstr(message, "HDF5 has loaded") != NULL);
    CHECK(H5Fclose(file) >= 0);
    message[0] = '\0';
    CHECK(H5FDredset_wait(NULL) < 0 && strstr(message, "HDF5 has loaded") != NULL);
    CHECK(H5FDredset_stats(NULL, &stats) < 0 && H5FDredset_skip("x") < 0);
}

int
main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    (void)H5Eset_auto2(H5E_DEFAULT, print, NULL);
    if (strcmp(what, "struct") == 0) {
        check_defaults();
        check_round_trip();
        check_sizes();
        check_parity();
        check_given_otherwise();
        check_refusals();
        check_lower_list();
        check_after_h5close();
    } else if (strcmp(what, "env") == 0)
        check_environment();
    else if (strcmp(what, "files") == 0) {
        check_files();
        check_core();
    } else if (strcmp(what, "copies") == 0)
        check_copies();
    else if (strcmp(what, "comm") == 0)
        check_communicators();
    else if (argc == 3)
        use_pairs(what, argv[2]);
    else
        return 2;
    return wrong != 0;
}
