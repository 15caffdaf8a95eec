/* look_files.c: what the files of one prefix say of themselves, and of others of their set. See look_internal.h. */
#include "files.h"
#include "look_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Recorded is the name that the file had when it was the newest; it is kept, or was put aside, under another one. */
static void
name_as_kept(const sighting *s, rset_info *info)
{
    char *prefix, *kept;

    if (s->older == 0 || recorded_path(info)[0] == '\0')
        return;
    prefix = must_print("%s.", recorded_path(info));
    kept = rset_name_of(rset_name_kept_as(s->name), prefix, s->older);
    free(prefix);
    if (kept == NULL)
        no_memory();
    free(info->files[0].path);
    info->files[0].path = kept;
}

/* Of large files the checksums are many: that of the whole stays, as that of its only block. */
static void
keep_whole(rset_sums *sums)
{
    if (sums->nblocks < 2)
        return;
    sums->crc = must_grow(sums->crc, sizeof *sums->crc);
    sums->crc[0] = sums->whole;
    sums->block = sums->size;
    sums->nblocks = 1;
}

/* Takes over what was found out. */
static void
note(const sighting *s, rset_evidence *found, rset_evidence *to)
{
    for (int i = 0; i < found->header.ninfos; i++) {
        rset_info *info = &found->header.infos[i];

        name_as_kept(s, info);
        for (int k = 0; k < info->nfiles; k++)
            keep_whole(&info->files[k].sums);
    }
    keep_whole(&found->header.payload);
    rset_evidence_free(to);
    *to = *found;
    *found = (rset_evidence){0};
}

static rset_status
note_stat(sighting *s, const files *f, rset_err *err)
{
    struct stat sb;
    rset_status st = RSET_OK;

    s->there = true;
    s->size = 0;
    for (int i = 0; st == RSET_OK && i < f->n; i++) {
        rset_dir *dir = rset_local_dir(&f->local, i);
        bool      there = false;

        if (dir != NULL)
            st = rset_dir_find_file(dir, f->names[i], &sb, &there, err);
        s->there = s->there && there;
        s->size += there ? (uint64_t)sb.st_size : 0;
    }
    s->gone = s->older == 0 &&
              rset_evidence_gone(&f->local, &f->evidence); /* what is kept nobody deletes */
    if (st == RSET_OK && f->evidence.name != NULL) {
        st = rset_dir_stat(f->dir, f->evidence.name, &sb, err);
        s->redundancy_size = st == RSET_OK ? (uint64_t)sb.st_size : 0;
        s->when = st == RSET_OK ? (uint64_t)sb.st_mtim.tv_sec : 0;
    }
    return st == RSET_ABSENT ? RSET_OK : st;
}

/* Of a file that is not as recorded: another program, or the disk? Of one that is, when it was written since. */
static void
look_who_wrote_it(sighting *s, const files *f, const rset_evidence *ev)
{
    const rset_info *info = &ev->header.infos[0];

    if (s->damaged || s->data.n > 0)
        (void)rset_is_altered(&f->local, ev, info, &s->altered);
    else if (!ev->placeholder)
        (void)rset_times_differ(&f->local, info, &s->altered.when);
}

/* Data and redundancy against what its own redundancy file records; `content`: read all of it. */
static rset_status
compare(sighting *s, const files *f, const rset_evidence *ev, bool content, rset_err *err)
{
    const rset_info *info = &ev->header.infos[0];
    rset_damage      found = {0};
    rset_status      st;

    rset_ranges_free(&s->data);
    rset_ranges_free(&s->payload);
    s->damaged = false;
    s->altered = (rset_altered){0};
    if (info->nfiles > f->n)
        return rset_fail(err, RSET_IO, "its redundancy file was another a moment ago");
    st = rset_verify_covered(&f->local, ev, content, &found, err);
    s->damaged = found.any;
    rset_damage_take(&found, &s->data, &s->unread);
    if (st == RSET_OK && !ev->undo.there && !ev->is_void)
        look_who_wrote_it(s, f, ev);
    if (st == RSET_OK)
        st = rset_verify_payload(&f->local, ev, content, &found, err);
    rset_damage_take(&found, &s->payload, &s->unread);
    s->no_sums = !ev->header.has_payload_sums;
    for (int i = 0; i < info->nfiles; i++)
        s->no_sums = s->no_sums || !info->files[i].has_sums;
    s->verified = content && st == RSET_OK && !s->no_sums;
    return st;
}

static void
trouble(sighting *s, const rset_err *err)
{
    free(s->trouble);
    s->trouble = must_copy(err->text);
}

/* What its own redundancy file says. */
static void
look_at_recorded(sighting *s, const files *f, const rset_evidence *ev, bool content)
{
    rset_err err = RSET_ERR_NONE;

    if (ev->has_header) {
        if (compare(s, f, ev, content, &err) != RSET_OK)
            trouble(s, &err);
    } else if (sighting_records(s)->ninfos > 0) {
        (void)rset_fail(&err, RSET_IO, "its redundancy file was there a moment ago");
        trouble(s, &err);
    }
}

