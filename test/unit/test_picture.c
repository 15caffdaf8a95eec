/* test_picture.c: who has what of the files that ranks open (picture/picture.h): each directory is looked into once, and who asks
 * and who has meet at the keeper of a name, whatever the order in which ranks speak. */
#include "comm_ranks.h"
#include "image.h"
#include "job.h"
#include "picture/picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEADLINE = 30, RANKS = 4 };

/* ---- a look ---- */

/* Files of RANKS ranks, protected with XOR, and rank 0's directory. */
typedef struct place {
    char     *base;
    job       job;
    rset_dir *dir;
} place;

static void
place_open(place *p)
{
    static const size_t sizes[] = {4000, 3000, 2000, 1000};
    rset_err            err = RSET_ERR_NONE;

    *p = (place){.base = scratch_make()};
    job_init(&p->job, p->base, RANKS, &rset_scheme_xor, 1, RANKS);
    job_write_data(&p->job, sizes, RANKS, 1);
    assert_int_equal(job_protect(&p->job), RSET_OK);
    assert_int_equal(rset_dir_open(p->job.ranks[0].dir, false, &p->dir, &err), RSET_OK);
}

static void
place_close(place *p)
{
    rset_dir_close(p->dir);
    job_free(&p->job);
    remove_tree(p->base);
    free(p->base);
}

/* PC1: the own directory is named three times, once by another name. */
static void
PC1_each_directory_once(void **state)
{
    char        link[4096], why[1024];
    const char *search[] = {NULL, link, NULL};
    rset_err    err = RSET_ERR_NONE;
    rset_look   look;
    image       before;
    place       p;

    (void)state;
    place_open(&p);
    snprintf(link, sizeof link, "%s/same", p.base);
    assert_int_equal(symlink(p.job.ranks[0].dir, link), 0);
    search[0] = p.job.ranks[0].dir;
    before = image_take(p.base);
    assert_int_equal(rset_look_around(&(rset_look_at){.dir = p.dir,
                                                      .like = p.job.ranks[0].names[0],
                                                      .search = search,
                                                      .host = "host",
                                                      .recorded = true},
                                      &look, &err),
                     RSET_OK);
    assert_true(look.own == p.dir);
    assert_int_equal(look.ndirs, 1);
    assert_int_equal(look.found.n, 1);
    rset_look_free(&look);
    if (!image_same(&before, p.base, NULL, IMAGE_UNTOUCHED, why))
        fail_msg("%s", why);
    image_free(&before);
    place_close(&p);
}

static void
look_there(const place *p, rset_look *look)
{
    const rset_look_at at = {.dir = p->dir, .like = p->job.ranks[0].names[0], .host = "host"};
    rset_err           err = RSET_ERR_NONE;

    assert_int_equal(rset_look_around(&at, look, &err), RSET_OK);
}

/* What is found there: the own file, with its data, and what is recorded of a neighbour's. */
static void
what_is_found(void **state)
{
    rset_look look;
    place     p;

    (void)state;
    place_open(&p);
    look_there(&p, &look);
    for (int k = 0; k < 2; k++) {
        const int          rank = k == 0 ? 0 : RANKS - 1;
        const rset_holding one = rset_look_holding(&look.found.at[0], k, 7);

        assert_int_equal(one.rank, rank);
        assert_int_equal(one.ranks, RANKS);
        assert_int_equal(one.by, 7);
        assert_true(one.name == rset_name_hash(p.job.ranks[rank].names[0]));
        assert_true(one.name == one.base && one.generation != 0 && one.newest == one.generation);
        assert_int_equal(one.facts,
                         RSET_HOLDING_NAMED | (k == 0 ? RSET_HOLDING_HERE | RSET_HOLDING_DATA : 0));
        assert_true(one.dir == rset_look_number(p.dir, "host"));
        assert_true(one.dir != rset_look_number(p.dir, "another host"));
    }
    rset_look_free(&look);
    place_close(&p);
}

/* PC2: where all look into one directory, what there is of a rank is told by one of them, and by the rank that opens it. */
static void
PC2_each_tells_its_share(void **state)
{
    rset_look look;
    place     p;

    (void)state;
    place_open(&p);
    look_there(&p, &look);
    for (int k = 0; k < 2; k++)
        for (int one_dir = 0; one_dir < 2; one_dir++) {
            int tell = 0;

            for (int r = 0; r < RANKS; r++) {
                const rset_comm         world = {.rank = r, .size = RANKS};
                const rset_look_telling how = {&world, "ckpt_1.h5", one_dir != 0};

                tell += rset_look_tells(&look, &how, &look.found.at[0], k);
            }
            assert_int_equal(tell, one_dir != 0 ? 1 : RANKS);
        }
    assert_true(rset_look_tells(
        &look,
        &(rset_look_telling){&(rset_comm){.rank = 1, .size = RANKS}, p.job.ranks[0].names[0], true},
        &look.found.at[0], 0));
    rset_look_free(&look);
    place_close(&p);
}

