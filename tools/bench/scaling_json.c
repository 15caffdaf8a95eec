/* scaling_json.c: the figures of scaling.h as JSON (docs/performance.md). */
#include "json.h"
#include "scaling.h"

static const char *const phase_names[BENCH_PHASES] = {
    [BENCH_PHASE_CREATE] = "create",   [BENCH_PHASE_CLOSE_FIRST] = "close_first",
    [BENCH_PHASE_CLOSE] = "close",     [BENCH_PHASE_ENCODE] = "encode",
    [BENCH_PHASE_OPEN] = "open",       [BENCH_PHASE_REBUILD_ONE] = "rebuild_one",
    [BENCH_PHASE_REBUILD] = "rebuild", [BENCH_PHASE_READ] = "read_one",
    [BENCH_PHASE_END] = "end"};
static const char *const count_names[BENCH_COUNTS] = {[BENCH_COUNT_SENT] = "sent",
                                                      [BENCH_COUNT_RECEIVED] = "received",
                                                      [BENCH_COUNT_SENT_BYTES] = "sent_bytes",
                                                      [BENCH_COUNT_RECEIVED_BYTES] =
                                                          "received_bytes",
                                                      [BENCH_COUNT_HEAP] = "heap"};

static json_t *
view_of(const bench_curves *curves, bench_phase phase, bench_count count, bench_view view)
{
    double values[BENCH_POINTS_MAX];

    for (int i = 0; i < curves->n; i++)
        values[i] = curves->points[i].value[phase][count][view];
    return json_pack("{s:o}", "values", bench_json_list(values, curves->n));
}

static json_t *
counts_of(const bench_curves *curves)
{
    json_t *all = json_array();
    bool    ok = true;

    for (int phase = 0; phase < BENCH_PHASES; phase++)
        for (int count = 0; ok && count < BENCH_COUNTS; count++)
            ok = json_array_append_new(
                     all, json_pack("{s:s, s:s, s:o, s:o, s:o}", "phase", phase_names[phase],
                                    "count", count_names[count], "worst",
                                    view_of(curves, phase, count, BENCH_WORST), "mean",
                                    view_of(curves, phase, count, BENCH_MEAN), "rank0",
                                    view_of(curves, phase, count, BENCH_ROOT))) == 0;
    return bench_json_sound(all, ok);
}

/* Of the slowest rank, for each phase. */
static json_t *
seconds_of(const bench_curves *curves)
{
    double  values[BENCH_POINTS_MAX];
    json_t *all = json_object();
    bool    ok = true;

    for (int phase = 0; phase < BENCH_PHASES; phase++) {
        for (int i = 0; i < curves->n; i++)
            values[i] = curves->points[i].seconds[phase];
        ok =
            json_object_set_new(all, phase_names[phase], bench_json_list(values, curves->n)) == 0 &&
            ok;
    }
    return bench_json_sound(all, ok);
}

bool
bench_scaling_json(const bench *b, const bench_curves *curves)
{
    json_t *result = bench_json_head(b), *ranks = json_array();
    bool    ok = true;

    for (int i = 0; i < curves->n; i++)
        ok = json_array_append_new(ranks, json_integer(curves->points[i].ranks)) == 0 && ok;
    ok = ok &&
         json_object_update_missing_new(
             result, json_pack("{s:b, s:b, s:b, s:o, s:o, s:o}", "scaling", 1, "threads",
                               b->size == 1, "heap", bench_heap_counts(), "ranks", ranks, "seconds",
                               seconds_of(curves), "counts", counts_of(curves))) == 0;
    return bench_json_write(b, bench_json_sound(result, ok));
}
