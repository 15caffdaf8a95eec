/* model_states.c: which states were reached, each once, and what was wrong. See model_steps.h. */
#include "model_steps.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t
hash(const model_world *w)
{
    const uint8_t *at = (const uint8_t *)w;
    uint64_t       h = UINT64_C(0xcbf29ce484222325), part;

    for (size_t i = 0; i < sizeof *w; i += sizeof part) {
        part = 0;
        memcpy(&part, at + i, sizeof *w - i < sizeof part ? sizeof *w - i : sizeof part);
        h = (h ^ part) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 29;
    }
    return h;
}

static bool
insert(model_world *slots, size_t n, const model_world *w)
{
    size_t i = hash(w) & (n - 1);

    for (; slots[i].crashes != 255; i = (i + 1) & (n - 1))
        if (memcmp(&slots[i], w, sizeof *w) == 0)
            return false;
    slots[i] = *w;
    return true;
}

static void *
must(void *at)
{
    if (at == NULL)
        abort();
    return at;
}

static void
grow_seen(model_explorer *e)
{
    model_world *old = e->seen;
    size_t       n = e->slots;

    e->slots = n == 0 ? 1 << 12 : 2 * n;
    e->seen = must(malloc(e->slots * sizeof *e->seen));
    memset(e->seen, 255, e->slots * sizeof *e->seen);
    for (size_t i = 0; i < n; i++)
        if (old[i].crashes != 255)
            insert(e->seen, e->slots, &old[i]);
    free(old);
}

void
model_reach(model_explorer *e, const model_world *w)
{
    if (2 * e->nseen >= e->slots)
        grow_seen(e);
    if (!insert(e->seen, e->slots, w))
        return;
    e->nseen++;
    if (e->ntodo == e->room) {
        e->room = e->room == 0 ? 1024 : 2 * e->room;
        e->todo = must(realloc(e->todo, e->room * sizeof *e->todo));
    }
    e->todo[e->ntodo++] = *w;
}

static const char *
show(const model_world *w, char *buf, size_t size)
{
    size_t used = 0;

    for (int r = 0; r < MODEL_RANKS; r++) {
        const model_disk *d = &w->d[r];

        used += (size_t)snprintf(buf + used, size - used,
                                 " {data %d red %d void %d next %d shadow %d%s aside %d journal "
                                 "%d%s%s label %d}",
                                 d->data, d->red, d->red_void, d->next, d->shadow,
                                 d->shadow_named ? "n" : "", d->aside, d->journal,
                                 d->first ? "f" : "", d->replaced ? "r" : "", d->label);
    }
    return buf;
}

void
model_wrong(model_explorer *e, const model_world *w, const char *fmt, ...)
{
    char    text[256], disks[1024];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (e->out->wrong++ == 0)
        snprintf(e->out->first_wrong, sizeof e->out->first_wrong,
                 "%s: %s; crashes %d, losses %d, told %d:%s", e->s->name, text, w->crashes,
                 w->losses, w->told, show(w, disks, sizeof disks));
}
