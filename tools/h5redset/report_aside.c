/* report_aside.c: what was put aside when an older generation took its place, and what to do with it. See report.h. */
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>

char *
aside_names(const listed *g)
{
    return must_print("*.redset.%016" PRIx64 ".newer*", g->generation);
}

void
report_aside(const file_list *l, FILE *to)
{
    for (size_t k = 0; l != NULL && k < l->naside; k++) {
        const listed *g = &l->aside[k];
        char          bytes[32], *names = aside_names(g);

        fprintf(to,
                "  put aside, since it could not be had: generation %u: %s, as %s\n"
                "    -> if what was lost of it comes back, move it to another directory, under the "
                "names that it had, and open it there with all ranks; if you do not need it, "
                "remove it: rm %s\n",
                generation_number(g->generation), show_bytes(g->bytes, bytes), names, names);
        free(names);
    }
}
