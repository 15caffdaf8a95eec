/* said.c: see said.h. */
#include "said.h"

#include "common/crc64.h"
#include "common/err.h"
#include "common/signals.h"

#include <ctype.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { TEXTS_MAX = 64, KINDS_MAX = 64, SHOWN = 160 };

typedef struct said_kind {
    uint64_t key;
    unsigned times, counted; /* said; and not said because it was said often enough */
    char     first[SHOWN];
} said_kind;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* not only HDF5 calls, that has one */
static uint64_t        texts[TEXTS_MAX];                 /* of more the oldest is forgotten */
static said_kind       kinds[KINDS_MAX];                 /* the same */
static unsigned        ntexts, nkinds;

/* Of a text in which a run of digits counts as one character. */
static uint64_t
hash_folded(const char *s)
{
    uint64_t h = 0;

    for (; *s != '\0'; s++) {
        const bool digit = isdigit((unsigned char)*s) != 0;

        if (!digit || !isdigit((unsigned char)s[1]))
            h = rset_crc64(h, digit ? "#" : s, 1);
    }
    return h;
}

/* Was just this said? From now on it was. */
static bool
was_said(const char *text)
{
    const uint64_t key = rset_crc64(0, text, strlen(text));

    for (unsigned i = 0; i < ntexts && i < TEXTS_MAX; i++)
        if (texts[i] == key)
            return true;
    texts[ntexts++ % TEXTS_MAX] = key;
    return false;
}

static said_kind *
kind_of(const char *text)
{
    const uint64_t key = hash_folded(text);
    said_kind     *k;

    for (unsigned i = 0; i < nkinds && i < KINDS_MAX; i++)
        if (kinds[i].key == key)
            return &kinds[i];
    k = &kinds[nkinds++ % KINDS_MAX];
    *k = (said_kind){.key = key};
    snprintf(k->first, sizeof k->first, "%s", text);
    return k;
}

void
rset_say(const char *text)
{
    rset_signals before;

    rset_signals_hold(&before);
    rset_signals_release(&before, fputs(text, stderr) == EOF);
}

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void
say(const char *fmt, ...)
{
    char    line[2 * RSET_ERR_TEXT];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    rset_say(line);
}

void
rset_said(const char *text, int most)
{
    said_kind *k;

    pthread_mutex_lock(&lock);
    if (!was_said(text)) {
        k = kind_of(text);
        if (k->times >= (unsigned)most) {
            k->counted += most == RSET_SAID_MANY;
        } else {
            k->times++;
            say("redset: %s%s\n", text,
                k->times == RSET_SAID_MANY ? " (more that are like this are counted)" : "");
        }
    }
    pthread_mutex_unlock(&lock);
}

void
rset_said_sum_up(void)
{
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < nkinds && i < KINDS_MAX; i++) {
        if (kinds[i].counted > 0)
            say("redset: %u more as this one: %s\n", kinds[i].counted, kinds[i].first);
        kinds[i].counted = 0;
    }
    pthread_mutex_unlock(&lock);
}
