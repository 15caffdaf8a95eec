/* decide_text.c: the words of decide.h: one sentence for each reason. */
#include "decide.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define ALL_STATES ((1u << RSET_STATES) - 1)
#define STATE(s)   (1u << RSET_STATE_##s)

/* "%s" in a text stands for "the file of rank N": the lowest one in these states, or of which these facts are true. */
static const struct words {
    const char *name, *text;
    unsigned    states, facts;
} words[RSET_REASONS] = {
    [RSET_REASON_BUSY] = {"busy", "another process is changing %s; wait until it has closed it", 0,
                          RSET_FACT_BUSY | RSET_FACT_UNDER_WAY},
    [RSET_REASON_BUSY_AS_IS] = {"busy, as it is", "another process is changing it; opened as it is",
                                0, 0},
    [RSET_REASON_MISPLACED] = {"misplaced",
                               "%s was written by another rank, and all files have one name, so "
                               "that nothing but the place tells them apart; start each rank on "
                               "the node that it had when the files were written",
                               0, RSET_FACT_RENUMBERED},
    [RSET_REASON_MAKE_ROOM] = {"make room", "", 0, 0},
    [RSET_REASON_SEARCH] = {"search", "", 0, 0},
    [RSET_REASON_ASK] = {"ask", "", 0, 0},
    [RSET_REASON_STAND_IN] = {"stand in", "", 0, 0},
    [RSET_REASON_BEHIND] = {"behind",
                            "%s is an older copy: it was protected anew where its rank wrote it. "
                            "Nothing was changed; remove this copy with the redundancy beside it, "
                            "and open it again",
                            0, RSET_FACT_BEHIND},
    [RSET_REASON_NEVER] = {"never protected", "not protected", 0, 0},
    [RSET_REASON_DELETED] = {"deleted", "", 0, 0},
    [RSET_REASON_IN_DOUBT] = {"in doubt",
                              "its last commit was not finished; opened as it is, which is what "
                              "was protected last or was about to be",
                              0, 0},
    [RSET_REASON_IN_DOUBT_NEITHER] = {"in doubt, neither",
                                      "its last commit was not finished, and only all ranks "
                                      "together can tell which content counts; open it with all "
                                      "of them",
                                      0, 0},
    [RSET_REASON_SERIAL_FIRST] = {"first write closed, serial", "", 0, 0},
    [RSET_REASON_SERIAL_CLOSED] = {"closed, serial",
                                   "changed and closed after it was last protected; opened as it "
                                   "is, unverified",
                                   0, 0},
    [RSET_REASON_PREPARED_BY_ALL] = {"prepared by all", "", 0, 0},
    [RSET_REASON_READONLY_PREPARED] =
        {"read-only, prepared by all",
         "the last commit was not finished, and has to be, but a rank opens them read-only with "
         "readonly_rebuild=no; open them without that once",
         0, 0},
    [RSET_REASON_SERIAL_TORN] = {"partially written, serial",
                                 "a change of it was not finished, and nothing within reach of "
                                 "this process records what it was; open it with all ranks, name "
                                 "their directories with search=, or remove its undo journal "
                                 "(.redset.<generation>.undo) to open it as it is",
                                 0, 0},
    [RSET_REASON_SERIAL_NO_RECORD] = {"no record, serial",
                                      "it is missing, or is not as it was closed, and nothing "
                                      "within reach of this process records what it was; open it "
                                      "with all ranks, or name their directories with search=",
                                      0, 0},
    [RSET_REASON_SERIAL_UNRECORDED] = {"no record, as it is, serial",
                                       "it was protected, and nothing within reach of this process "
                                       "records what it should be; opened unverified",
                                       0, 0},
    [RSET_REASON_NO_RECORD] = {"no record",
                               "no rank has a redundancy file left, and %s is missing, damaged, "
                               "partially written or of another generation than others. Nothing "
                               "was changed; bring redundancy files back, or files of one "
                               "generation",
                               STATE(OPEN) | STATE(NOTHING) | STATE(CLOSED),
                               RSET_FACT_MISSING | RSET_FACT_DAMAGED},
    [RSET_REASON_NO_RECORD_AS_IS] = {"no record, as they are",
                                     "the files are there, but no rank has a redundancy file left "
                                     "that says what they should be; opened unverified, not "
                                     "protected until they are next written and closed",
                                     0, 0},
    [RSET_REASON_FIRST_TORN] = {"first write torn",
                                "%s was written for the first time, and not finished, so there is "
                                "no older content; remove the files, or set required=no to open "
                                "them as they are",
                                STATE(OPEN), 0},
    [RSET_REASON_FIRST_LOST] = {"first write lost",
                                "%s is missing, or is not as it was closed, and it was never "
                                "protected; remove the files, or set required=no to open those "
                                "that there are",
                                0, RSET_FACT_MISSING | RSET_FACT_DAMAGED},
    [RSET_REASON_FIRST_MIXED] = {"first write mixed",
                                 "the files were never protected, and not all ranks closed them in "
                                 "one step, so they may not belong together; remove them, or set "
                                 "required=no to open them as they are",
                                 0, 0},
    [RSET_REASON_FIRST_AS_IS] = {"first write, as it is",
                                 "the files were never protected, and some may be missing, "
                                 "partially written or of another step; opened as they are",
                                 0, 0},
    [RSET_REASON_FIRST_CLOSED] = {"first write closed",
                                  "written and closed, but never protected; opened as it is", 0, 0},
    [RSET_REASON_NEWER] = {"newer",
                           "%s belongs to a newer generation than any of which a redundancy file "
                           "is left. Nothing was changed; bring the newer redundancy files back, "
                           "or remove that file's attribute user.redset to go back without it",
                           0, RSET_FACT_NEWER},
    [RSET_REASON_OTHER_RANKS] = {"other number of ranks",
                                 "not the ranks that wrote these files together have opened them, "
                                 "and %s is not as it was protected; start as many ranks as wrote "
                                 "them, each with its file",
                                 ALL_STATES & ~STATE(CURRENT), RSET_FACTS_LOSS},
    [RSET_REASON_OTHER_RANKS_AS_IS] = {"other number of ranks, as they are",
                                       "not the ranks that wrote these files together have "
                                       "opened them; opened as they are, not protected until "
                                       "they are next written and closed",
                                       0, 0},
    [RSET_REASON_READ_AS_IS] = {"read as they are", "", 0, 0},
    [RSET_REASON_MIXED] = {"mixed",
                           "the files that the ranks open belong together by their names, and were "
                           "not protected together: some were written over since by other ranks. "
                           "Nothing was changed; bring the files of one generation, or set "
                           "required=no to open them as they are",
                           0, 0},
    [RSET_REASON_MIXED_AS_IS] = {"mixed, as they are",
                                 "the files that the ranks open belong together by their names, "
                                 "and were not protected together: they are of different "
                                 "generations, so that some may be older; opened as they are",
                                 0, 0},
    [RSET_REASON_CLOSED] = {"closed",
                            "the files were changed and closed after they were last protected; "
                            "opened as they are, not protected until they are next written and "
                            "closed",
                            0, 0},
    [RSET_REASON_VERIFY] = {"verify", "", 0, 0},
    [RSET_REASON_RENAMED_PARTLY] = {"renamed in part",
                                    "%s was given its name by other means than the driver, and "
                                    "others were not: they are of another generation. Nothing was "
                                    "changed; give all their new names, or that one its old name",
                                    0, RSET_FACT_RENAMED},
    [RSET_REASON_RENAMED_AS_IS] = {"renamed, as they are",
                                   "the files were given their names without what protects them, "
                                   "which stays under the old names: open the files read-write, or "
                                   "without readonly_rebuild=no",
                                   0, 0},
    [RSET_REASON_RENAMED] = {"renamed", "", 0, 0},
    [RSET_REASON_HEALTHY] = {"healthy", "", 0, 0},
    [RSET_REASON_SERIAL_COMMIT] = {"committing, serial", "", 0, 0},
    [RSET_REASON_LOOK] = {"look", "", 0, 0},
    [RSET_REASON_READONLY] = {"read-only",
                              "%s is lost, damaged, changed by another program or partially "
                              "written, and opened read-only with readonly_rebuild=no; open the "
                              "files read-write, or without that",
                              ALL_STATES & ~STATE(CURRENT), RSET_FACTS_LOSS},
    [RSET_REASON_READONLY_BARE] = {"read-only, redundancy lost",
                                   "the redundancy of %s is lost; open the files read-write to "
                                   "have it computed again",
                                   STATE(UNKNOWN) | STATE(OUTDATED), RSET_FACT_BARE},
    [RSET_REASON_RESTORED] = {"restored", "", 0, 0},
    [RSET_REASON_SERIAL_BARE] = {"redundancy lost, serial",
                                 "its redundancy is lost or damaged, and cannot be rebuilt from "
                                 "what is within reach of this process; open it with all ranks",
                                 0, 0},
    [RSET_REASON_REENCODE] = {"restored, re-encode",
                              "more redundancy was lost than can be rebuilt; the data is there, "
                              "and is re-encoded where that is possible",
                              0, 0},
    [RSET_REASON_UNVERIFIED] = {"unverified",
                                "what was recorded of %s is lost, so nobody can tell whether it is "
                                "what was protected; opened unverified, not protected until the "
                                "files are next written and closed",
                                0, RSET_FACT_UNVERIFIED},
    [RSET_REASON_UNVERIFIABLE] = {"unverifiable",
                                  "what was recorded of %s is lost, so nobody can tell whether it "
                                  "is what was protected. Nothing was changed; bring its "
                                  "redundancy file back, or set required=no to open it unverified",
                                  STATE(UNKNOWN), RSET_FACT_UNVERIFIED},
    [RSET_REASON_MIXTURE] = {"mixture",
                             "files would have to be rolled back, but all that was recorded of %s "
                             "is lost, so nobody can tell whether it was changed as well. Nothing "
                             "was changed; bring its redundancy file back, and open again",
                             0, RSET_FACT_UNVERIFIED},
    [RSET_REASON_REWRITTEN] = {"rewritten",
                               "the files were changed without this driver after this run had "
                               "protected them; opened as they are, and protected so",
                               0, 0},
    [RSET_REASON_CHANGED] = {"changed", "", 0, 0},
    [RSET_REASON_CHANGED_KEPT] = {"changed, kept", "", 0, 0},
    [RSET_REASON_CHANGED_AS_IS] = {"changed, as it is", "", 0, 0},
    [RSET_REASON_CHANGED_TOO] = {"changed, and more", "", 0, 0},
    [RSET_REASON_IN_PLACE_AS_IS] = {"in place, as they are",
                                    "a change of %s without an undo journal was not finished; "
                                    "opened as it is, which may be partially written",
                                    STATE(OPEN), RSET_FACT_IN_PLACE},
    [RSET_REASON_AHEAD] = {"ahead",
                           "%s has a newer commit than others, which cannot be brought to it. "
                           "Nothing was changed; if its node has come back after the others had "
                           "gone on without it, remove what is there of that file, and open again",
                           STATE(CURRENT) | STATE(COMMITTING) | STATE(OPEN) | STATE(CLOSED), 0},
    [RSET_REASON_UNRECOVERABLE] = {"unrecoverable",
                                   "unrecoverable. Nothing was changed; bring a lost node's "
                                   "directory back, or go on from an earlier file",
                                   0, 0},
};

