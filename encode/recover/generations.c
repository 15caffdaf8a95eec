/* generations.c: see generations.h. */
#include "generations.h"

#include "commit/kept.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is meant ---- */

const char rset_which_forms[] = "-1, -2, ... (so many before the newest), a number of commits, as "
                                "\"h5redset list\" shows it, 16 hexadecimal digits, as in the "
                                "names of files, or label:NAME";

static const char label_word[] = "label:";

enum { DIGITS = 16 }; /* of a generation, in full */

rset_status
rset_which_parse(const char *text, rset_which *out, rset_err *err)
{
    const bool     back = text[0] == '-';
    const char    *digits = back ? text + 1 : text;
    const size_t   n = strspn(digits, "0123456789"), word = sizeof label_word - 1;
    const uint64_t value = n > 0 && n < 9 ? strtoull(digits, NULL, 10) : 0;

    if (strncmp(text, label_word, word) == 0 && rset_stamp_may_be(text + word)) {
        *out = (rset_which){0};
        snprintf(out->label, sizeof out->label, "%s", text + word);
        return RSET_OK;
    }
    if (strlen(text) == DIGITS && strspn(text, "0123456789abcdef") == DIGITS) {
        *out = (rset_which){.exact = strtoull(text, NULL, 16)};
        if (out->exact != 0)
            return RSET_OK;
    }
    if (digits[n] != '\0' || value == 0)
        return rset_fail(err, RSET_USAGE, "generation cannot be \"%s\"; possible: %s", text,
                         rset_which_forms);
    *out = back ? (rset_which){.back = (unsigned)value} : (rset_which){.commits = value};
    return RSET_OK;
}

/* How many have that number, and the newest of them. */
static int
count(const rset_generations *all, uint64_t commits, uint64_t *newest_out)
{
    int n = 0;

    for (uint64_t i = all->n; i > 0; i--)
        if (rset_generation_commits(all->at[i - 1]) == commits) {
            *newest_out = all->at[i - 1];
            n++;
        }
    return n;
}

uint64_t
rset_generations_find(const rset_generations *all, const rset_which *which)
{
    uint64_t found = 0;

    if (which->label[0] != '\0')
        return all->labelled;
    if (which->back > 0)
        return which->back < all->n ? all->at[which->back] : 0;
    for (uint64_t i = 0; which->exact != 0 && i < all->n; i++)
        if (all->at[i] == which->exact)
            return which->exact;
    return which->exact == 0 && count(all, which->commits, &found) == 1 ? found : 0;
}

void
rset_generations_name(const rset_generations *all, uint64_t generation,
                      char out[RSET_GENERATION_NAME])
{
    const uint64_t commits = rset_generation_commits(generation);
    uint64_t       newest = 0;

    if (count(all, commits, &newest) > 1)
        snprintf(out, RSET_GENERATION_NAME, "%016" PRIx64, generation);
    else
        snprintf(out, RSET_GENERATION_NAME, "%" PRIu64, commits);
}

static bool
is_number_of_several(const rset_generations *all, const char *text)
{
    rset_which which;
    uint64_t   newest;

    return rset_which_parse(text, &which, NULL) == RSET_OK && which.commits != 0 &&
           count(all, which.commits, &newest) > 1;
}

/* Where labels are known they are said; of generations that only a rank has which does not know its label, nothing is. */
rset_status
rset_generations_none(const rset_generations *all, const char *which, const char *path,
                      rset_err *err)
{
    char   list[RSET_GENERATIONS_MAX * (RSET_GENERATION_NAME + 2)] = "";
    size_t len = 0;

    for (uint64_t i = 0; all->told == 0 && i < all->n; i++) {
        char name[RSET_GENERATION_NAME];

        rset_generations_name(all, all->at[i], name);
        len += (size_t)snprintf(list + len, sizeof list - len, "%s%s", i > 0 ? ", " : "", name);
    }
    if (is_number_of_several(all, which))
        return rset_fail(
            err, RSET_USAGE,
            "%s: more than one generation has the number %s, as files of one rank may; "
            "there are, newest first: %s",
            path, which, list);
    return rset_fail(err, RSET_USAGE,
                     "%s: there is no generation %s; there are, newest first: %s; keep=N keeps so "
                     "many of those that are written from now on",
                     path, which, all->told > 0 ? all->text : list);
}

/* ---- which there are ---- */

/* In its place, once. */
void
rset_generations_add(rset_generations *all, uint64_t generation)
{
    uint64_t at = 0;

    while (at < all->n && rset_generation_newer(all->at[at], generation))
        at++;
    if (at == RSET_GENERATIONS_MAX || (at < all->n && all->at[at] == generation))
        return;
    all->n += all->n < RSET_GENERATIONS_MAX;
    memmove(all->at + at + 1, all->at + at, (size_t)(all->n - at - 1) * sizeof all->at[0]);
    all->at[at] = generation;
}

