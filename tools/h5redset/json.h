/* json.h: what is made of JSON values; without memory the process ends with a message. */
#ifndef JSON_H
#define JSON_H

#include "lists.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* Gives the object, or list, a value, which it owns from then on. */
void json_put(json_t *to, const char *key, json_t *value);
void json_append(json_t *list, json_t *value);

/* A text as it can be shown (text.h); NULL: null. */
void json_put_text(json_t *to, const char *key, const char *text);

/* What is printed for scripts begins with this: an object. `status`: the exit status. */
json_t *json_begin(const char *schema, bool verified, int status);

/* Prints it, and frees it. */
void json_end(json_t *all, FILE *to);

/* A generation: its number ("generation"), and all of it as names and options have it ("generation_id"). */
void json_put_generation(json_t *to, uint64_t generation);

/* All generations of a list (report_list.c); of NULL an empty list. */
json_t *json_of_list(const file_list *l);

/* The same of those that were put aside, with how their files are called. */
json_t *json_of_aside(const file_list *l);

#endif
