/* The table of the names that lie beside a data file says what section 3 of FORMAT-extensions.md says, and names are made and recognised
 * by it. */
#include "image.h"
#include "names/names_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PREFIX     "f.h5."
#define GENERATION "00000100000000ab"

enum { NAMES_MAX = 64 };

static const uint64_t generation = 0x00000100000000ab;

/* What is filled in where the document says <...>. */
static const struct {
    const char *word, *text;
} examples[] = {{"<redundancy file>", PREFIX "3.xor.grp_1_of_1.mem_4_of_4.redset"},
                {"<descriptor>", PREFIX "3.redset"},
                {"<prefix>", PREFIX},
                {"<name>", "f.h5"},
                {"<g>", GENERATION},
                {"<n>", GENERATION},
                {"<r>", "3"},
                {"<i>", "0"}};

enum { EXAMPLES = sizeof examples / sizeof *examples };

typedef struct names {
    size_t n;
    char   at[NAMES_MAX][256];
} names;

static bool
has(const names *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->at[i], name) == 0)
            return true;
    return false;
}

static void
add(names *to, const char *name)
{
    assert_true(to->n < NAMES_MAX);
    snprintf(to->at[to->n++], sizeof to->at[0], "%s", name);
}

/* ---- what the document says ---- */

static void
add_example(names *to, const char *from, const char *end)
{
    char   name[256] = "";
    size_t used = 0;

    while (from < end) {
        int k = 0;

        while (k < EXAMPLES && strncmp(from, examples[k].word, strlen(examples[k].word)) != 0)
            k++;
        assert_true(k < EXAMPLES || *from != '<');
        used += (size_t)(k < EXAMPLES
                             ? snprintf(name + used, sizeof name - used, "%s", examples[k].text)
                             : snprintf(name + used, sizeof name - used, "%c", *from));
        assert_true(used < sizeof name);
        from += k < EXAMPLES ? strlen(examples[k].word) : 1;
    }
    add(to, name);
}

/* All that is set as code in the first column of a line of the table. */
static void
add_line(names *to, const char *line)
{
    const char *const last = strstr(line + 1, " |");

    for (const char *at = strchr(line, '`'); at != NULL && at < last;) {
        const char *end = strchr(at + 1, '`');

        assert_non_null(end);
        add_example(to, at + 1, end);
        at = strchr(end + 1, '`');
    }
}

static void
read_document(names *out)
{
    char   path[4096];
    size_t size = 0;
    char  *text, *line;

    assert_non_null(getenv("REDSET_SOURCE_DIR"));
    snprintf(path, sizeof path, "%s/docs/FORMAT-extensions.md", getenv("REDSET_SOURCE_DIR"));
    text = (char *)read_file(path, &size);
    text = realloc(text, size + 1);
    assert_non_null(text);
    text[size] = '\0';
    line = strstr(text, "\n## 3. ");
    assert_non_null(line);
    *strstr(line + 1, "\n## ") = '\0';
    for (line = strstr(line, "\n| `"); line != NULL; line = strstr(line + 1, "\n| `"))
        add_line(out, line);
    free(text);
    add_line(out, "| `<redundancy file>`, `<descriptor>` |"); /* those of FORMAT.md */
}

/* ---- what the table says ---- */

static const struct {
    unsigned    after;
    const char *text;
} stems[] = {{RSET_AFTER_REDUNDANCY, PREFIX "3.xor.grp_1_of_1.mem_4_of_4.redset"},
             {RSET_AFTER_DESC, PREFIX "3.redset"},
             {RSET_AFTER_REBUILT, PREFIX "3.redset.0"},
             {RSET_AFTER_GENERATION, PREFIX "redset." GENERATION},
             {RSET_AFTER_NOTHING, PREFIX}};

/* Calls `see` for each name of the table. */
static void
each_name(void (*see)(const rset_name_row *row, unsigned after, const char *name, void *arg),
          void *arg)
{
    char name[256];

    for (const rset_name_row *row = rset_name_rows; row->kind != RSET_NAME_OTHER; row++)
        for (size_t i = 0; i < sizeof stems / sizeof *stems; i++)
            if ((row->after & stems[i].after) != 0) {
                snprintf(name, sizeof name, "%s%s", stems[i].text, row->suffix);
                see(row, stems[i].after, name, arg);
            }
}

static void
see_name(const rset_name_row *row, unsigned after, const char *name, void *arg)
{
    (void)row, (void)after;
    add(arg, name);
}

/* ---- tests ---- */

