/* utf8.c: see utf8.h. */
#include "utf8.h"

#include <stdbool.h>
#include <stdint.h>

/* Bytes of the character at `s`; 0: it is none. *code_out: its number. */
static size_t
character(const unsigned char *s, uint32_t *code_out)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc0 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    uint32_t     code = n == 1 ? s[0] : s[0] & (0x7fu >> n);

    if (n == 0 || s[0] >= 0xf8)
        return 0;
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) /* the final NUL is no such byte */
            return 0;
        code = code << 6 | (s[i] & 0x3f);
    }
    *code_out = code;
    return code >= least[n] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? n : 0;
}

/* Neither a control character nor one that ends a line, says its direction, or turns that of what follows it. */
static bool
is_printable(uint32_t code)
{
    static const uint32_t refused[][2] = {{0, 0x1f},        {0x7f, 0x9f},     {0x61c, 0x61c},
                                          {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069},
                                          {0xfeff, 0xfeff}};

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (code >= refused[i][0] && code <= refused[i][1])
            return false;
    return (code & 0xfffe) != 0xfffe;
}

size_t
rset_utf8_printable(const char *text)
{
    uint32_t     code = 0;
    const size_t n = character((const unsigned char *)text, &code);

    return n > 0 && is_printable(code) ? n : 0;
}
