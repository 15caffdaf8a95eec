/* options.c: see options.h. */
#include "options.h"

#include <getopt.h>
#include <math.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: h5redset status    [--verify] [--problems] [--json] [--search DIR]... PATH...\n"
    "       h5redset map       [--verify] [--problems] [--svg FILE] [--search DIR]... PATH...\n"
    "       h5redset rebuild   [--dry-run] [--deleted] [--search DIR]... [--rank N] PATH...\n"
    "       h5redset scavenge  --to DIR [--dry-run] [--force] [--owner USER] [--search DIR]... "
    "PATH...\n"
    "       h5redset protect   [--scheme S] [--set-size N] [--force] PATH...\n"
    "       h5redset unprotect [--dry-run] [--force] PATH...\n"
    "       h5redset rm        [--dry-run] [--force] PATH...\n"
    "       h5redset gc        [--dry-run] DIR...\n"
    "       h5redset mv        [--dry-run] OLD NEW\n"
    "       h5redset list      [--verify] [--json] [--search DIR]... PATH...\n"
    "       h5redset drop      --generation G | --changed [--dry-run] [--force] PATH...\n"
    "       h5redset restore   --generation G [--dry-run] PATH...\n"
    "\n"
    "Looks after HDF5 files protected by the redset driver. PATH is a file, or a directory with\n"
    "all below it; @LIST is a file with one path in each line, @- standard input. Alone it sees\n"
    "what this machine can reach; under mpiexec, one process on each node, all nodes at once.\n"
    "\n"
    "  status      how each protected file is, and what becomes of it\n"
    "  map         the same as a picture: sets over nodes\n"
    "  rebuild     rebuilds what is lost or damaged, finishes commits, rolls back\n"
    "  scavenge    after a job died: copies its files to a safe directory, rebuilds there what\n"
    "              is lost, and changes nothing where they are\n"
    "  protect     makes redundancy for files written without the driver; under mpiexec one for\n"
    "              each process, %r in PATH stands for its rank\n"
    "  unprotect   removes the redundancy of files, which stay as they are\n"
    "  rm          removes files that are protected together, and all that protects them\n"
    "  gc          removes what protects files that were deleted\n"
    "  mv          renames files that are protected together, with what protects them; %r in OLD\n"
    "              stands for a number, which comes to where NEW has %r\n"
    "  list        the generations that there are of each file, newest first\n"
    "  drop        removes an older generation of the files, or changed files that were put aside\n"
    "  restore     makes an older generation of the files the newest\n"
    "\n"
    "      --verify          reads everything and compares it with the recorded checksums\n"
    "      --problems        leaves out what is healthy\n"
    "      --json            machine-readable, see h5redset(1)\n"
    "      --svg FILE        draws the map into FILE\n"
    "      --color WHEN      auto, always or never\n"
    "      --search DIR      look for pieces there too; may be repeated\n"
    "      --deleted         bring files back that were deleted, too\n"
    "      --rank N          whose file PATH is, where its name does not say\n"
    "      --generation G    -1 (the one before the newest), -2, ..., a number, 16 digits, or "
    "label:NAME\n"
    "      --changed         what other programs had made of files that were restored since\n"
    "      --to DIR          where scavenge brings the files\n"
    "      --owner USER      who owns what scavenge brings; default: who owns it where it is\n"
    "      --dry-run         say what would be done, and do nothing\n"
    "      --scheme S        SINGLE, PARTNER[:parity], XOR (default), RS[:parity]\n"
    "      --set-size N      members per set; default 8\n"
    "      --force           even where that gives up the only way to restore something, replaces\n"
    "                        another file in DIR, or removes a part of what is protected together\n"
    "      --wait[=S]        waits while another process has the files in use, S seconds at most\n"
    "      --timeout S       seconds to wait for another process; default 3600\n"
    "  -h, --help\n"
    "  -V, --version\n"
    "\n"
    "Exit status: 0 all healthy or done, 1 something can be repaired or protected, and is not,\n"
    "2 unrecoverable, 3 nothing protected found, 4 no such path, 5 not done, 64 wrong usage.\n";

