/* own.c: what one rank's directory says of the protection of its own file, in words, for whoever asks nobody else. See
 * recover.h. */
#include "recover.h"

#include <stdlib.h>

/* Why a file in this state is not protected; CURRENT needs a closer look. */
static const char *const states[RSET_STATES] = {
    [RSET_STATE_NOTHING] = "neither the file nor anything that protects it is in its directory",
    [RSET_STATE_UNKNOWN] = "nothing in its directory protects it",
    [RSET_STATE_CURRENT] = "",
    [RSET_STATE_COMMITTING] = "the commit that protects it was not finished; an open of all ranks "
                              "finishes it",
    [RSET_STATE_OPEN] =
        "a change of it was not finished; an open of all ranks rolls it back, where "
        "it was protected before",
    [RSET_STATE_CLOSED] = "it was changed and closed since it was protected last",
    [RSET_STATE_OUTDATED] = "what protects it is of another generation than the file"};

/* Looks whether files and redundancy are there, with their sizes; and their content. */
static rset_status
look(const rset_local *local, const rset_evidence *ev, rset_content content,
     rset_report *report_out, rset_err *err)
{
    const rset_census census = rset_take_census(ev);
    rset_looked       looked = {.rank = ev->has_header ? ev->header.infos[0].desc.rank : 0};
    rset_standing     standing;
    rset_policy       policy = {0};
    rset_verified     found = {0};
    rset_status       st;

    rset_stand(&census, false, &standing, &policy);
    st = rset_classify_look(local, ev, &standing, &looked, report_out, err);
    if (st == RSET_OK && report_out->state == RSET_STATE_CURRENT)
        st = rset_classify_verify(local, ev, content, report_out, &found, err);
    rset_verified_free(&found);
    return st;
}

/* The first that is true; "": it is protected. */
static const char *
words(const rset_evidence *ev, const rset_report *report)
{
    const unsigned facts = report->facts;

    if (report->state != RSET_STATE_CURRENT)
        return (facts & RSET_FACT_BUSY) != 0 ? "it is being changed" : states[report->state];
    if ((facts & RSET_FACT_MISSING) != 0)
        return "the file is missing; an open rebuilds it, where enough is left";
    if ((facts & RSET_FACT_DAMAGED) != 0)
        return "the file has not the size that was recorded; an open rebuilds it, where enough is "
               "left";
    if ((facts & RSET_FACT_CHANGED) != 0)
        return "another program has changed its size; an open puts that aside and rebuilds the "
               "file, where enough is left";
    if (ev->refused)
        return "all ranks together could not have it when they opened it last";
    if ((facts & RSET_FACT_BARE) != 0 || ev->distrusted)
        return "part of its redundancy is lost or damaged; an open of all ranks repairs it";
    if (rset_evidence_in_doubt(ev))
        return "its last commit was not finished; an open of all ranks decides what counts";
    if (rset_desc_is_left_over(&ev->header.infos[0].desc))
        return "its node has more ranks than there are sets, so it is left over: only recorded";
    return "";
}

/* Of files that were protected together the first has the name that is asked for; the others have those that were recorded. */
static rset_status
all_files(const rset_local *one, const rset_info *info, rset_local *all, const char ***names_out,
          rset_err *err)
{
    const char **names = calloc((size_t)info->nfiles, sizeof *names);

    *names_out = names;
    if (names == NULL)
        return rset_fail(err, RSET_NOMEM, "%s: no memory to look at it", rset_local_name(one));
    names[0] = one->names[0];
    for (int i = 1; i < info->nfiles; i++)
        names[i] = rset_path_base(info->files[i].path);
    all->nfiles = info->nfiles;
    all->names = names;
    return RSET_OK;
}

rset_status
rset_why_unprotected(const rset_local *local, const rset_evidence *ev, const char **why_out,
                     rset_err *err)
{
    rset_local   all = *local;
    rset_report  report;
    const char **names = NULL;
    rset_status  st = RSET_OK;

    *why_out = states[RSET_STATE_NOTHING];
    if (local->dir == NULL)
        return RSET_OK;
    if (ev->has_header && ev->header.infos[0].nfiles > 1)
        st = all_files(local, &ev->header.infos[0], &all, &names, err);
    if (st == RSET_OK)
        st = look(&all, ev, RSET_CONTENT_NONE, &report, err);
    if (st == RSET_OK)
        *why_out = words(ev, &report);
    free(names);
    return st;
}

/* As the table says of it alone, and so of all ranks together if theirs are like it. */
static bool
is_healthy(rset_report report)
{
    const rset_policy policy = {.published_ranks = 1};
    rset_summary      all;

    report.facts &= ~(unsigned)RSET_FACT_UNREAD; /* as much was verified as is wanted */
    all = rset_summarise(&report);
    return rset_decide(&all, RSET_COVERAGE_UNKNOWN, &policy).reason == RSET_REASON_HEALTHY;
}

bool
rset_stands_alone(const rset_local *local, const rset_evidence *ev, rset_content content, int rank,
                  int ranks)
{
    const rset_desc *desc = ev->has_header ? &ev->header.infos[0].desc : NULL;
    rset_report      report;
    rset_err         ignored = RSET_ERR_NONE;

    return desc != NULL && desc->rank == rank && desc->ranks == ranks && local->dir != NULL &&
           ev->header.infos[0].nfiles == 1 &&
           look(local, ev, content, &report, &ignored) == RSET_OK && is_healthy(report) &&
           words(ev, &report)[0] == '\0';
}