const char *
rset_reason_name(rset_reason reason)
{
    return words[reason].name;
}

/* ---- what another program has changed ---- */

void
rset_time_say(uint64_t seconds, char *buf, size_t size)
{
    const time_t when = (time_t)seconds;
    struct tm    tm;

    buf[0] = '\0';
    if (seconds != 0 && gmtime_r(&when, &tm) != NULL)
        (void)strftime(buf, size, " on %Y-%m-%d %H:%M:%S UTC", &tm);
}

void
rset_changed_say(const rset_altered *altered, char *buf, size_t size)
{
    char date[40];

    rset_time_say(altered->when, date, sizeof date);
    snprintf(buf, size, "was %s %s%s", altered->longer ? "only made longer" : "changed",
             altered->own ? "without this driver" : "by another program", date);
}

void
rset_put_aside_say(const rset_altered *altered, const char *name, uint64_t number, char *buf,
                   size_t size)
{
    char how[128];

    rset_changed_say(altered, how, sizeof how);
    snprintf(
        buf, size,
        "%s, and was rebuilt as it was protected; what it was changed to is %.*s.redset.%016" PRIx64
        ".changed now, until two more commits were made",
        how, NAME_MAX, name, number);
}

/* Which files were changed, and when the last of them was. */
static void
say_changed(const rset_summary *before, char *buf, size_t size)
{
    const rset_altered all = {.any = true,
                              .longer = before->longer == before->changed,
                              .when = before->most_when,
                              .own = before->ours > 0};
    const int          first = rset_summary_first(before, 0, RSET_FACT_CHANGED);
    char               how[128];

    rset_changed_say(&all, how, sizeof how);
    if (before->ranks == 1)
        snprintf(buf, size, "it %s", how);
    else if (before->changed == 1)
        snprintf(buf, size, "the file of rank %d %s", first, how);
    else
        snprintf(buf, size, "%" PRIu64 " of %" PRIu64 " files, rank %d's the first, %s (the last)",
                 before->changed, before->ranks, first, how);
}

