/* options.c: see options.h. */
#include "options.h"

#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: mpiexec -n RANKS h5redset-bench [OPTION]...\n"
    "\n"
    "Measures what protecting the files of RANKS ranks costs, against the least that moving the\n"
    "bytes costs, and prints all samples as JSON, of which h5redset-bench-report makes a table "
    "and\n"
    "drawings. See docs/performance.md for what each line means.\n"
    "\n"
    "  -s, --schemes LIST      PARTNER:R, XOR, RS:K, separated by commas; default\n"
    "                          PARTNER:1,XOR,RS:2,RS:3, without those that need more ranks\n"
    "  -b, --size BYTES        size of each rank's file, with K, M or G; default 256M\n"
    "      --io-size BYTES     size of each dataset of the H5Dwrite and H5Dread lines; default "
    "64M\n"
    "  -d, --dir DIR           where every rank makes a directory of its own, and removes it "
    "again;\n"
    "                          needs up to eight times BYTES for each rank; default .\n"
    "  -n, --repetitions N     of every measurement, 5 to 99; the median counts; default 5\n"
    "      --json FILE         writes the JSON there, not to standard output\n"
    "      --short             small files and no RS:3, for a check: size 4M, io-size 16M, and\n"
    "                          only one rank writes and reads in requests\n"
    "      --scaling           nothing but this: messages, bytes and memory of each rank from 2 "
    "ranks\n"
    "                          on, which are threads of one process, or of the ranks of mpiexec; "
    "with\n"
    "                          --size of each file, default 16K\n"
    "      --ranks N           so many ranks for --scaling at most, 2 to 4096; default 4096\n"
    "  -h, --help\n"
    "\n"
    "Exit status: 0, 1 failed, 64 wrong usage.\n";

enum { OPT_IO_SIZE = 256, OPT_JSON, OPT_SHORT, OPT_SCALING, OPT_RANKS };

static const struct option options[] = {{"schemes", required_argument, NULL, 's'},
                                        {"size", required_argument, NULL, 'b'},
                                        {"io-size", required_argument, NULL, OPT_IO_SIZE},
                                        {"dir", required_argument, NULL, 'd'},
                                        {"repetitions", required_argument, NULL, 'n'},
                                        {"json", required_argument, NULL, OPT_JSON},
                                        {"short", no_argument, NULL, OPT_SHORT},
                                        {"scaling", no_argument, NULL, OPT_SCALING},
                                        {"ranks", required_argument, NULL, OPT_RANKS},
                                        {"help", no_argument, NULL, 'h'},
                                        {NULL, 0, NULL, 0}};

static bool
wrong(bool tell, const char *what, const char *value)
{
    if (tell)
        fprintf(stderr, "h5redset-bench: %s: %s; --help tells what is possible\n", what, value);
    return false;
}

/* ---- values ---- */

static bool
read_size(const char *text, uint64_t *out)
{
    char              *end;
    unsigned long long n = strtoull(text, &end, 10);
    int                shift = 0;

    if (!isdigit((unsigned char)*text))
        return false;
    switch (toupper((unsigned char)*end)) {
    case 'K': shift = 10; break;
    case 'M': shift = 20; break;
    case 'G': shift = 30; break;
    case '\0': break;
    default: return false;
    }
    *out = (uint64_t)n << shift;
    return (*end == '\0' || end[1] == '\0') && n <= UINT64_MAX >> 20 && *out >= 4096 &&
           *out <= (uint64_t)1 << 50;
}

/* "RS:2", "RS2" and "RS(2)" are the same. */
static bool
read_scheme(const char *word, int ranks, bench_scheme *out)
{
    size_t letters = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    char   name[16];

    snprintf(name, sizeof name, "%.*s", (int)(letters < 15 ? letters : 15), word);
    word += letters + strspn(word + letters, ":(");
    out->scheme = rset_scheme_by_name(name);
    out->parity = isdigit((unsigned char)*word) ? atoi(word) : 1;
    if (out->scheme == NULL || out->scheme == &rset_scheme_single || out->parity < 1 ||
        out->parity >= ranks || out->scheme->check(ranks, out->parity, NULL) != RSET_OK)
        return false;
    if (out->scheme->count_key == NULL)
        snprintf(out->name, sizeof out->name, "%s", out->scheme->name);
    else
        snprintf(out->name, sizeof out->name, "%s(%d)", out->scheme->name, out->parity);
    return true;
}

