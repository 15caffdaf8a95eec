/* report_json.c: the same for scripts; h5redset(1) describes it. See report.h. */
#include "exits.h"
#include "json.h"
#include "owner.h"
#include "replaced.h"
#include "report.h"

#include <stdlib.h>
#include <time.h>

static void
put_time(json_t *to, const char *key, uint64_t seconds)
{
    time_t    when = (time_t)seconds;
    struct tm utc;
    char      text[40] = "";

    if (gmtime_r(&when, &utc) != NULL)
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    json_put_text(to, key, text);
}

static json_t *
ranges(const rset_ranges *bad)
{
    json_t *list = json_array();

    for (size_t i = 0; i < bad->n; i++) {
        const rset_range *r = &bad->at[i];
        json_t           *pair = json_array();

        json_append(pair, json_integer((json_int_t)r->from));
        json_append(pair, r->to == UINT64_MAX ? json_null() : json_integer((json_int_t)r->to));
        json_append(list, pair);
    }
    return list;
}

static const char *
redundancy_word(const member *m)
{
    if (!m->own)
        return "missing";
    return m->seen->payload.n > 0 || sighting_is_undescribed(m->seen) ? "damaged" : "healthy";
}

static json_t *
file(const member *m, int index)
{
    json_t    *f = json_object();
    const bool known = m->seen != NULL || m->belongs != NULL || m->known != NULL;
    char      *words = describe_state(m);

    json_put(f, "member", json_integer(index));
    json_put(f, "rank", m->rank >= 0 ? json_integer(m->rank) : json_null());
    json_put_text(f, "path", known ? member_path(m) : NULL);
    json_put(f, "found", json_boolean(m->seen != NULL));
    json_put(f, "size",
             m->known != NULL ? json_integer((json_int_t)rset_info_length(m->known)) : json_null());
    json_put_text(f, "state", state_looks[m->state].word);
    json_put_text(f, "detail", words);
    json_put_text(f, "renamed_from",
                  m->seen != NULL && m->seen->renamed ? sighting_old_name(m->seen) : NULL);
    json_put_text(f, "report", rset_state_name(m->report.state));
    json_put_text(f, "redundancy", redundancy_word(m));
    json_put_text(f, "recorded_host", m->known != NULL ? m->known->host : NULL);
    if (m->seen != NULL) {
        json_put_text(f, "host", m->seen->host);
        json_put(f, "verified", json_boolean(m->seen->verified));
        json_put(f, "bad", ranges(&m->seen->data));
        json_put(f, "bad_redundancy", ranges(&m->seen->payload));
    }
    free(words);
    return f;
}

static void
put_decision(json_t *to, const family *f)
{
    char *text = advice(f);

    json_put_text(to, "decision", rset_verdict_name(f->decision.verdict));
    json_put_text(to, "reason", rset_reason_name(f->decision.reason));
    json_put_text(to, "advice", text);
    free(text);
}

static json_t *
one_set(const catalog *c, const lists *all, const cat_set *s, int64_t now)
{
    const rset_desc *d = &s->desc;
    json_t          *o = json_object(), *files = json_array();
    const rset_stamp stamp = family_stamp(&c->families[s->family]);
    char            *user = owner_recorded(stamp.user);
    char            *why = must_print("%s%s%s", s->lost ? SET_GONE : "",
                           s->lost && s->why[0] != '\0' ? ": " : "", s->why);

    json_put(o, "set", json_integer(d->set));
    json_put(o, "sets", json_integer(d->sets));
    json_put(o, "ranks", json_integer(d->ranks));
    json_put_text(o, "scheme", d->scheme->name);
    json_put(o, "parity", json_integer(d->parity));
    json_put_generation(o, d->generation);
    put_time(o, "protected", s->when);
    json_put(o, "age_seconds", json_integer((json_int_t)(now - (int64_t)s->when)));
    json_put_text(o, "job", stamp.job);
    json_put_text(o, "user", user);
    json_put_text(o, "label", stamp.label);
    json_put_text(o, "verdict", verdict_looks[s->verdict].word);
    json_put_text(o, "why", why);
    put_decision(o, &c->families[s->family]);
    free(user);
    free(why);
    for (int i = 0; i < d->members; i++)
        json_append(files, file(&s->members[i], i));
    json_put(o, "files", files);
    json_put(o, "generations", json_of_list(lists_find(all, &c->families[s->family])));
    json_put(o, "put_aside", json_of_aside(lists_find(all, &c->families[s->family])));
    return o;
}

static json_t *
one_stray(const family *one)
{
    const sighting *s = one->sets->members->seen;
    json_t         *o = json_object();

    json_put_text(o, "path", s->path);
    json_put_text(o, "host", s->host);
    json_put_text(o, "trouble", s->trouble != NULL ? s->trouble : "");
    json_put_text(o, "decision", rset_verdict_name(one->decision.verdict));
    json_put_text(o, "reason", rset_reason_name(one->decision.reason));
    return o;
}

void
report_json(const picture *p, bool verified, int64_t now, FILE *to)
{
    const catalog *c = &p->newest;
    const int      status = exits_where(catalog_exit_status(c), p->there);
    json_t        *all = json_begin("h5redset-status/1", verified, status);
    json_t        *sets = json_array(), *strays = json_array();

    for (size_t i = 0; i < c->n; i++)
        if (c->sets[i]->asked)
            json_append(sets, one_set(c, &p->all, c->sets[i], now));
    for (size_t i = 0; i < c->nstrays; i++)
        json_append(strays, one_stray(&c->strays[i]));
    json_put(all, "sets", sets);
    json_put(all, "unknown", strays);
    json_put(all, "changed_files", json_of_replaced(&p->replaced, c));
    json_end(all, to);
}