enum {
    OPT_VERIFY = 256,
    OPT_PROBLEMS,
    OPT_JSON,
    OPT_SVG,
    OPT_COLOR,
    OPT_SEARCH,
    OPT_RANK,
    OPT_DELETED,
    OPT_TO,
    OPT_OWNER,
    OPT_DRY_RUN,
    OPT_SCHEME,
    OPT_SET_SIZE,
    OPT_FORCE,
    OPT_GENERATION,
    OPT_CHANGED,
    OPT_WAIT,
    OPT_TIMEOUT
};

static const struct option long_options[] = {
    {"verify", no_argument, NULL, OPT_VERIFY},
    {"problems", no_argument, NULL, OPT_PROBLEMS},
    {"json", no_argument, NULL, OPT_JSON},
    {"svg", required_argument, NULL, OPT_SVG},
    {"color", required_argument, NULL, OPT_COLOR},
    {"search", required_argument, NULL, OPT_SEARCH},
    {"rank", required_argument, NULL, OPT_RANK},
    {"deleted", no_argument, NULL, OPT_DELETED},
    {"to", required_argument, NULL, OPT_TO},
    {"owner", required_argument, NULL, OPT_OWNER},
    {"dry-run", no_argument, NULL, OPT_DRY_RUN},
    {"scheme", required_argument, NULL, OPT_SCHEME},
    {"set-size", required_argument, NULL, OPT_SET_SIZE},
    {"force", no_argument, NULL, OPT_FORCE},
    {"generation", required_argument, NULL, OPT_GENERATION},
    {"changed", no_argument, NULL, OPT_CHANGED},
    {"wait", optional_argument, NULL, OPT_WAIT},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0}};

/* Which options a command knows, by its name. */
static const struct {
    const char *name;
    int         known[8];
} commands[] = {
    [COMMAND_STATUS] = {"status", {OPT_VERIFY, OPT_PROBLEMS, OPT_JSON, OPT_SEARCH}},
    [COMMAND_MAP] = {"map", {OPT_VERIFY, OPT_PROBLEMS, OPT_SVG, OPT_COLOR, OPT_SEARCH}},
    [COMMAND_REBUILD] = {"rebuild", {OPT_DRY_RUN, OPT_DELETED, OPT_SEARCH, OPT_RANK}},
    [COMMAND_SCAVENGE] = {"scavenge", {OPT_TO, OPT_DRY_RUN, OPT_FORCE, OPT_OWNER, OPT_SEARCH}},
    [COMMAND_PROTECT] = {"protect", {OPT_SCHEME, OPT_SET_SIZE, OPT_FORCE}},
    [COMMAND_UNPROTECT] = {"unprotect", {OPT_DRY_RUN, OPT_FORCE}},
    [COMMAND_RM] = {"rm", {OPT_DRY_RUN, OPT_FORCE}},
    [COMMAND_GC] = {"gc", {OPT_DRY_RUN}},
    [COMMAND_MV] = {"mv", {OPT_DRY_RUN}},
    [COMMAND_LIST] = {"list", {OPT_VERIFY, OPT_JSON, OPT_SEARCH}},
    [COMMAND_DROP] = {"drop", {OPT_GENERATION, OPT_CHANGED, OPT_DRY_RUN, OPT_FORCE}},
    [COMMAND_RESTORE] = {"restore", {OPT_GENERATION, OPT_DRY_RUN}},
};

/* ---- saying what is wrong ---- */

static bool tells;

static bool wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static bool
wrong(const char *fmt, ...)
{
    va_list args;

    if (!tells)
        return false;
    fputs("h5redset: ", stderr);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputs("; h5redset --help tells what is possible\n", stderr);
    return false;
}

/* ---- values ---- */

static bool
parse_int(const char *what, const char *text, int least, int *out)
{
    char *end = NULL;
    long  value = strtol(text, &end, 10);

    if (end == text || *end != '\0' || value < least || value > 1 << 24)
        return wrong("%s %s: a number from %d on is wanted", what, text, least);
    *out = (int)value;
    return true;
}

/* NAME or NAME:COUNT. */
static bool
parse_scheme(const char *text, options *o)
{
    const char *colon = strchr(text, ':');
    char       *name = must_print("%.*s", (int)strcspn(text, ":"), text);
    bool        counted;

    o->scheme = rset_scheme_by_name(name);
    free(name);
    if (o->scheme == NULL)
        return wrong("--scheme %s: possible are %s", text, rset_scheme_names);
    counted = o->scheme->count_key != NULL;
    if (colon != NULL && !counted)
        return wrong("--scheme %s: %s has no number", text, o->scheme->name);
    o->parity = o->scheme == &rset_scheme_single ? 0 : o->scheme == &rset_scheme_rs ? 2 : 1;
    return colon == NULL || parse_int("--scheme", colon + 1, 1, &o->parity);
}