/* ---- keepers ---- */

static uint64_t
key_of(int rank)
{
    return rset_name_hash("ckpt_0.h5") + 2 * (uint64_t)rank;
}

/* Of each key: who asks comes first, in the order of ranks, and then what there is, equal ones side by side. */
static rset_status
answer_all(rset_answers *to, const rset_saying *of_key, size_t n)
{
    const size_t askers = rset_keepers_askers(of_key, n);
    bool         order = true;

    for (size_t i = 1; i < n; i++)
        order = order && (i < askers    ? of_key[i - 1].holding.by < of_key[i].holding.by
                          : i == askers ? true
                                        : of_key[i].asks == 0 &&
                                              of_key[i - 1].holding.rank <= of_key[i].holding.rank);
    for (size_t i = 0; order && i < askers; i++)
        for (size_t k = askers; k < n; k++)
            rset_records_add(&to->out, of_key[i].holding.by, &of_key[k]);
    to->news = to->news || of_key[0].key == key_of(0);
    return RSET_OK;
}

/* Rank r asks for key r, as rank r + 1 does; and has something of the keys r and r + 2, the first twice. */
static void
keepers_body(rset_comm *comm, void *arg)
{
    const bool   backwards = *(const bool *)arg;
    const int    n = comm->size;
    rset_records said = {.size = sizeof(rset_saying)};
    rset_err     err = RSET_ERR_NONE;
    rset_saying  it;
    int          of_own = 0;

    for (int i = 0; i < 5; i++) {
        const int         what = backwards ? 4 - i : i;
        const bool        asks = what < 2;
        const rset_saying one = {.key = key_of(what == 1   ? (comm->rank + n - 1) % n
                                               : what == 4 ? (comm->rank + 2) % n
                                                           : comm->rank),
                                 .asks = asks,
                                 .holding = {.rank = comm->rank}};

        rset_keepers_say(&said, comm, &one);
    }
    CHECK(
        rset_keepers_ask(&(rset_keepers_question){.world = comm, .host = "", .answer = answer_all},
                         RSET_OK, &said, &err) == RSET_OK);
    for (size_t i = 0; i < said.n; i++) {
        const int mine = comm->rank, before = (comm->rank + n - 1) % n;

        (void)rset_records_get(&said, i, &it);
        CHECK(it.key == key_of(mine) || it.key == key_of(before));
        CHECK(key_of(it.holding.rank) == it.key || key_of((it.holding.rank + 2) % n) == it.key);
        of_own += it.key == key_of(mine);
    }
    CHECK(said.n == 6 && of_own == 3);
    rset_records_free(&said);
}

static void
PC3_in_whatever_order_it_is_said(void **state)
{
    (void)state;
    for (int n = 3; n <= 17; n++)
        for (int backwards = 0; backwards < 2; backwards++)
            run(n, DEADLINE, keepers_body, &(bool){backwards != 0});
}

/* An asker that says it is another rank; a holding as well, and one that nobody has. */
static rset_status
check_who_speaks(rset_answers *to, const rset_saying *of_key, size_t n)
{
    const rset_comm *comm = to->arg;

    CHECK(n == 3 && of_key[0].holding.by == comm->rank && of_key[1].holding.rank == 1 &&
          of_key[1].holding.by == comm->rank && of_key[2].holding.by == -1);
    return rset_fail(to->err, RSET_LOST, "rank %d was asked", comm->rank);
}

/* Each rank asks its own keeper, which is itself, and tells it two things. */
static void
speak(rset_records *said, const rset_comm *comm)
{
    rset_saying it = {.key = rset_key_of_rank(comm->rank), .asks = 1, .holding.by = 77};

    rset_keepers_say(said, comm, &it);
    it.asks = 0;
    it.holding.rank = 1;
    rset_keepers_say(said, comm, &it);
    it.holding = (rset_holding){.rank = 2, .by = -1};
    rset_keepers_say(said, comm, &it);
}

/* A keeper's failure is that of all where its answers are waited for, else its own. */
static void
speaker_body(rset_comm *comm, void *arg)
{
    const rset_keepers_question q = {
        .world = comm, .host = "", .answer = check_who_speaks, .arg = comm};
    rset_records said = {.size = sizeof(rset_saying)};
    rset_err     all = RSET_ERR_NONE, own = RSET_ERR_NONE;
    char         text[32];

    (void)arg;
    snprintf(text, sizeof text, "rank %d was asked", comm->rank);
    speak(&said, comm);
    CHECK(rset_keepers_ask(&q, RSET_OK, &said, &all) == RSET_LOST);
    CHECK(said.n == 0 && strstr(all.text, "was asked") != NULL);
    speak(&said, comm);
    CHECK(rset_keepers_hear(&q, RSET_OK, &said, &own) == RSET_LOST);
    CHECK(said.n == 0 && strcmp(own.text, text) == 0);
    rset_records_free(&said);
}

static void
a_keeper_knows_who_speaks(void **state)
{
    (void)state;
    run(RANKS, DEADLINE, speaker_body, NULL);
}

