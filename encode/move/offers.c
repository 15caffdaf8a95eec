/* offers.c: ranks that want their files are told who has them (picture.h). See move_internal.h.
 *
 * Which file a rank wants is what it opens: its name; or where all files may have one name, the name and the rank's number. */
#include "common/crc64.h"
#include "move_internal.h"

#include <string.h>

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

/* ---- what is said ---- */

static uint64_t
key_of(const rset_holding *holding, bool by_name)
{
    const uint64_t number = (uint64_t)holding->rank;

    return by_name ? holding->name : rset_crc64(holding->name, &number, sizeof number);
}

/* What goes by its name goes by the rank's number as well, where nothing says that names tell files apart. */
static void
say_holding(const rset_move_question *q, rset_holding holding, rset_records *said)
{
    const rset_comm *world = q->args->world;

    holding.by = world->rank;
    rset_keepers_say(
        said, world,
        &(rset_saying){.key = key_of(&holding, (holding.facts & RSET_HOLDING_NAMED) != 0),
                       .holding = holding});
}

/* A rank asks for its file, and says of which generation it knows. */
static void
ask_for_own(const rset_move_question *q, rset_records *said)
{
    rset_holding own = q->own;

    own.generation = q->args->known;
    for (int by_name = 0; q->wants && by_name < 2; by_name++)
        rset_keepers_say(
            said, q->args->world,
            &(rset_saying){.key = key_of(&own, by_name != 0), .asks = 1, .holding = own});
}

static bool
is_own(const rset_move_question *q, const rset_located *l)
{
    const rset_local *local = q->args->local;

    return l->dir == q->look->own && local->nfiles > 0 && strcmp(l->base, local->names[0]) == 0;
}

static bool
has_files(const rset_evidence *ev, int k)
{
    return k == 0 || ev->header.infos[k].nfiles > 0;
}

static void
say_found(const rset_move_question *q, rset_records *said, bool *own_out)
{
    const rset_move_args   *a = q->args;
    const char             *name = a->local->nfiles > 0 ? a->local->names[0] : "";
    const rset_look_telling how = {a->world, name, a->one_dir};

    for (size_t i = 0; i < q->look->found.n; i++) {
        const rset_located *l = &q->look->found.at[i];

        const bool own = is_own(q, l);

        *own_out = *own_out || own;
        for (int k = 0; k < l->evidence.header.ninfos; k++)
            if (has_files(&l->evidence, k) && (own || rset_look_tells(q->look, &how, l, k)))
                say_holding(q, rset_look_holding(l, k, a->world->rank), said);
    }
}

/* A rank says what its own header records of other ranks' files. Needed where no look has found that: the rank gives no files, or its own is
 * being changed. */
static void
say_recorded(const rset_move_question *q, rset_records *said)
{
    const rset_local    *local = q->args->local;
    const rset_evidence *ev = q->args->evidence;
    const char          *dir = local->dir != NULL ? rset_dir_path(local->dir) : NULL;

    for (int k = 1; ev->has_header && local->nfiles > 0 && k < ev->header.ninfos; k++)
        if (has_files(ev, k))
            say_holding(q, rset_holding_recorded(ev, local->names[0], dir, k), said);
}

/* ---- who is told ---- */

/* Of those that ask for a name in one directory, the first gets the file. */
static bool
is_first(const rset_saying *of_key, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (of_key[k].holding.dir == of_key[i].holding.dir)
            return false;
    return true;
}

/* Is it more than that the file is recorded in the generation of which the rank knows? */
static bool
is_news(const rset_holding *wish, const rset_holding *one)
{
    return (one->facts & RSET_HOLDING_HERE) != 0 ||
           (one->ranks > 0 && one->newest != wish->generation);
}

/* The keeper of a name answers those that ask for it. A file need not come that lies in the directory in which it is asked for. */
static rset_status
answer(rset_answers *to, const rset_saying *of_key, size_t n)
{
    for (size_t i = 0; i < n && of_key[i].asks != 0; i++) {
        const rset_holding *wish = &of_key[i].holding;
        const bool          first = is_first(of_key, i);

        for (size_t k = i; k < n; k++) {
            const rset_holding *one = &of_key[k].holding;
            const bool          recorded = (one->facts & RSET_HOLDING_HERE) == 0;

            if (of_key[k].asks != 0 || !(recorded || (first && one->dir != wish->dir)))
                continue;
            rset_records_add(&to->out, wish->by, &of_key[k]);
            to->news = to->news || is_news(wish, one);
        }
    }
    return RSET_OK;
}

rset_status
rset_move_ask(const rset_move_question *q, rset_status before, rset_records *told_out,
              rset_err *err)
{
    const rset_move_args       *a = q->args;
    const rset_keepers_question ask = {
        .world = a->world, .host = a->host, .answer = answer, .news = q->news, .aside = a->aside};
    bool own = false;

    *told_out = a->aside != NULL ? a->aside->said : (rset_records){.size = sizeof(rset_saying)};
    if (before == RSET_OK) {
        say_found(q, told_out, &own);
        if (!own)
            say_recorded(q, told_out);
        ask_for_own(q, told_out);
    }
    return rset_keepers_ask(&ask, before, told_out, err);
}