static bool
parse_generation(const char *text, options *o)
{
    o->generation = text;
    return rset_which_parse(text, &o->which, NULL) == RSET_OK ||
           wrong("--generation %s: possible are %s", text, rset_which_forms);
}

static bool
parse_colour(const char *text, options *o)
{
    o->colour = strcmp(text, "always") == 0  ? COLOUR_ALWAYS
                : strcmp(text, "never") == 0 ? COLOUR_NEVER
                                             : COLOUR_AUTO;
    return o->colour != COLOUR_AUTO || strcmp(text, "auto") == 0 ||
           wrong("--color %s: possible are auto, always, never", text);
}

/* A name or a number. The files get his group, too, where it is known. */
static bool
parse_owner(const char *text, options *o)
{
    const struct passwd *who = getpwnam(text);
    char                *end = NULL;
    const unsigned long  number = who == NULL ? strtoul(text, &end, 10) : 0;

    if (geteuid() != 0)
        return wrong("--owner %s: only root can give files away", text);
    if (who == NULL && (end == text || *end != '\0' || text[0] == '-' || number >= UINT32_MAX))
        return wrong("--owner %s: no user of that name", text);
    if (who == NULL)
        who = getpwuid((uid_t)number);
    o->owner = text;
    o->owner_uid = who != NULL ? who->pw_uid : number;
    o->owner_gid = who != NULL ? who->pw_gid : UINT32_MAX;
    return true;
}

static bool
parse_wait(const char *text, options *o)
{
    int seconds = 0;

    if (text != NULL && !parse_int("--wait", text, 0, &seconds))
        return false;
    o->wait = text != NULL ? seconds : INFINITY;
    return true;
}

static void
add_path(strings *list, const char *text)
{
    char *path = absolute(text);

    strings_add(list, path);
    free(path);
}

static bool
read_list(const char *name, strings *paths)
{
    FILE  *from = strcmp(name, "-") == 0 ? stdin : fopen(name, "r");
    char  *line = NULL;
    size_t room = 0;

    if (from == NULL)
        return wrong("@%s: the list cannot be read", name);
    while (getline(&line, &room, from) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] != '\0')
            add_path(paths, line);
    }
    free(line);
    if (from != stdin)
        fclose(from);
    return true;
}

/* ---- the command line ---- */

static bool
take(int option, const char *value, options *o)
{
    int seconds;

    switch (option) {
    case OPT_VERIFY: o->verify = true; return true;
    case OPT_PROBLEMS: o->problems = true; return true;
    case OPT_JSON: o->json = true; return true;
    case OPT_DRY_RUN: o->dry_run = true; return true;
    case OPT_DELETED: o->deleted = true; return true;
    case OPT_FORCE: o->force = true; return true;
    case OPT_CHANGED: o->changed = true; return true;
    case OPT_GENERATION: return parse_generation(value, o);
    case OPT_COLOR: return parse_colour(value, o);
    case OPT_SEARCH: add_path(&o->search, value); return true;
    case OPT_TO:
        free(o->to);
        o->to = absolute(value);
        return true;
    case OPT_OWNER: return parse_owner(value, o);
    case OPT_RANK: return parse_int("--rank", value, 0, &o->rank);
    case OPT_SCHEME: return parse_scheme(value, o);
    case OPT_SET_SIZE: return parse_int("--set-size", value, 1, &o->set_size);
    case OPT_WAIT: return parse_wait(value, o);
    case OPT_TIMEOUT:
        if (!parse_int("--timeout", value, 1, &seconds))
            return false;
        o->timeout = seconds;
        return true;
    case OPT_SVG:
        free(o->svg);
        o->svg = must_copy(value);
        return true;
    default: return wrong("this cannot be understood");
    }
}

static bool
changes_files(command c)
{
    return c != COMMAND_STATUS && c != COMMAND_MAP && c != COMMAND_LIST;
}

