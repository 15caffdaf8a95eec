/* format_subject.c: what is wrong with a header, in words. See format_internal.h. */
#include "format_internal.h"

#include <stdarg.h>
#include <stdio.h>

rset_status
rset_subject_bad(const rset_subject *on, const char *fmt, ...)
{
    char    text[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return rset_fail(on->err, on->blame, "%s: header %s; %s", on->what, text,
                     on->blame == RSET_DAMAGED ? "it counts as lost" : "it was not written");
}

rset_status
rset_subject_nomem(const rset_subject *on)
{
    return rset_fail(on->err, RSET_NOMEM, "%s: out of memory for the header", on->what);
}