/* Says that files were changed, where that is the reason, and what follows from it. False: it is another reason. */
static bool
say_of_changed(rset_reason reason, const rset_summary *before, char *buf, size_t size)
{
    static const struct {
        rset_reason reason;
        const char *then;
    } all[] = {
        {RSET_REASON_CHANGED,
         ", and what was protected cannot be had from what is left. No node was lost, and nothing "
         "was changed now; changed=keep opens the files as they are and protects them so, or bring "
         "back what was protected, with its modification time"},
        {RSET_REASON_CHANGED_KEPT, "; with changed=keep opened as it is now, and protected so"},
        {RSET_REASON_CHANGED_AS_IS, "; with changed=keep opened as it is now, and not protected "
                                    "until all ranks open it so where "
                                    "they may write"},
        {RSET_REASON_CHANGED_TOO,
         ", and with what else is missing or damaged, what was protected cannot be had. Nothing "
         "was changed now; bring a lost file or what was changed back as it was protected, or go "
         "on from an earlier file"}};
    char what[224];

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].reason == reason) {
            say_changed(before, what, sizeof what);
            snprintf(buf, size, "%s%s", what, all[i].then);
            return true;
        }
    return false;
}

/* What happened to the files where they were restored; "" where nobody needs to know. */
static const char *
what_was_restored(const rset_summary *before)
{
    const bool open = before->count[RSET_STATE_OPEN] > 0;
    const bool closed = before->count[RSET_STATE_CLOSED] > 0;
    const bool lost = (before->facts & RSET_FACTS_LOSS) != 0;
    const bool changed = (before->facts & RSET_FACTS_LOSS) == RSET_FACT_CHANGED;

    if (closed && lost)
        return "files that are protected together were lost or damaged; they were rebuilt, and "
               "content that had been closed without protection was discarded on all ranks: "
               "rolled back to what was protected last";
    if (closed)
        return "not all files that are protected together were closed in one step; content that "
               "had been closed without protection was discarded on all ranks: rolled back to "
               "what was protected last";
    if (open && lost)
        return "a change of files that are protected together was not finished, and some were lost "
               "or damaged; they were rolled back, or rebuilt, to what was protected last";
    if (open)
        return "a change of files that are protected together was not finished; they were rolled "
               "back to what was protected last";
    if (changed && before->ours > 0)
        return "files that are protected together were changed without this driver, and were "
               "rebuilt as they were protected";
    if (changed)
        return "files that are protected together were changed by another program, and were "
               "rebuilt as they were protected";
    return lost ? "files that are protected together were lost or damaged, and were rebuilt" : "";
}

