/* json.c: see json.h. */
#include "json.h"

#include "text.h"

#include <stdlib.h>

void
json_put(json_t *to, const char *key, json_t *value)
{
    if (value == NULL || json_object_set_new(to, key, value) != 0)
        no_memory();
}

void
json_append(json_t *list, json_t *value)
{
    if (json_array_append_new(list, value) != 0)
        no_memory();
}

void
json_put_text(json_t *to, const char *key, const char *text)
{
    char *safe = text != NULL ? shown(text) : NULL;

    json_put(to, key, safe != NULL ? json_string(safe) : json_null());
    free(safe);
}
