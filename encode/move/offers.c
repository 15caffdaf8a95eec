/* offers.c: ranks that want their files are told who has them. See move_internal.h.
 *
 * Which file a rank wants is what it opens: its name; or where all files may have one name, the name and the rank's number. No
 * rank knows all: what is said of one name goes to the rank that keeps it, which is found by its hash. */
#include "common/crc64.h"
#include "move_internal.h"

/* Opening asks the server, where there is one, and does not rely on what was seen before. */
bool
rset_move_is_same(const rset_located *located, int i)
{
    rset_file  *file = NULL;
    struct stat sb;
    bool        same = rset_file_open(located->dir, located->names[i], &file, NULL) == RSET_OK &&
                rset_file_stat(file, &sb, NULL) == RSET_OK &&
                (uint64_t)sb.st_ino == located->inodes[i];

    (void)rset_file_close(file, NULL);
    return same;
}

uint64_t
rset_move_dir(const rset_dir *dir, const char *host)
{
    const uint64_t number = rset_dir_number(dir);

    return rset_crc64(rset_name_hash(host), &number, sizeof number);
}

/* ---- what is said ---- */

/* What goes by its name goes by the rank's number as well, where nothing says that names tell files apart. */
static void
say(const rset_move_question *q, rset_records *mail, rset_move_tip tip, bool by_name)
{
    const rset_comm *world = q->args->world;
    const uint64_t   number = (uint64_t)tip.offer.rank;

    tip.by = world->rank;
    tip.key = by_name ? tip.offer.name : rset_crc64(tip.offer.name, &number, sizeof number);
    rset_records_add_by_key(mail, world, tip.key, &tip);
}

/* What a header records of other ranks' files. */
static void
say_records(const rset_move_question *q, const rset_evidence *ev, const char *dir,
            rset_records *mail)
{
    for (int i = 1; ev->has_header && i < ev->header.ninfos; i++) {
        const rset_info *info = &ev->header.infos[i];
        rset_move_offer  o = {.recorded = 1,
                              .rank = info->desc.rank,
                              .ranks = info->desc.ranks,
                              .generation = rset_evidence_generation(ev),
                              .where = rset_where_of(&ev->header, i, dir)};

        if (info->nfiles < 1)
            continue;
        o.name = rset_name_hash(rset_path_base(info->files[0].path));
        say(q, mail, (rset_move_tip){.offer = o}, rset_evidence_names_differ(ev));
    }
}

static void
say_displaced(const rset_move_question *q, const rset_located *l, rset_records *mail)
{
    const char           *dir = rset_dir_path(l->dir);
    const rset_desc      *d = &l->evidence.header.infos[0].desc;
    const rset_move_offer o = {.data = l->there,
                               .rank = d->rank,
                               .ranks = d->ranks,
                               .name = rset_name_hash(l->name),
                               .dir = l->place,
                               .generation = rset_evidence_newest(&l->evidence),
                               .where = rset_where_of(&l->evidence.header, 0, dir)};

    say(q, mail, (rset_move_tip){.offer = o}, rset_evidence_names_differ(&l->evidence));
    say_records(q, &l->evidence, dir, mail);
}

/* ---- who is told ---- */

static bool
asks_for(const rset_move_tip *wish, const rset_move_tip *tip)
{
    return wish->wants != 0 && tip->wants == 0 && wish->key == tip->key &&
           (tip->offer.recorded != 0 || wish->offer.dir != tip->offer.dir);
}

/* Of those that ask for a name in one directory, the first gets the file. */
static bool
is_first(const rset_records *heard, size_t i, const rset_move_tip *wish)
{
    for (size_t k = 0; k < i; k++) {
        rset_move_tip other;

        (void)rset_records_get(heard, k, &other);
        if (other.wants != 0 && other.key == wish->key && other.offer.dir == wish->offer.dir)
            return false;
    }
    return true;
}

/* This rank keeps some keys. */
static void
pass_on(const rset_records *heard, rset_records *out)
{
    for (size_t i = 0; i < heard->n; i++) {
        rset_move_tip wish, tip;
        bool          first;

        (void)rset_records_get(heard, i, &wish);
        if (wish.wants == 0)
            continue;
        first = is_first(heard, i, &wish);
        for (size_t k = 0; k < heard->n; k++) {
            (void)rset_records_get(heard, k, &tip);
            if (!asks_for(&wish, &tip))
                continue;
            if (tip.offer.recorded != 0 || first)
                rset_records_add(out, wish.by, &tip);
        }
    }
}

/* Where all see the same, each says what there is of some. */
static bool
says(const rset_move_args *a, const rset_located *l)
{
    return !a->one_dir || l->dir != a->local->dir ||
           l->evidence.header.infos[0].desc.rank % a->world->size == a->world->rank;
}

rset_status
rset_move_ask(const rset_move_question *q, rset_status before, rset_records *tips_out,
              rset_err *err)
{
    const rset_move_args *a = q->args;
    rset_records          heard = {.size = sizeof(rset_move_tip)};
    rset_status           st;

    *tips_out = (rset_records){.size = sizeof(rset_move_tip)};
    for (size_t i = 0; before == RSET_OK && i < q->located->n; i++)
        if (says(a, &q->located->at[i]))
            say_displaced(q, &q->located->at[i], &heard);
    if (before == RSET_OK)
        say_records(q, a->evidence, a->local->dir != NULL ? rset_dir_path(a->local->dir) : NULL,
                    &heard);
    for (int by_name = 0; before == RSET_OK && q->wants && by_name < 2; by_name++)
        say(q, &heard, (rset_move_tip){.wants = 1, .offer = q->own}, by_name != 0);
    st = rset_route(a->world, before, a->host, &heard, err);
    if (st == RSET_OK)
        pass_on(&heard, tips_out);
    rset_records_free(&heard);
    return st == RSET_OK ? rset_route(a->world, RSET_OK, a->host, tips_out, err) : st;
}
