/* scheme.c: see scheme.h. The one list of schemes, and the sizes that follow from a shape. */
#include "scheme.h"

#include <stddef.h>

static const rset_scheme *const schemes[] = {
    &rset_scheme_single,
    &rset_scheme_partner,
    &rset_scheme_xor,
    &rset_scheme_rs,
};

const char rset_scheme_names[] = "SINGLE, PARTNER, XOR, RS";

/* ASCII whatever the locale: in a Turkish one the small letter of I is not i. */
static char
upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static bool
same_name(const char *name, const char *given)
{
    while (*name != '\0' && *name == upper(*given)) {
        name++;
        given++;
    }
    return *name == '\0' && *given == '\0';
}

const rset_scheme *
rset_scheme_by_name(const char *name)
{
    for (size_t i = 0; name != NULL && i < sizeof schemes / sizeof schemes[0]; i++) {
        if (same_name(schemes[i]->name, name))
            return schemes[i];
    }
    return NULL;
}

uint64_t
rset_shape_chunk(const rset_scheme *scheme, int members, int parity, uint64_t longest)
{
    uint64_t parts = (uint64_t)(members - parity), chunk;

    if (!scheme->striped)
        return 0;
    chunk = longest / parts + (longest % parts != 0);
    return chunk > 0 ? chunk : 1;
}

uint64_t
rset_shape_payload(const rset_shape *shape, int member)
{
    int      n = shape->members;
    uint64_t total = 0;

    if (shape->scheme->striped)
        return (uint64_t)shape->parity * shape->chunk;
    for (int d = 1; d <= shape->parity; d++) /* no parity in SINGLE: 0 */
        total += shape->length[member >= d ? member - d : member - d + n];
    return total;
}
