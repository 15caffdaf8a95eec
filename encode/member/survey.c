/* survey.c: what the disk says about one rank's protection. See member.h. Redundancy files: survey_redundancy.c. */
#include "format/tree.h"
#include "names/claim.h"
#include "placeholder.h"
#include "survey_internal.h"

#include <stdlib.h>

static rset_status
take_descriptor(rset_survey_run *s, const char *name, const rset_name *parsed, rset_evidence *ev,
                rset_err *err)
{
    rset_err    own = RSET_ERR_NONE;
    uint8_t    *buf = NULL;
    rset_descs  descs = {0};
    size_t      len = 0;
    rset_status st = rset_file_slurp(s->dir, name, RSET_TREE_MAX_BYTES, &buf, &len, &own);

    s->vanished = s->vanished || st == RSET_ABSENT;
    rset_survey_note_unread(ev, &own);
    if (st == RSET_OK)
        st = rset_format_unpack_descs(buf, len, name, parsed->rank, &descs, &own);
    if (st == RSET_OK && descs.at[0].rank == parsed->rank &&
        (!ev->has_desc || rset_generation_newer(descs.at[0].generation, ev->desc.generation))) {
        ev->has_desc = true;
        ev->desc = descs.at[0];
    }
    free(descs.at);
    free(buf);
    return st == RSET_NOMEM ? rset_fail(err, st, "%s: no memory", name) : RSET_OK;
}

/* Notes the file that has the data file's name, "": none, and what that says of itself. */
static rset_status
take_data(rset_dir *dir, const char *data_name, rset_evidence *ev, rset_err *err)
{
    rset_file  *file = NULL;
    rset_status st;

    if (data_name[0] == '\0')
        return RSET_OK;
    if (rset_file_open(dir, data_name, &file, NULL) == RSET_OK) {
        st = rset_file_identity(file, &ev->data, err);
        ev->mark = rset_file_get_mark(file);
        ev->placeholder = rset_placeholder_is(file);
    } else { /* if it cannot be read, it is there all the same */
        st = rset_dir_identity(dir, data_name, &ev->data, err);
    }
    rset_file_close(file, NULL);
    return st;
}

/* Notes whether the file that has the name was put aside as well: ranks that created their files anew elsewhere were about to take the name
 * away (move/old_copies.h). */