static void
the_document_has_the_same_names(void **state)
{
    static names documented, tabled;
    char         opened[NAME_MAX + 1];
    int          rank;

    (void)state;
    read_document(&documented);
    each_name(see_name, &tabled);
    assert_true(documented.n > 10 && tabled.n > 10);
    for (size_t i = 0; i < tabled.n; i++)
        if (!has(&documented, tabled.at[i]))
            fail_msg("%s: is in the table, and not in the document", tabled.at[i]);
    for (size_t i = 0; i < documented.n; i++)
        if (!has(&tabled, documented.at[i]) &&
            !rset_displaced_parse(documented.at[i], opened, &rank))
            fail_msg("%s: is in the document, and not in the table", documented.at[i]);
}

static void
see_kind(const rset_name_row *row, unsigned after, const char *name, void *arg)
{
    rset_name parsed;
    uint64_t  got = 0;
    char     *made = NULL, *prefix = NULL;
    bool      ours = false;

    (void)arg;
    assert_int_equal(rset_name_classify(name, PREFIX, &parsed, &got), row->kind);
    assert_int_equal(rset_name_seen(name, &ours, &prefix, NULL), RSET_OK);
    assert_true(ours);
    free(prefix);
    if (after == RSET_AFTER_GENERATION) {
        made = rset_name_of(row->kind, PREFIX, generation);
        assert_string_equal(made, name);
        assert_int_equal(got, generation);
    }
    free(made);
}

static void
names_are_recognised_and_made(void **state)
{
    (void)state;
    each_name(see_kind, NULL);
}

static bool
note_name(const char *name, void *arg)
{
    add(arg, name);
    return true;
}

static void
see_stem(const rset_name_row *row, unsigned after, const char *name, void *arg)
{
    static names of_stem;
    bool         fixed = false;
    char        *stem = rset_stem_of(name, PREFIX, &fixed);

    (void)arg;
    of_stem.n = 0;
    assert_int_equal(fixed, after == RSET_AFTER_NOTHING);
    if (!fixed) {
        assert_non_null(stem);
        assert_true(rset_stem_names(stem, PREFIX, note_name, &of_stem));
    }
    assert_int_equal(has(&of_stem, name), !fixed);
    of_stem.n = 0;
    assert_true(rset_older_names(generation, PREFIX, note_name, &of_stem));
    assert_int_equal(has(&of_stem, name), row->role == RSET_ROLE_BEFORE);
    free(stem);
}

/* Without listing the directory: by what a names file lists (N1), stems, and older generations by their numbers. */
static void
names_are_found_by_their_stems(void **state)
{
    (void)state;
    each_name(see_stem, NULL);
}

/* What protects an older generation that an earlier release has kept is no file of its own, which could be unprotected (section 10). */
static void
what_an_earlier_release_has_kept_is_no_file_of_its_own(void **state)
{
    static const char *const beside[] = {"3.redset", "3.xor.grp_1_of_1.mem_4_of_4.redset.redo"};

    (void)state;
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
        for (int former = 0; former <= 1; former++) {
            rset_err err = RSET_ERR_NONE;
            char    *prefix = NULL, name[256];
            bool     ours;

            snprintf(name, sizeof name, PREFIX "redset." GENERATION ".%s.%s",
                     former ? "kept" : "data", beside[i]);
            assert_int_equal(rset_name_seen(name, &ours, &prefix, &err), RSET_OK);
            assert_true(ours && (prefix == NULL) == (former != 0));
            free(prefix);
        }
}

/* What the document says of what can be gone back to, of what was put aside, and of which names are a data file's. */
static void
see_role(const rset_name_row *row, unsigned after, const char *name, void *arg)
{
    static const struct {
        rset_name_kind kind;
        rset_name_role role;
        bool           data;
    } others[] = {
        {RSET_NAME_FIX, RSET_ROLE_OWN, true},      {RSET_NAME_SHADOW, RSET_ROLE_OWN, true},
        {RSET_NAME_UNDO, RSET_ROLE_BEFORE, false}, {RSET_NAME_DATA, RSET_ROLE_BEFORE, true},
        {RSET_NAME_NEWER, RSET_ROLE_ASIDE, true},  {RSET_NAME_LOST, RSET_ROLE_ASIDE, true},
        {RSET_NAME_CHANGED, RSET_ROLE_ASIDE, true}};
    rset_name_role role = RSET_ROLE_OWN;
    bool           data = false;

    (void)after, (void)arg;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].kind == row->kind) {
            role = others[i].role;
            data = others[i].data;
        }
    if (rset_name_role_of(row->kind) != role || rset_name_is_data(row->kind) != data)
        fail_msg("%s: is of another generation, or another kind of content, than documented", name);
}

static void
names_stand_for_what_is_documented(void **state)
{
    (void)state;
    each_name(see_role, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_document_has_the_same_names),
        cmocka_unit_test(names_are_recognised_and_made),
        cmocka_unit_test(names_are_found_by_their_stems),
        cmocka_unit_test(what_an_earlier_release_has_kept_is_no_file_of_its_own),
        cmocka_unit_test(names_stand_for_what_is_documented),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
