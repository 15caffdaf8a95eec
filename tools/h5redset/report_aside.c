/* report_aside.c: what was put aside, since it could not be had, and what to do with it. See report.h. */
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>

char *
aside_names(const listed *g)
{
    return must_print("*.redset.%016" PRIx64 ".%s*", g->generation,
                      listed_is_lost(g) ? "lost" : "newer");
}

void
report_aside(const file_list *l, FILE *to)
{
    for (size_t k = 0; l != NULL && k < l->naside; k++) {
        const listed *g = &l->aside[k];
        char          bytes[32], *names = aside_names(g);

        fprintf(
            to,
            "  put aside, since it could not be had: generation %u: %s, as %s\n"
            "    -> if what was lost of it comes back, with the directory that it was in, make it "
            "the newest again: h5redset restore --generation=%u; if you do not need it, "
            "remove it: h5redset drop --generation=%u\n",
            generation_number(g->generation), rset_amount_say(g->bytes, bytes), names,
            generation_number(g->generation), generation_number(g->generation));
        free(names);
    }
}