/* It has no data file, and is as good as there: what leads back to it from the next newer one is. Its content is not compared. */
static void
be_whole(sighting *s, const rset_own_generation *g)
{
    s->there = true;
    s->size = g->size;
    s->damaged = s->verified = s->said.over_gone = false;
    free(s->said.over_name);
    s->said.over_name = NULL;
    rset_ranges_free(&s->data);
    rset_ranges_free(&s->payload);
    s->altered = (rset_altered){0};
}

/* Of a generation that is kept, what the engine says of it beside the others of the file. */
static void
look_at_kept(sighting *s)
{
    files                f = {0};
    rset_own_generations all = {0};
    rset_kept_form       form;
    rset_err             ignored = RSET_ERR_NONE;

    if (files_open_newest(s, NULL, &f, &ignored) == RSET_OK)
        (void)rset_own_generations_list(&f.local, &f.evidence, &all, &ignored);
    for (size_t i = 0; i < all.n; i++)
        if (all.at[i].generation == s->older) {
            s->bytes = all.at[i].bytes;
            if (rset_kept_find(&f.local, s->older, &form, &ignored) == RSET_OK &&
                form == RSET_KEPT_BACK && all.at[i].why[0] == '\0')
                be_whole(s, &all.at[i]);
        }
    rset_own_generations_free(&all);
    files_close(&f);
}

void
look_at(sighting *s, bool content)
{
    rset_err      err = RSET_ERR_NONE;
    files         f = {0};
    rset_evidence later = {0};
    rset_status   st;

    if (files_open_seen(s, &f, &err) != RSET_OK) {
        trouble(s, &err);
        return;
    }
    st = note_stat(s, &f, &err);
    if (st == RSET_OK && s->ahead)
        st = rset_survey_ahead(f.dir, f.prefix, s->name, f.evidence.next, &later, &err);
    if (st == RSET_OK)
        look_at_recorded(s, &f, s->ahead ? &later : &f.evidence, content);
    else
        trouble(s, &err);
    if (f.evidence.has_header || !s->said.has_header) { /* else it was there a moment ago */
        rset_note_unread(&s->unread, f.evidence.unread);
        note(s, &f.evidence, &s->said);
    }
    if (later.has_header)
        note(s, &later, &s->later);
    rset_evidence_free(&later);
    files_close(&f);
    if (s->older != 0 && !s->aside)
        look_at_kept(s);
}

/* ---- files without a redundancy file of their own ---- */

/* Whose redundancy file records what this file should be; the newest, of those that this process can read itself. */
static const sighting *
find_record(const sightings *list, const sighting *s, int *which)
{
    const sighting *best = NULL;

    for (size_t i = 0; i < list->n; i++)
        for (int k = 1; k < list->at[i].said.header.ninfos && !list->at[i].ahead; k++) {
            const rset_info *r = &list->at[i].said.header.infos[k];

            if (list->at[i].owner == s->owner && strcmp(recorded_path(r), s->path) == 0 &&
                (best == NULL ||
                 rset_generation_newer(r->desc.generation,
                                       best->said.header.infos[*which].desc.generation))) {
                best = &list->at[i];
                *which = k;
            }
        }
    return best;
}

/* Two files of that name, each in its own place: nobody knows whose record it is. */
static bool
is_one(const sightings *list, const sighting *s)
{
    for (size_t i = 0; i < list->n; i++)
        if (&list->at[i] != s && list->at[i].owner == s->owner && !list->at[i].ahead &&
            strcmp(list->at[i].dir, s->dir) == 0 && strcmp(list->at[i].name, s->name) == 0)
            return false;
    return true;
}

/* Against what a neighbour records. What cannot be read is taken by its size, as where no neighbour is within reach. */
static void
compare_with_record(sighting *s, const sighting *by, int which)
{
    rset_err    ignored = RSET_ERR_NONE;
    files       f = {0}, other = {0};
    rset_damage found = {0};

    if (files_open_seen(by, &other, &ignored) == RSET_OK && other.evidence.has_header &&
        which < other.evidence.header.ninfos && other.evidence.header.infos[which].nfiles == 1 &&
        files_open_seen(s, &f, &ignored) == RSET_OK && f.n == 1 &&
        rset_verify_data(&f.local, &other.evidence.header.infos[which], true, &found, &ignored) ==
            RSET_OK) {
        s->against = by->said.header.infos[which].desc.generation;
        s->data = found.bad;
        s->damaged = found.any;
        s->unread = found.unread;
        if (found.any)
            (void)rset_is_altered(&f.local, &f.evidence, &other.evidence.header.infos[which],
                                  &s->altered);
        found = (rset_damage){0};
    }
    rset_damage_free(&found);
    files_close(&f);
    files_close(&other);
}

void
look_at_unrecorded(sightings *list, bool older)
{
    for (size_t i = 0; i < list->n; i++) {
        sighting       *s = &list->at[i];
        const sighting *by;
        int             which = 0;

        if (s->said.has_header || s->ahead || !s->there || (s->older != 0 && !older))
            continue;
        by = find_record(list, s, &which);
        if (by != NULL && is_one(list, s))
            compare_with_record(s, by, which);
    }
}
