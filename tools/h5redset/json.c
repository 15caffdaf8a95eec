/* json.c: see json.h. */
#include "json.h"

#include "catalog.h"
#include "text.h"

#include <inttypes.h>
#include <stdio.h>
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

void
json_put_generation(json_t *to, uint64_t generation)
{
    char id[24];

    snprintf(id, sizeof id, "%016" PRIx64, generation);
    json_put(to, "generation", json_integer((json_int_t)generation_number(generation)));
    json_put_text(to, "generation_id", id);
}

json_t *
json_begin(const char *schema, bool verified, int status)
{
    json_t *all = json_object();

    json_put_text(all, "schema", schema);
    json_put_text(all, "version", REDSET_VERSION);
    json_put(all, "verified", json_boolean(verified));
    json_put(all, "exit_status", json_integer(status));
    return all;
}

void
json_end(json_t *all, FILE *to)
{
    if (json_dumpf(all, to, JSON_INDENT(2) | JSON_PRESERVE_ORDER) != 0)
        no_memory();
    fputc('\n', to);
    json_decref(all);
}