static bool
knows(command c, int option)
{
    for (size_t i = 0; i < sizeof commands[c].known / sizeof *commands[c].known; i++)
        if (commands[c].known[i] == option)
            return true;
    return option == OPT_TIMEOUT || (option == OPT_WAIT && changes_files(c));
}

static bool
find_command(const char *name, command *out)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(commands[i].name, name) == 0) {
            *out = (command)i;
            return true;
        }
    return wrong("%s: no such command", name);
}

static bool
is_plea(const char *text, options *o, bool tell)
{
    bool help = strcmp(text, "-h") == 0 || strcmp(text, "--help") == 0;

    if (!help && strcmp(text, "-V") != 0 && strcmp(text, "--version") != 0)
        return false;
    if (tell)
        fputs(help ? usage : "h5redset " REDSET_VERSION "\n", stdout);
    o->command = COMMAND_NONE;
    return true;
}

/* What is searched for files to be saved is not changed. */
static bool
has_safe_target(const options *o)
{
    if (o->to == NULL)
        return wrong("scavenge: --to DIR is missing");
    if (path_is_within(&o->paths, o->to))
        return wrong("--to %s: lies in a directory that is to be saved; name one outside", o->to);
    return true;
}

/* One generation, or what was put aside of changed files. */
static bool
says_what(const options *o)
{
    const bool drop = o->command == COMMAND_DROP;

    if (drop && o->changed && o->generation != NULL)
        return wrong("drop: --generation and --changed are not possible at once");
    if ((drop || o->command == COMMAND_RESTORE) && o->generation == NULL && !o->changed)
        return wrong("%s: --generation is missing%s", commands[o->command].name,
                     drop ? ", or --changed" : "");
    return true;
}

static int
count_numbers(const char *text)
{
    int n = 0;

    while ((text = strstr(text, "%r")) != NULL) {
        text += 2;
        n++;
    }
    return n;
}

/* The two names are no paths to look at: the directory above all that the first can mean is one. */
static bool
take_names(options *o)
{
    char *first, *dir;

    if (o->paths.n != 2)
        return wrong("mv: %zu names are given, and not two, OLD and NEW", o->paths.n);
    o->from = must_copy(o->paths.at[0]);
    o->into = must_copy(o->paths.at[1]);
    strings_free(&o->paths);
    if (count_numbers(o->from) != count_numbers(o->into))
        return wrong("mv: %s and %s: one has %%r more often than the other", o->from, o->into);
    first = must_print("%.*s",
                       (int)(strstr(o->from, "%r") != NULL ? strstr(o->from, "%r") - o->from
                                                           : (long)strlen(o->from)),
                       o->from);
    dir = must_print("%.*s/.", (int)(strrchr(first, '/') - first), first);
    add_path(&o->paths, dir);
    free(first);
    free(dir);
    return true;
}

bool
options_parse(int argc, char **argv, bool tell, options *o)
{
    int option;

    *o = (options){.rank = -1,
                   .scheme = &rset_scheme_xor,
                   .parity = 1,
                   .set_size = 8,
                   .timeout = 3600,
                   .wait = -1};
    tells = tell;
    for (int i = 1; i < argc; i++)
        if (is_plea(argv[i], o, tell))
            return true;
    if (argc < 2)
        return wrong("a command is missing");
    if (!find_command(argv[1], &o->command))
        return false;
    opterr = 0;
    optind = 2;
    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (option == '?')
            return wrong("%s: unknown, or its value is missing", argv[optind - 1]);
        if (!knows(o->command, option))
            return wrong("%s is not an option of %s", argv[optind - 1], commands[o->command].name);
        if (!take(option, optarg, o))
            return false;
    }
    for (; optind < argc; optind++) {
        if (argv[optind][0] != '@')
            add_path(&o->paths, argv[optind]);
        else if (!read_list(argv[optind] + 1, &o->paths))
            return false;
    }
    if (o->paths.n == 0)
        return wrong("a path is missing");
    if (!says_what(o))
        return false;
    if (o->command == COMMAND_MV)
        return take_names(o);
    return o->command != COMMAND_SCAVENGE || has_safe_target(o);
}

void
options_free(options *o)
{
    strings_free(&o->paths);
    strings_free(&o->search);
    free(o->svg);
    free(o->to);
    free(o->from);
    free(o->into);
}
