/* utf8.h: text that is shown or recorded: UTF-8, without characters that do something to a terminal or a line. */
#ifndef RSET_UTF8_H
#define RSET_UTF8_H

#include <stddef.h>

/* Bytes of the printable character that begins at `text`, which ends with NUL. 0: it is none: no whole character in its shortest
 * form, a control character, or one that ends a line, or turns the direction of what follows it. Of NUL it is 0 as well. */
size_t rset_utf8_printable(const char *text);

#endif
