/* lists.h: the generations that there are of files, put together from what was seen: of the newest in one catalog, of those that are
 * kept beside it in another. Which of them is meant is the engine's to say (recover/generations.h). */
#ifndef LISTS_H
#define LISTS_H

#include "catalog.h"

/* One generation of the files of all ranks. */
typedef struct listed {
    uint64_t generation; /* 0: its writer records none */
    bool     newest;     /* it has the files' names */
    bool     aside;      /* it was put aside, when an older one took its place */
    const family
        *f; /* where nothing that can be reached records how it was protected: one of its files */
    uint64_t size, bytes; /* of the data files; on disk, as far as they were found */
} listed;

/* The files of all ranks that were asked for, in all generations, newest first; at least one of the two lists is not empty. What was put
 * aside is no generation that can be opened. */
typedef struct file_list {
    size_t  n, room, naside, aside_room;
    listed *at, *aside;
} file_list;

typedef struct lists {
    size_t     n;
    file_list *at; /* by name */
} lists;

/* Both catalogs must stay as they are for as long as the lists. */
void lists_make(const catalog *newest, const catalog *older, lists *out);
void lists_free(lists *all);

/* Was it put aside when new files were created (.lost), and not when an older one took its place (.newer)? */
bool listed_is_lost(const listed *g);

/* The list that these files, of the newest, are in; NULL: none. */
const file_list *lists_find(const lists *all, const family *f);

/* What the files go by. A new string. */
char *list_name(const file_list *l);

/* As family_key. */
char *list_key(const file_list *l);

/* What the engine has to know of the list to say which generation is meant. */
void list_generations(const file_list *l, const rset_which *which, rset_generations *out);

/* That generation; NULL: it is none of the list, or was put aside. */
const listed *list_find(const file_list *l, uint64_t generation);

/* The one of those that were put aside which is meant; NULL: none of them. */
const listed *list_find_aside(const file_list *l, const rset_which *which);

/* Worst first, as catalog_exit_status: of all generations that are listed. */
int lists_exit_status(const lists *all);

#endif
