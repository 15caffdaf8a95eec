/* report_text.c: the figures of one kind of file as a table for people, and as a line of JSON. See report_internal.h. */
#include "report_internal.h"

#include "common/amount.h"

#include <locale.h>
#include <time.h>

/* In the order of the table: what waits for others comes first, since that is what another rank can change. */
static const struct {
    int         line;
    const char *title, *key;
} lines[] = {
    {RSET_PHASE_MEET, "rendezvous", "rendezvous"},
    {RSET_PHASE_WAIT, "waiting for others", "waiting"},
    {RSET_PHASE_READ, "reading", "reading"},
    {RSET_PHASE_SUM, "arithmetic", "arithmetic"},
    {RSET_PHASE_SEND, "sending", "sending"},
    {RSET_PHASE_WRITE, "writing", "writing"},
    {RSET_PHASE_SYNC, "syncing", "syncing"},
    {RSET_PHASE_OTHER, "other", "other"},
    {RSET_LINE_TOTAL, "in all", "total"},
    {RSET_LINE_OWN, "its own work", "own"},
    {RSET_LINE_BACKGROUND, "in the background", "background"},
};
_Static_assert(sizeof lines / sizeof lines[0] == RSET_LINES, "each line has a title");

static const char *const counts[] = {[RSET_COUNT_PROTECTED] = "protected",
                                     [RSET_COUNT_VERIFIED] = "verified",
                                     [RSET_COUNT_REBUILT] = "rebuilt",
                                     [RSET_COUNT_UNPROTECTED] = "not_protected"};

/* "2026-11-23 12:00:00", with `between` date and time. */
static void
show_time(int64_t when, char between, char buf[32])
{
    const time_t t = (time_t)when;
    struct tm    tm;

    buf[0] = '\0';
    if (gmtime_r(&t, &tm) == NULL)
        return;
    (void)strftime(buf, 32, "%Y-%m-%d %H:%M:%S", &tm);
    buf[10] = between;
}

/* How long the others have waited for the rank that came last. */
static double
waited(const rset_account *a)
{
    return a->most[RSET_PHASE_MEET].seconds - a->latest.seconds;
}

/* ---- for people ---- */

/* A host name, with nothing in it that a terminal would obey. */
static void
put_host(FILE *to, const char *host)
{
    for (; *host != '\0'; host++)
        fputc(*host > ' ' && *host < 127 ? *host : '?', to);
}

static void
put_rank(FILE *to, const rset_extreme *e)
{
    fprintf(to, "rank %d on ", e->rank);
    put_host(to, e->host);
}

static void
put_head(FILE *to, const rset_report_head *head, const rset_account *a)
{
    char when[32];

    show_time(head->time, ' ', when);
    fprintf(to, "redset: what protecting ");
    put_host(to, a->kind);
    fprintf(to, " cost; %s UTC", when);
    if (head->why != NULL)
        fprintf(to, "\n  only figures of this rank: %s", head->why);
    else if (head->size > 1)
        fprintf(to, "; %d ranks, %d of them with such files", head->size, (int)a->ranks);
    fprintf(to, "\n");
}

static void
put_counts(FILE *to, const rset_account *a)
{
    char text[32];

    for (int c = 0; c < RSET_COUNTS; c++)
        if (a->files[c] > 0 || a->bytes[c] > 0)
            fprintf(to, "  %-18s %10llu files %12s\n",
                    c == RSET_COUNT_UNPROTECTED ? "not protected" : counts[c],
                    (unsigned long long)a->files[c], rset_amount_say(a->bytes[c], text));
}

static void
put_verdicts(FILE *to, const rset_account *a)
{
    const rset_extreme *slowest = &a->most[RSET_LINE_OWN];

    if (a->ranks < 2)
        return;
    fprintf(to, "  latest:  ");
    put_rank(to, &a->latest);
    fprintf(to, "; others waited up to %.3f s until it came\n", waited(a));
    fprintf(to, "  slowest: ");
    put_rank(to, slowest);
    fprintf(to, "; %.3f s of its own work, %.3f s on the mean\n", slowest->seconds,
            a->sum[RSET_LINE_OWN] / (double)a->ranks);
}

/* Numbers are written with a point, whatever locale the program has set for itself; 0: they may not be. */
static locale_t
begin_numbers(void)
{
    const locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);

    return plain != (locale_t)0 ? uselocale(plain) : (locale_t)0;
}

/* As the program had it; in this thread. */
static void
end_numbers(locale_t before)
{
    if (before != (locale_t)0)
        freelocale(uselocale(before));
}

static void
put_table(FILE *to, const rset_report_head *head, const rset_account *a)
{
    put_head(to, head, a);
    put_counts(to, a);
    fprintf(to, "  %-18s %10s %10s  %s\n", "seconds of a rank", "mean", "worst", "which");
    for (int i = 0; i < RSET_LINES; i++) {
        const int l = lines[i].line;

        if (a->sum[l] <= 0)
            continue;
        fprintf(to, "  %-18s %10.3f %10.3f  ", lines[i].title, a->sum[l] / (double)a->ranks,
                a->most[l].seconds);
        put_rank(to, &a->most[l]);
        fprintf(to, "\n");
    }
    put_verdicts(to, a);
}

/* ---- for programs ---- */

static void
put_text(FILE *to, const char *text)
{
    fputc('"', to);
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\')
            fputc('\\', to);
        if (c < ' ')
            fprintf(to, "\\u%04x", c);
        else
            fputc(c, to);
    }
    fputc('"', to);
}

static void
put_place(FILE *to, const rset_extreme *e)
{
    fprintf(to, "\"rank\": %d, \"host\": ", e->rank);
    put_text(to, e->host);
}

static void
put_json(FILE *to, const rset_report_head *head, const rset_account *a)
{
    char when[32];

    show_time(head->time, 'T', when);
    fprintf(to, "{\"version\": 1, \"time\": \"%sZ\", \"kind\": ", when);
    put_text(to, a->kind);
    fprintf(to, ", \"of\": %d, \"ranks\": %d, \"missing\": ", head->size, (int)a->ranks);
    if (head->why != NULL)
        put_text(to, head->why);
    else
        fprintf(to, "null");
    for (int c = 0; c < RSET_COUNTS; c++)
        fprintf(to, ", \"%s\": {\"files\": %llu, \"bytes\": %llu}", counts[c],
                (unsigned long long)a->files[c], (unsigned long long)a->bytes[c]);
    fprintf(to, ", \"seconds\": {");
    for (int i = 0; i < RSET_LINES; i++) {
        const int l = lines[i].line;

        fprintf(to, "%s\"%s\": {\"mean\": %.6f, \"worst\": %.6f, ", i > 0 ? ", " : "", lines[i].key,
                a->sum[l] / (double)a->ranks, a->most[l].seconds);
        put_place(to, &a->most[l]);
        fprintf(to, "}");
    }
    fprintf(to, "}, \"latest\": {\"waited\": %.6f, ", waited(a));
    put_place(to, &a->latest);
    fprintf(to, "}, \"slowest\": {\"own\": %.6f, ", a->most[RSET_LINE_OWN].seconds);
    put_place(to, &a->most[RSET_LINE_OWN]);
    fprintf(to, "}}\n");
}

void
rset_report_table(FILE *to, const rset_report_head *head, const rset_account *a)
{
    const locale_t before = begin_numbers();

    put_table(to, head, a);
    end_numbers(before);
}

void
rset_report_json(FILE *to, const rset_report_head *head, const rset_account *a)
{
    const locale_t before = begin_numbers();

    put_json(to, head, a);
    end_numbers(before);
}
