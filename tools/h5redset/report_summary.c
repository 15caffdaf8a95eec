/* report_summary.c: what is healthy, and how many are. See report.h. */
#include "exits.h"
#include "report.h"

#include <stdlib.h>

bool
is_problem(const cat_set *s)
{
    return s->asked && s->verdict > VERDICT_SUPERSEDED;
}

static cat_verdict
worst_of(const family *f)
{
    cat_verdict worst = VERDICT_HEALTHY;

    for (int k = 0; k < f->nsets; k++)
        if (f->sets[k].asked && f->sets[k].verdict > worst)
            worst = f->sets[k].verdict;
    return worst;
}

bool
has_problem(const family *f)
{
    return family_exit_status(f) != EXITS_WELL || worst_of(f) > VERDICT_SUPERSEDED;
}

void
report_deleted(const catalog *c, const char *what)
{
    const family *first = NULL;
    const size_t  n = catalog_deleted(c, &first);
    char          more[64] = "";

    if (n == 0)
        return;
    if (n > 1)
        snprintf(more, sizeof more, " and %zu checkpoint%s more", n - 1, n == 2 ? "" : "s");
    print_line(stdout, "%s%s: deleted, and %s", family_name(first), more, what);
}

void
report_unread(bool verified, FILE *to)
{
    if (!verified)
        fputs("content was not read, but sizes and times were: --verify reads it\n", to);
}

void
report_summary(const catalog *c, bool verified, FILE *to)
{
    size_t n[VERDICT_UNRECOVERABLE + 1] = {0}, all = 0;
    bool   any = false;

    for (size_t i = 0; i < c->nfamilies; i++)
        if (c->families[i].asked) {
            n[worst_of(&c->families[i])]++;
            all++;
        }
    if (all + c->nstrays == 0)
        return;
    report_unread(verified, to);
    fprintf(to, "%zu checkpoint%s:", all, all == 1 ? "" : "s");
    for (int v = VERDICT_HEALTHY; v <= VERDICT_UNRECOVERABLE; v++)
        if (n[v] > 0) {
            fprintf(to, "%s %zu %s", any ? "," : "", n[v], verdict_looks[v].word);
            any = true;
        }
    if (c->nstrays > 0)
        fprintf(to, "%s %zu file%s of which nothing is recorded", any ? "," : "", c->nstrays,
                c->nstrays == 1 ? "" : "s");
    fputc('\n', to);
}