void
rset_reason_say(rset_reason reason, const rset_summary *before, const char *file,
                const char *detail, char *buf, size_t size)
{
    const struct words *w = &words[reason];
    const int           first = rset_summary_first(before, w->states, w->facts);
    const char         *text = w->text, *at;
    char                who[48] = "it", changed[768];

    if (first >= 0 && before->ranks > 1)
        snprintf(who, sizeof who, "the file of rank %d", first);
    if (reason == RSET_REASON_RESTORED)
        text = what_was_restored(before);
    if (say_of_changed(reason, before, changed, sizeof changed))
        text = changed;
    buf[0] = '\0';
    if (text[0] == '\0')
        return;
    at = strstr(text, "%s");
    if (at == NULL)
        snprintf(buf, size, "%s: %s", file, text);
    else
        snprintf(buf, size, "%s: %.*s%s%s", file, (int)(at - text), text, who, at + 2);
    if (detail != NULL && detail[0] != '\0' &&
        reason != RSET_REASON_CHANGED) /* none of it is lost */
        snprintf(buf + strlen(buf), size - strlen(buf), ": %s", detail);
}

const char *
rset_state_name(rset_state state)
{
    static const char *const names[RSET_STATES] = {"nothing", "unknown", "current", "committing",
                                                   "open",    "closed",  "outdated"};

    return names[state];
}

const char *
rset_verdict_name(rset_verdict verdict)
{
    static const char *const names[] = {"search", "ask",  "stand in", "verify",  "look",  "adopt",
                                        "never",  "keep", "restore",  "forward", "refuse"};

    return names[verdict];
}