/* Who has failed takes part, and all hear of it. */
static void
failed_body(rset_comm *comm, void *arg)
{
    rset_records said = {.size = sizeof(rset_saying)};
    rset_err     err = RSET_ERR_NONE;
    rset_status  own = RSET_OK;

    (void)arg;
    if (comm->rank == 1)
        own = rset_fail(&err, RSET_IO, "a directory could not be listed");
    rset_keepers_say(&said, comm, &(rset_saying){.key = key_of(comm->rank), .asks = 1});
    CHECK(
        rset_keepers_ask(&(rset_keepers_question){.world = comm, .host = "", .answer = answer_all},
                         own, &said, &err) == RSET_IO);
    CHECK(said.n == 0 && strstr(err.text, "could not be listed") != NULL);
    rset_records_free(&said);
}

static void
who_has_failed_says_so(void **state)
{
    (void)state;
    run(RANKS, DEADLINE, failed_body, NULL);
}

/* What is said of key 0 is news: then all hear their answers, or else where one rank wants them. */
static void
news_body(rset_comm *comm, void *arg)
{
    const int        *how = arg; /* first key that is asked for; rank that wants answers */
    bool              news = comm->rank == how[1];
    rset_records      said = {.size = sizeof(rset_saying)};
    rset_err          err = RSET_ERR_NONE;
    const rset_saying ask = {.key = key_of(how[0] + comm->rank), .asks = 1};
    const rset_saying has = {.key = ask.key, .holding = {.rank = comm->rank}};
    const bool        heard = how[0] == 0 || how[1] >= 0;

    rset_keepers_say(&said, comm, &ask);
    rset_keepers_say(&said, comm, &has);
    CHECK(rset_keepers_ask(
              &(rset_keepers_question){
                  .world = comm, .host = "", .answer = answer_all, .news = &news},
              RSET_OK, &said, &err) == RSET_OK);
    CHECK(news == heard && said.n == (heard ? 1 : 0));
    rset_records_free(&said);
}

static void
answers_that_are_no_news_stay(void **state)
{
    static const int hows[][2] = {{0, -1}, {1, -1}, {1, 2}};

    (void)state;
    for (size_t i = 0; i < sizeof hows / sizeof *hows; i++)
        run(RANKS, DEADLINE, news_body, (void *)(uintptr_t)hows[i]);
}

/* A keeper says of key 0 that it differs, if all that it has of the key belongs to this question. */
static bool
differ(const rset_saying *of_key, size_t n)
{
    return of_key[0].key == key_of(0) && n == 2 && of_key[0].asks != 0 && of_key[1].asks == 0;
}

/* A rank asks for a key, and has something of it. */
static void
say_both(rset_records *said, const rset_comm *comm, rset_saying it)
{
    it.asks = 1;
    rset_keepers_say(said, comm, &it);
    it.asks = 0;
    it.holding.rank = comm->rank;
    rset_keepers_say(said, comm, &it);
}

/* Each rank says the same key in both questions. */
static void
aside_body(rset_comm *comm, void *arg)
{
    const int                  *how = arg; /* first key; rank that has failed */
    const rset_saying           it = {.key = key_of(how[0] + comm->rank)};
    rset_keepers_aside          aside = {.said.size = sizeof(rset_saying), .differ = differ};
    bool                        news = true;
    const rset_keepers_question q = {
        .world = comm, .host = "", .answer = answer_all, .news = &news, .aside = &aside};
    rset_err    err = RSET_ERR_NONE;
    rset_status own = RSET_OK;

    if (comm->rank == how[1])
        own = rset_fail(&err, RSET_NOMEM, "no memory for names");
    say_both(&aside.said, comm, it);
    say_both(&aside.said, comm, (rset_saying){.key = it.key, .aside = 1});
    CHECK(rset_keepers_ask(&q, own, &aside.said, &err) == (how[1] < 0 ? RSET_OK : RSET_NOMEM));
    CHECK(aside.is == (how[0] == 0 && how[1] < 0));
    CHECK(aside.said.n == (how[1] < 0 ? 1U : 0U));
    rset_records_free(&aside.said);
}

static void
PC3_what_is_asked_aside_meets_nothing_else(void **state)
{
    static const int hows[][2] = {{0, -1}, {1, -1}, {0, 2}};

    (void)state;
    for (size_t i = 0; i < sizeof hows / sizeof *hows; i++)
        run(RANKS, DEADLINE, aside_body, (void *)(uintptr_t)hows[i]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(PC1_each_directory_once),
        cmocka_unit_test(what_is_found),
        cmocka_unit_test(PC2_each_tells_its_share),
        cmocka_unit_test(PC3_in_whatever_order_it_is_said),
        cmocka_unit_test(a_keeper_knows_who_speaks),
        cmocka_unit_test(who_has_failed_says_so),
        cmocka_unit_test(answers_that_are_no_news_stay),
        cmocka_unit_test(PC3_what_is_asked_aside_meets_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
