/* map.h: sets over nodes as a grid, whatever it is drawn with. */
#ifndef MAP_H
#define MAP_H

#include "catalog.h"

typedef struct map {
    /* Nodes, then "was on" each node that lost files were on; where all is on one host, directories; last what was found nowhere, and where
     * it was is not recorded. */
    strings columns;
    bool    hosts; /* they are nodes */
} map;

/* Columns for everything that was asked for. */
void map_make(const catalog *c, map *out);
void map_free(map *m);

/* The column of a file. */
int map_column(const map *m, const member *one);

/* A column's heading as it can be shown, at most `width` bytes, cut at the front. A new string. */
char *map_heading(const map *m, int column, int width);

#endif
