/* format_together.c: which other files of a member were committed with it: TOGETHER of an info. See format_internal.h. */
#include "format_internal.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 255 };

/* ---- the list ---- */

bool
rset_together_next(const char **list, char name_out[NAME_MAX_BYTES + 1])
{
    const size_t n = *list != NULL ? strcspn(*list, "/") : 0;

    if (n == 0 || n > NAME_MAX_BYTES)
        return false;
    memcpy(name_out, *list, n);
    name_out[n] = '\0';
    *list += n + ((*list)[n] == '/');
    return true;
}

bool
rset_together_may_be(const char *text)
{
    char name[NAME_MAX_BYTES + 1];
    int  n = 0;

    if (text[0] == '\0' || strnlen(text, RSET_TOGETHER_TEXT + 1) > RSET_TOGETHER_TEXT ||
        text[strlen(text) - 1] == '/')
        return false;
    for (const char *at = text; *at != '\0'; n++)
        if (!rset_together_next(&at, name) || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            return false;
    return n < RSET_TOGETHER_MAX;
}

/* ---- the key ---- */

bool
rset_part_put_together(rset_tree *tree, const char *together)
{
    return together == NULL || rset_tree_set(tree, "TOGETHER", together) != NULL;
}

rset_status
rset_part_check_together(const rset_subject *on, const char *together)
{
    if (together != NULL && !rset_together_may_be(together))
        return rset_subject_bad(on, "has a TOGETHER that is not 1 to %d names of files",
                                RSET_TOGETHER_MAX - 1);
    return RSET_OK;
}

/* Files of another program, of earlier releases, and those that were committed by themselves do not say it. */
rset_status
rset_part_get_together(const rset_subject *on, const rset_tree *tree, char **out)
{
    const char *text = rset_tree_value(tree, "TOGETHER");

    if (rset_tree_find(tree, "TOGETHER") == NULL)
        return RSET_OK;
    if (text == NULL) /* more than one value; what it may be is checked with all else of the info */
        return rset_part_check_together(on, "");
    *out = strdup(text);
    return *out != NULL ? RSET_OK : rset_subject_nomem(on);
}
