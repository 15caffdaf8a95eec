/* scaling_model.c: which of five forms a curve has. See scaling.h. */
#include "scaling.h"

#include <math.h>
#include <stdio.h>

enum { LEAST_RANKS = 16, LEAST_POINTS = 3 };

/* A form is taken over a simpler one when that is off by more than this share, and it brings the squares down to that one. */
#define NEAR   0.03
#define BETTER 0.5

static double
term(bench_form form, double ranks)
{
    switch (form) {
    case BENCH_LOGARITHMIC: return log2(ranks);
    case BENCH_LARGER:
    case BENCH_LINEAR: return ranks;
    case BENCH_LINEAR_LOGARITHMIC: return ranks * log2(ranks);
    default: return 0;
    }
}

double
bench_model_at(const bench_model *model, double ranks)
{
    const double grown = model->b * term(model->form, ranks);

    return model->form == BENCH_LARGER ? fmax(model->a, grown) : model->a + grown;
}

/* The curve's points that count. */
typedef struct series {
    int    n;
    double ranks[BENCH_POINTS_MAX], value[BENCH_POINTS_MAX];
} series;

static series
series_of(const bench_curves *curves, bench_phase phase, bench_count count, bench_view view)
{
    series s = {0};

    for (int i = 0; i < curves->n; i++) {
        if (curves->points[i].ranks < LEAST_RANKS && curves->n >= LEAST_POINTS + 3)
            continue;
        s.ranks[s.n] = curves->points[i].ranks;
        s.value[s.n++] = curves->points[i].value[phase][count][view];
    }
    return s;
}

/* Each point's error counts as a share of its value. */
static double
weight_of(double value)
{
    const double size = fmax(value, 1);

    return 1 / (size * size);
}

/* Weighted least squares. */
static bench_model
fit_sum(const series *s, bench_form form)
{
    bench_model m = {.form = form};
    double      w = 0, x = 0, y = 0, xx = 0, xy = 0, det;

    for (int i = 0; i < s->n; i++) {
        const double weight = weight_of(s->value[i]), t = term(form, s->ranks[i]);

        w += weight;
        x += weight * t;
        y += weight * s->value[i];
        xx += weight * t * t;
        xy += weight * t * s->value[i];
    }
    det = w * xx - x * x;
    m.b = form != BENCH_CONSTANT && det > 0 ? (w * xy - x * y) / det : 0;
    m.a = w > 0 ? (y - m.b * x) / w : 0;
    return m;
}

static double
squares(const series *s, bench_model *m)
{
    double sum = 0;

    for (int i = 0; i < s->n; i++) {
        const double off =
            fabs(bench_model_at(m, s->ranks[i]) - s->value[i]) / fmax(s->value[i], 1);

        sum += off * off;
        m->off = fmax(m->off, off);
    }
    return sum;
}

/* The first `flat` points are a's, the others b's. */
static bench_model
fit_split(const series *s, int flat)
{
    bench_model m = {.form = BENCH_LARGER};
    double      w = 0, y = 0, xx = 0, xy = 0;

    for (int i = 0; i < s->n; i++) {
        const double weight = weight_of(s->value[i]);

        w += i < flat ? weight : 0;
        y += i < flat ? weight * s->value[i] : 0;
        xx += i < flat ? 0 : weight * s->ranks[i] * s->ranks[i];
        xy += i < flat ? 0 : weight * s->ranks[i] * s->value[i];
    }
    m.a = w > 0 ? y / w : 0;
    m.b = xx > 0 ? xy / xx : 0;
    return m;
}

/* *squares_out: of what is left. */
static bench_model
fit(const series *s, bench_form form, double *squares_out)
{
    bench_model best = fit_sum(s, form == BENCH_LARGER ? BENCH_CONSTANT : form);

    *squares_out = squares(s, &best);
    for (int flat = 1; form == BENCH_LARGER && flat < s->n - 1; flat++) {
        bench_model  m = fit_split(s, flat);
        const double sum = squares(s, &m);

        if (sum >= *squares_out)
            continue;
        best = m;
        *squares_out = sum;
    }
    return best;
}

bench_model
bench_model_of(const bench_curves *curves, bench_phase phase, bench_count count, bench_view view)
{
    const series s = series_of(curves, phase, count, view);
    double       least, sum;
    bench_model  best = fit(&s, BENCH_CONSTANT, &least);

    for (int form = BENCH_LOGARITHMIC; s.n >= LEAST_POINTS && form < BENCH_FORMS; form++) {
        const bench_model m = fit(&s, (bench_form)form, &sum);

        if (m.b > 0 && sum < least * BETTER && best.off > NEAR) {
            best = m;
            least = sum;
        }
    }
    return best;
}

const char *
bench_model_text(const bench_model *model, char *text, size_t size)
{
    static const char *const of[BENCH_FORMS] = {"", "log2 n", "n", "n log2 n", ""};

    if (model->form == BENCH_CONSTANT)
        snprintf(text, size, "%.4g", model->a);
    else if (model->form == BENCH_LARGER)
        snprintf(text, size, "max(%.4g, %.4g n)", model->a, model->b);
    else
        snprintf(text, size, "%.4g %c %.4g %s", model->a, model->b < 0 ? '-' : '+', fabs(model->b),
                 of[model->form]);
    return text;
}