void
rset_generations_of(const rset_evidence *ev, rset_generations *out)
{
    const uint64_t newest = rset_evidence_generation(ev);

    *out = (rset_generations){.published = newest,
                              .known = rset_evidence_newest(ev),
                              .ranks = (uint64_t)rset_evidence_ranks(ev)};
    if (newest != 0)
        rset_generations_add(out, newest);
    for (size_t i = 0; i < ev->nkept; i++)
        if (newest == 0 || rset_generation_newer(newest, ev->kept[i]))
            rset_generations_add(out, ev->kept[i]);
}

void
rset_generations_add_lost(rset_generations *all)
{
    const uint64_t first = all->n > 0 ? all->at[0] : 0;

    if (first != all->published || (first == 0 && all->known != 0))
        rset_generations_add(all, rset_generation_newer(all->known, first)
                                      ? all->known
                                      : rset_generation_next(first, 0));
}

bool
rset_generations_suffice(const rset_generations *own, const rset_which *which)
{
    const uint64_t meant = rset_generations_find(own, which);

    if (meant == 0 || which->commits != 0)
        return meant != 0;
    if (own->at[0] != own->published)
        return false;
    for (uint64_t i = 0; own->at[i] != meant; i++)
        if (rset_generation_commits(own->at[i]) != rset_generation_commits(own->at[i + 1]) + 1)
            return false;
    return true;
}

/* `NUMBER "LABEL"`, as long as there is room. */
static void
say_one(rset_generations *all, uint64_t generation, const char *label)
{
    static const char more[] = ", ...";
    const size_t      len = strlen(all->text);
    const char       *quote = label != NULL ? "\"" : "";
    char              one[RSET_STAMP_TEXT + 32], name[RSET_GENERATION_NAME];

    if (len > 0 && all->text[len - 1] == '.')
        return;
    rset_generations_name(all, generation, name);
    snprintf(one, sizeof one, "%s%s%s%s%s%s", len > 0 ? ", " : "", name, label != NULL ? " " : "",
             quote, label != NULL ? label : "", quote);
    if (len + strlen(one) + sizeof more <= sizeof all->text)
        memcpy(all->text + len, one, strlen(one) + 1);
    else
        memcpy(all->text + len, more, sizeof more);
}

void
rset_generations_note(rset_generations *all, const rset_which *which, uint64_t generation,
                      const char *label)
{
    all->told++;
    say_one(all, generation, label);
    if (label != NULL && strcmp(label, which->label) == 0 &&
        rset_generation_newer(generation, all->labelled))
        all->labelled = generation;
}

rset_status
rset_generations_note_own(const rset_local *local, const rset_evidence *ev, const rset_which *which,
                          rset_generations *all, rset_err *err)
{
    rset_own_generations list = {0};
    rset_status          st = RSET_OK;

    if (which->label[0] != '\0')
        st = rset_own_generations_list(local, ev, &list, err);
    for (size_t i = 0; st == RSET_OK && i < list.n; i++)
        rset_generations_note(all, which, list.at[i].generation, list.at[i].stamp.label);
    rset_own_generations_free(&list);
    return st;
}

/* ---- those of all ranks ---- */

/* Does `b` tell more? The same, whoever is asked first. */
static bool
tells_more(const rset_generations *b, const rset_generations *a)
{
    return b->told != a->told ? b->told > a->told : strncmp(b->text, a->text, sizeof a->text) > 0;
}

/* What another rank has sent is text for people. */
static void
take_text(rset_generations *a, const rset_generations *b)
{
    a->told = b->told;
    memcpy(a->text, b->text, sizeof a->text);
    a->text[sizeof a->text - 1] = '\0';
    for (char *c = a->text; *c != '\0'; c++)
        if (iscntrl((unsigned char)*c))
            *c = '?';
}

static uint64_t
newer_of(uint64_t a, uint64_t b)
{
    return rset_generation_newer(b, a) ? b : a;
}

void
rset_generations_merge(rset_generations *a, const rset_generations *b)
{
    for (uint64_t i = 0; i < b->n && i < RSET_GENERATIONS_MAX; i++)
        rset_generations_add(a, b->at[i]);
    a->published = newer_of(a->published, b->published);
    a->known = newer_of(a->known, b->known);
    a->labelled = newer_of(a->labelled, b->labelled);
    a->ranks = b->ranks > a->ranks ? b->ranks : a->ranks;
    if (tells_more(b, a))
        take_text(a, b);
}

static void
merge(void *into, const void *other)
{
    rset_generations_merge(into, other);
}

_Static_assert(sizeof(rset_generations) <= sizeof(rset_err), "what rset_reduce takes");

rset_status
rset_generations_of_all(rset_comm *world, const char *host, rset_generations *all, rset_err *err)
{
    const rset_reduction what = {all, sizeof *all, merge};

    return rset_reduce(world, RSET_OK, host, &what, err);
}
