/* report_list.c: the generations that there are of each file, in words and for scripts. See report.h. */
#include "exits.h"
#include "json.h"
#include "judge.h"
#include "replaced.h"
#include "report.h"

#include <stdlib.h>

/* ---- one generation, in words ---- */

/* Can its content be had, with what was seen? */
static bool
can_be_had(const listed *g)
{
    const rset_decision *d = &g->f->decision;

    return d->verdict != RSET_VERDICT_REFUSE && !is_deleted(d);
}

/* Is it noted that all ranks together could not have it, and did nobody look closer since? */
static bool
was_refused(const listed *g)
{
    bool was = false;

    for (const member *m = NULL; !was && (m = family_next(g->f, m)) != NULL;)
        was = m->seen != NULL && m->seen->said.refused && !m->seen->verified;
    return was && family_is_recorded(g->f);
}

static const char *
state_word(const listed *g)
{
    if (is_deleted(&g->f->decision))
        return "deleted";
    if (g->f->elsewhere)
        return "elsewhere";
    if (!can_be_had(g))
        return "cannot be had";
    if (was_refused(g))
        return "refused";
    if (!family_is_recorded(g->f))
        return "not recorded";
    if (g->f->decision.verdict == RSET_VERDICT_RESTORE)
        return "can be rebuilt";
    return exit_status_of(&g->f->decision) == EXITS_WELL ? "healthy" : "as it is";
}

static char *
count_bad(const family *f, const char *then)
{
    int bad = 0, all = 0;

    for (const member *m = NULL; (m = family_next(f, m)) != NULL; all++)
        bad += m->state != STATE_HEALTHY;
    return must_print("of %d files %d %s lost, damaged or not protected%s", all, bad,
                      bad == 1 ? "is" : "are", then);
}

/* Why it is not healthy; "": it is. A new string. */
static char *
why(const listed *g)
{
    const rset_decision *d = &g->f->decision;

    if (!family_is_recorded(g->f))
        return reason_text(d, &g->f->all);
    if (was_refused(g) && d->verdict != RSET_VERDICT_REFUSE)
        return must_copy("all ranks together could not have it when they opened it last; --verify "
                         "says what is damaged");
    if (is_deleted(d) || g->f->superseded != 0 || g->f->elsewhere)
        return advice(g->f);
    if (exit_status_of(d) == EXITS_WELL)
        return must_copy("");
    if (d->verdict == RSET_VERDICT_RESTORE)
        return count_bad(g->f, "");
    return d->reason == RSET_REASON_UNRECOVERABLE
               ? count_bad(g->f, ", which is more than the scheme covers, with what can be reached")
               : reason_text(d, &g->f->all);
}

/* "XOR", "RS:2". */
static char *
scheme_text(const listed *g)
{
    const rset_desc *d = &g->f->desc;

    if (d->scheme == NULL)
        return must_copy("?");
    return d->scheme->count_key != NULL ? must_print("%s:%d", d->scheme->name, d->parity)
                                        : must_copy(d->scheme->name);
}

static void
print_one(const listed *g, FILE *to)
{
    const rset_stamp stamp = family_stamp(g->f);
    char            *scheme = scheme_text(g), *reason = why(g), size[32], bytes[32], date[64];
    char            *label = must_print(stamp.label != NULL ? "  \"%s\"" : "", stamp.label);

    show_date(stamp.time, date, sizeof date);
    print_line(to, "  %6u  %-19s  %-9s %5d  %-10s %-10s  %s%s%s", generation_number(g->generation),
               date, scheme, g->f->desc.ranks, rset_amount_say(g->size, size),
               rset_amount_say(g->bytes, bytes), state_word(g), g->newest ? ", newest" : "", label);
    if (reason[0] != '\0')
        print_line(to, "          -> %s", reason);
    free(label);
    free(reason);
    free(scheme);
}

void
report_list(const lists *all, bool verified, FILE *to)
{
    if (all->n > 0)
        report_unread(verified, to);
    for (size_t i = 0; i < all->n; i++) {
        const file_list *l = &all->at[i];
        char            *name = list_name(l);

        print_line(to, "%s: %zu generation%s", name, l->n, l->n == 1 ? "" : "s");
        print_line(to, "  %6s  %-19s  %-9s %5s  %-10s %-10s  %s", "number", "protected", "scheme",
                   "ranks", "size", "on disk", "state");
        for (size_t k = 0; k < l->n; k++)
            print_one(&l->at[k], to);
        report_aside(l, to);
        free(name);
    }
}

/* ---- for scripts ---- */

static json_t *
one_generation(const listed *g)
{
    const rset_stamp stamp = family_stamp(g->f);
    const rset_desc *d = &g->f->desc;
    const bool       recorded = family_is_recorded(g->f);
    json_t          *o = json_object();
    char            *reason = why(g);

    json_put_generation(o, g->generation);
    json_put(o, "newest", json_boolean(g->newest));
    json_put(o, "time", stamp.time != 0 ? json_integer((json_int_t)stamp.time) : json_null());
    json_put_text(o, "label", stamp.label);
    json_put_text(o, "scheme", recorded ? d->scheme->name : NULL);
    json_put(o, "parity", recorded ? json_integer(d->parity) : json_null());
    json_put(o, "ranks", recorded ? json_integer(d->ranks) : json_null());
    json_put(o, "size", json_integer((json_int_t)g->size));
    json_put(o, "bytes", json_integer((json_int_t)g->bytes));
    json_put(o, "can_be_had", json_boolean(can_be_had(g)));
    json_put_text(o, "state", state_word(g));
    json_put_text(o, "why", reason);
    free(reason);
    return o;
}

json_t *
json_of_list(const file_list *l)
{
    json_t *list = json_array();

    for (size_t k = 0; l != NULL && k < l->n; k++)
        json_append(list, one_generation(&l->at[k]));
    return list;
}

json_t *
json_of_aside(const file_list *l)
{
    json_t *list = json_array();

    for (size_t k = 0; l != NULL && k < l->naside; k++) {
        json_t *o = one_generation(&l->aside[k]);
        char   *names = aside_names(&l->aside[k]);

        json_put_text(o, "names", names);
        json_append(list, o);
        free(names);
    }
    return list;
}

void
report_list_json(const picture *p, bool verified, FILE *to)
{
    const lists *all = &p->all;
    const int    status = exits_where(lists_exit_status(all), p->there);
    json_t      *top = json_begin("h5redset-list/1", verified, status), *files = json_array();

    for (size_t i = 0; i < all->n; i++) {
        json_t *o = json_object();
        char   *name = list_name(&all->at[i]);

        json_put_text(o, "name", name);
        json_put(o, "generations", json_of_list(&all->at[i]));
        json_put(o, "put_aside", json_of_aside(&all->at[i]));
        json_append(files, o);
        free(name);
    }
    json_put(top, "files", files);
    json_put(top, "changed_files", json_of_replaced(&p->replaced, &p->newest));
    json_end(top, to);
}
