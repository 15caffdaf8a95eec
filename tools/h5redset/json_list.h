/* json_list.h: the generations of files as JSON, which reports of several kinds have in them. */
#ifndef JSON_LIST_H
#define JSON_LIST_H

#include "lists.h"

#include <jansson.h>

/* All of them; of NULL an empty list. */
json_t *json_of_list(const file_list *l);

/* The same of those that were put aside, with how their files are called. */
json_t *json_of_aside(const file_list *l);

#endif