static rset_status
find_replaced(const rset_survey_run *s, rset_evidence *ev, rset_err *err)
{
    const uint64_t generation = rset_evidence_generation(ev);
    rset_identity  aside;
    rset_status    st;
    char          *name;
    size_t         i = 0;

    while (i < ev->nlost && ev->lost[i] != generation)
        i++;
    if (generation == 0 || i == ev->nlost)
        return RSET_OK;
    name = rset_name_of(RSET_NAME_LOST, s->prefix, generation);
    if (name == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for a name");
    st = rset_dir_identity(s->dir, name, &aside, err);
    free(name);
    ev->replaced = rset_identity_same(&aside, &ev->data);
    return st;
}

static rset_status
add_generation(uint64_t **list, size_t *n, uint64_t generation, rset_err *err)
{
    uint64_t *grown = realloc(*list, (*n + 1) * sizeof *grown);

    if (grown == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for a list of files");
    *list = grown;
    grown[(*n)++] = generation;
    return RSET_OK;
}

static rset_status
take_older(const rset_names *names, rset_evidence *ev, rset_err *err)
{
    rset_status st = RSET_OK;

    for (size_t i = 0; st == RSET_OK && i < names->nolder; i++)
        st = add_generation(&ev->kept, &ev->nkept, names->older[i].generation, err);
    return st;
}

static rset_status
take_name(rset_survey_run *s, const rset_names *names, const char *name, rset_evidence *ev,
          rset_err *err)
{
    rset_name            parsed;
    uint64_t             generation = 0;
    rset_name_kind       kind = rset_name_classify(name, s->prefix, &parsed, &generation);
    const bool           published = kind == RSET_NAME_PLAIN || kind == RSET_NAME_VOID;
    const bool           prepared = kind == RSET_NAME_NEW && parsed.scheme != NULL;
    const rset_name_role role = rset_name_role_of(kind);
    rset_status          st = RSET_OK;

    if (published || prepared || (kind == RSET_NAME_REDO && parsed.scheme != NULL))
        st = rset_survey_redundancy(s, name, kind, &parsed, ev, err);
    else if (kind == RSET_NAME_DESC)
        st = take_descriptor(s, name, &parsed, ev, err);
    else if (kind == RSET_NAME_SHADOW)
        st = add_generation(&ev->shadows, &ev->nshadows, generation, err);
    else if (kind == RSET_NAME_NEWER)
        st = add_generation(&ev->newer, &ev->nnewer, generation, err);
    else if (kind == RSET_NAME_LOST)
        st = add_generation(&ev->lost, &ev->nlost, generation, err);
    else if (kind == RSET_NAME_CHANGED)
        st = add_generation(&ev->changed, &ev->nchanged, generation, err);
    else if (kind == RSET_NAME_UNDO && !rset_names_has_older(names, generation))
        st = add_generation(&s->journals, &s->njournals, generation, err);
    ev->any = ev->any || published || kind == RSET_NAME_DESC || kind == RSET_NAME_REDO;
    s->prepared = s->prepared || prepared || kind == RSET_NAME_FIX;
    s->published += published;
    ev->orphans = ev->orphans || s->published > 1 ||
                  (!published && kind != RSET_NAME_DESC && role == RSET_ROLE_OWN) ||
                  (role == RSET_ROLE_BEFORE && !rset_names_has_older(names, generation));
    return st;
}

/* The shadow file of a redundancy file is looked for whether it was noted or not: what a commit rests on is never missed. */
static rset_status
take_named_shadow(const rset_survey_run *s, uint64_t generation, rset_evidence *ev, rset_err *err)
{
    char       *name;
    bool        there;
    rset_status st;

    if (generation == 0 || rset_evidence_has_shadow(ev, generation))
        return RSET_OK;
    name = rset_name_of(RSET_NAME_SHADOW, s->prefix, generation);
    if (name == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for a name");
    st = rset_dir_find_file(s->dir, name, NULL, &there, err);
    if (st == RSET_OK && there)
        st = add_generation(&ev->shadows, &ev->nshadows, generation, err);
    free(name);
    return st;
}

/* Does the journal of that generation say that its program knew of no redundancy file, though there is one? */
static bool
is_first_beside_record(uint64_t of, const rset_evidence *ev)
{
    return of == 0 && rset_evidence_generation(ev) != 0;
}

/* A next journal counts once its generation is published, with the void mark or as an update. A first one beside a redundancy file is of
 * a program that knew of none: it counts as long as that lives, which may be writing what was rebuilt since. */
static bool
counts(const rset_survey_run *s, const rset_undo *undo, const rset_evidence *ev)
{
    if (is_first_beside_record(undo->of, ev) && !undo->busy)
        return false;
    return !rset_undo_is_next(undo) || (undo->of == rset_evidence_generation(ev) &&
                                        (s->ahead != 0 || ev->is_void || ev->over_name != NULL));
}

/* It was made where the redundancy file had no void mark yet, or has none any more: nothing has changed since. */
static bool
says_nothing(const rset_undo *undo, const rset_evidence *ev)
{
    return undo->there && !undo->busy && undo->kept.n == 0 && !undo->kept.torn && !undo->aside &&
           undo->head.state == RSET_UNDO_OPEN && ev->has_header && !ev->is_void &&
           ev->over_name == NULL;
}

/* Takes the journal of that generation in the place of one that says less. */
static rset_status
take_journal(rset_survey_run *s, uint64_t generation, rset_evidence *ev, rset_err *err)
{
    rset_undo   undo;
    rset_status st = rset_undo_load(s->dir, s->prefix, generation, &undo, err);

    if (st != RSET_OK)
        return st;
    ev->orphans = ev->orphans || undo.there || undo.rotten;
    for (size_t i = 0; !undo.there && !undo.rotten && i < s->njournals; i++)
        s->vanished = s->vanished || s->journals[i] == generation;
    if ((!undo.there && !undo.rotten) || !counts(s, &undo, ev) || says_nothing(&undo, ev) ||
        (ev->undo.there && (undo.rotten || !rset_generation_newer(undo.of, ev->undo.of)))) {
        rset_undo_free(&undo);
        return RSET_OK;
    }
    rset_undo_free(&ev->undo);
    ev->undo = undo;
    return RSET_OK;
}

/* The journal that says how the file has changed. Beside a redundancy file it is the one that leads back to what that protects, whether it
 * was noted or not, or a first one. Without one it is that of the generation which the descriptor says, or the newest that belongs to
 * no generation that is kept: what it leads back to is lost, or was never protected. */
static rset_status
find_journal(rset_survey_run *s, rset_evidence *ev, rset_err *err)
{
    rset_status st = RSET_OK;

    if (ev->has_header)
        st = take_journal(s, rset_evidence_generation(ev), ev, err);
    else if (ev->has_desc)
        st = take_journal(s, ev->desc.generation, ev, err);
    for (size_t i = 0; st == RSET_OK && i < s->njournals; i++)
        if (!ev->has_header || is_first_beside_record(s->journals[i], ev))
            st = take_journal(s, s->journals[i], ev, err);
    return st;
}

static rset_status
take_names(rset_survey_run *s, const rset_names *names, rset_evidence *ev, rset_err *err)
{
    rset_status st = RSET_OK;

    s->prepared = s->vanished = false;
    s->published = 0;
    s->journals = NULL;
    s->njournals = 0;
    for (size_t i = 0; st == RSET_OK && i < names->n; i++)
        st = take_name(s, names, names->at[i], ev, err);
    if (st == RSET_OK)
        st = take_older(names, ev, err);
    if (st == RSET_OK)
        st = take_named_shadow(s, rset_evidence_generation(ev), ev, err);
    if (st == RSET_OK)
        st = take_named_shadow(s, ev->next, ev, err);
    if (st == RSET_OK)
        st = find_journal(s, ev, err);
    free(s->journals);
    return st;
}

static rset_status
survey_all(rset_survey_run *s, const char *data_name, rset_evidence *out, rset_err *err)
{
    rset_names    names;
    rset_evidence ev = {0};
    rset_status   st = rset_names_find(s->dir, s->prefix, data_name, &names, err);

    if (st == RSET_OK)
        st = take_names(s, &names, &ev, err);
    if (st == RSET_OK && names.noted && !ev.has_header) { /* is there another that can be read? */
        rset_names_free(&names);
        rset_evidence_free(&ev);
        st = rset_names_list(s->dir, s->prefix, &names, err);
        if (st == RSET_OK)
            st = take_names(s, &names, &ev, err);
    }
    ev.foreign = names.foreign;
    rset_names_free(&names);
    if (st == RSET_OK)
        st = take_data(s->dir, data_name, &ev, err);
    if (st == RSET_OK)
        st = find_replaced(s, &ev, err);
    ev.any = ev.any || ev.mark != 0 || (ev.undo.there && ev.undo.head.generation != 0);
    ev.unfinished = !ev.any && s->prepared;
    if (st != RSET_OK)
        rset_evidence_free(&ev);
    else
        *out = ev;
    return st;
}

/* Which commit is prepared, or not finished. */
typedef struct unfinished {
    uint64_t prepared, published;
} unfinished;

static unfinished
unfinished_of(const rset_evidence *ev)
{
    return (unfinished){.prepared = ev->next_name != NULL ? ev->next : 0,
                        .published =
                            rset_evidence_committing(ev) ? rset_evidence_generation(ev) : 0};
}

/* Looks until nothing is gone that was just seen, and one commit is seen twice, with nobody who might have been about to finish it in
 * between. One who goes on so fast lives. */
rset_status
rset_survey_one(rset_dir *dir, const char *prefix, const char *data_name, rset_evidence *out,
                rset_err *err)
{
    enum { LOOKS = 4 };
    rset_evidence ev = {0};
    unfinished    before = {0};
    rset_status   st = RSET_OK;

    for (int i = 0; i < LOOKS; i++) {
        rset_survey_run s = {.dir = dir, .prefix = prefix};
        unfinished      now;

        rset_evidence_free(&ev);
        st = survey_all(&s, data_name, &ev, err);
        now = unfinished_of(&ev);
        if (st != RSET_OK ||
            (!s.vanished &&
             ((now.prepared == 0 && now.published == 0 && !ev.orphans) ||
              (i > 0 && now.prepared == before.prepared && now.published == before.published))))
            break;
        ev.under_way = i == LOOKS - 1 || rset_claim_is_held(s.dir, s.prefix, RSET_CLAIM_COMMIT);
        if (!s.vanished && (ev.under_way || (now.prepared == 0 && now.published == 0)))
            break;
        before = now;
    }
    if (st == RSET_OK)
        *out = ev;
    return st;
}

rset_status
rset_survey_ahead(rset_dir *dir, const char *prefix, const char *data_name, uint64_t generation,
                  rset_evidence *out, rset_err *err)
{
    rset_survey_run s = {.dir = dir, .prefix = prefix, .ahead = generation};
    rset_status     st = survey_all(&s, data_name, out, err);
    rset_name       parsed;
    uint64_t        ignored;

    if (st == RSET_OK && out->has_header &&
        rset_name_classify(out->name, prefix, &parsed, &ignored) == RSET_NAME_NEW) {
        out->has_desc = true; /* its descriptor was written with it */
        out->desc = out->header.infos[0].desc;
    }
    return st;
}