static bool
read_schemes(const char *list, int ranks, bool skip, bench_options *out)
{
    char *copy = strdup(list), *rest = NULL;
    bool  ok = copy != NULL;

    out->nschemes = 0;
    for (char *word = ok ? strtok_r(copy, ", ", &rest) : NULL; ok && word != NULL;
         word = strtok_r(NULL, ", ", &rest)) {
        if (out->nschemes < BENCH_SCHEMES_MAX &&
            read_scheme(word, ranks, &out->schemes[out->nschemes]))
            out->nschemes++;
        else
            ok = skip;
    }
    free(copy);
    return ok && out->nschemes > 0;
}

/* ---- the command line ---- */

static bool
read_one(int opt, bool tell, const char **schemes, bench_options *out)
{
    switch (opt) {
    case 's': *schemes = optarg; return true;
    case 'b': return read_size(optarg, &out->size) || wrong(tell, "--size", optarg);
    case OPT_IO_SIZE:
        return (read_size(optarg, &out->io_size) && out->io_size % BENCH_BUFFER == 0) ||
               wrong(tell, "--io-size", optarg);
    case 'd': out->dir = optarg; return true;
    case 'n':
        out->repetitions = atoi(optarg);
        return (out->repetitions >= 5 && out->repetitions <= BENCH_REPETITIONS_MAX) ||
               wrong(tell, "--repetitions", optarg);
    case OPT_JSON: out->json = optarg; return true;
    case OPT_SHORT: out->brief = true; return true;
    case OPT_SCALING: out->scaling = true; return true;
    case OPT_RANKS:
        out->ranks = atoi(optarg);
        return (out->ranks >= 2 && out->ranks <= BENCH_RANKS_MAX) || wrong(tell, "--ranks", optarg);
    default: return wrong(tell, "wrong usage", "an option is not known or has no value");
    }
}

static bool
choose_schemes(const char *asked, int ranks, bench_options *out)
{
    if (asked != NULL)
        return read_schemes(asked, ranks, false, out);
    return read_schemes(out->brief ? "PARTNER:1,XOR,RS:2" : "PARTNER:1,XOR,RS:2,RS:3", ranks, true,
                        out);
}

static void
set_defaults(bench_options *out)
{
    const uint64_t mib = 1024 * 1024;

    if (out->size == 0)
        out->size = out->scaling ? mib / 64 : out->brief ? 4 * mib : 256 * mib;
    if (out->io_size == 0)
        out->io_size = out->brief ? 16 * mib : 64 * mib;
}

bench_asked
bench_options_read(int argc, char **argv, int ranks, bool tell, bench_options *out)
{
    const char *schemes = NULL;
    bool        ok = true;

    *out = (bench_options){.dir = ".", .repetitions = 5, .ranks = 4096};
    opterr = tell;
    for (int opt; ok && (opt = getopt_long(argc, argv, "s:b:d:n:h", options, NULL)) != -1;) {
        if (opt == 'h') {
            if (tell)
                fputs(usage, stdout);
            return BENCH_HELP;
        }
        ok = read_one(opt, tell, &schemes, out);
    }
    if (ok && optind < argc)
        ok = wrong(tell, "not an option", argv[optind]);
    if (ok && ranks < 2 && !out->scaling)
        ok = wrong(tell, "needs at least 2 ranks", "start it with mpiexec");
    if (ok && !out->scaling)
        ok = choose_schemes(schemes, ranks, out) ||
             wrong(tell, "--schemes", schemes != NULL ? schemes : "none fits");
    set_defaults(out);
    return ok ? BENCH_RUN : BENCH_WRONG;
}
