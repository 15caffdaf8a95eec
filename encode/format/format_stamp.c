/* format_stamp.c: when, by whom and as what a generation was protected: TIME, SINCE, JOB, USER and LABEL of an info. See
 * format_internal.h. */
#include "common/utf8.h"
#include "format_internal.h"

#include <stdlib.h>
#include <string.h>

/* The texts of a stamp. */
static const struct text_field {
    const char *key;
    size_t      offset;
} texts[] = {{"JOB", offsetof(rset_stamp, job)},
             {"USER", offsetof(rset_stamp, user)},
             {"LABEL", offsetof(rset_stamp, label)}};

enum { TEXTS = sizeof texts / sizeof *texts };

static char **
text_of(const rset_stamp *stamp, int i)
{
    return (char **)(void *)((char *)(uintptr_t)stamp + texts[i].offset);
}

/* ---- text ---- */

bool
rset_stamp_may_be(const char *text)
{
    size_t n, len = 0;

    for (; text[len] != '\0'; len += n) {
        n = rset_utf8_printable(text + len);
        if (n == 0 || len + n > RSET_STAMP_TEXT)
            return false;
    }
    return len > 0;
}

/* ---- one stamp ---- */

void
rset_stamp_free(rset_stamp *stamp)
{
    for (int i = 0; i < TEXTS; i++)
        free(*text_of(stamp, i));
    *stamp = (rset_stamp){0};
}

bool
rset_stamp_copy(const rset_stamp *from, rset_stamp *to)
{
    *to = (rset_stamp){.time = from->time, .since = from->since};
    for (int i = 0; i < TEXTS; i++)
        if (*text_of(from, i) != NULL && (*text_of(to, i) = strdup(*text_of(from, i))) == NULL) {
            rset_stamp_free(to);
            return false;
        }
    return true;
}

bool
rset_part_put_stamp(rset_tree *tree, const rset_stamp *stamp)
{
    bool ok = stamp->time == 0 || rset_tree_set_u64(tree, "TIME", stamp->time) != NULL;

    ok = ok && (stamp->since == 0 || rset_tree_set_u64(tree, "SINCE", stamp->since) != NULL);

    for (int i = 0; i < TEXTS; i++)
        if (*text_of(stamp, i) != NULL)
            ok = ok && rset_tree_set(tree, texts[i].key, *text_of(stamp, i)) != NULL;
    return ok;
}

static rset_status
bad_text(const rset_subject *on, int i)
{
    return rset_subject_bad(on, "has a %s that is not 1 to %d bytes of printable text",
                            texts[i].key, (int)RSET_STAMP_TEXT);
}

rset_status
rset_part_check_stamp(const rset_subject *on, const rset_stamp *stamp)
{
    if (stamp->time > INT64_MAX)
        return rset_subject_bad(on, "has a TIME that cannot be");
    for (int i = 0; i < TEXTS; i++)
        if (*text_of(stamp, i) != NULL && !rset_stamp_may_be(*text_of(stamp, i)))
            return bad_text(on, i);
    return RSET_OK;
}

/* Files of another program, and of earlier releases, do not say it. */
rset_status
rset_part_get_stamp(const rset_subject *on, const rset_tree *tree, rset_stamp *out)
{
    if (rset_tree_find(tree, "TIME") != NULL &&
        !rset_tree_value_u64(tree, "TIME", INT64_MAX, &out->time))
        return rset_subject_bad(on, "has a TIME that is no number");
    if (rset_tree_find(tree, "SINCE") != NULL &&
        !rset_tree_value_u64(tree, "SINCE", UINT64_MAX, &out->since))
        return rset_subject_bad(on, "has a SINCE that is no number");
    for (int i = 0; i < TEXTS; i++) {
        const char *text = rset_tree_value(tree, texts[i].key);

        if (rset_tree_find(tree, texts[i].key) == NULL)
            continue;
        if (text ==
            NULL) /* more than one value; what it may be is checked with all else of the info */
            return bad_text(on, i);
        if ((*text_of(out, i) = strdup(text)) == NULL)
            return rset_subject_nomem(on);
    }
    return RSET_OK;
}
