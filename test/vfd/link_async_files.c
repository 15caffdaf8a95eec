/* link_async_files.c: each rank's files and what is beside them. See link_async.h. */
#include "link_async.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ITEMS = 400000 };

int         rank, ranks, wrong;
const char *dir;
char        message[4096];

static herr_t
keep_message(unsigned n, const H5E_error2_t *record, void *arg)
{
    (void)n;
    (void)arg;
    strncat(message, record->desc, sizeof message - strlen(message) - 1);
    return 0;
}

herr_t
print(hid_t stack, void *arg)
{
    (void)arg;
    message[0] = '\0';
    return H5Ewalk2(stack, H5E_WALK_DOWNWARD, keep_message, NULL);
}

/* ---- files ---- */

const char *
path(const char *name)
{
    static char paths[4][4096];
    static int  next;

    snprintf(paths[++next % 4], sizeof paths[0], "%s/%s_%d.h5", dir, name, rank);
    return paths[next % 4];
}

hid_t
driver(int async, int required)
{
    H5FD_redset_config_t config;
    hid_t                fapl = H5Pcreate(H5P_FILE_ACCESS);

    H5FD_redset_config_init(&config);
    config.timeout = 20;
    config.async = async;
    config.required = required;
    CHECK(H5Pset_fapl_redset(fapl, &config) >= 0);
    return fapl;
}

bool
fill(hid_t file, int content)
{
    hid_t set = H5Dopen2(file, "data", H5P_DEFAULT);
    int  *data = malloc(ITEMS * sizeof *data);
    bool  ok;

    for (int i = 0; i < ITEMS; i++)
        data[i] = content * 1000003 + rank * 77 + i;
    ok = set >= 0 && H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
    H5Dclose(set);
    free(data);
    return ok;
}

hid_t
create(const char *name, hid_t fapl, int content)
{
    hsize_t n = ITEMS;
    hid_t   file = H5Fcreate(path(name), H5F_ACC_TRUNC, H5P_DEFAULT, fapl), space;

    if (file < 0)
        return file;
    space = H5Screate_simple(1, &n, NULL);
    H5Dclose(H5Dcreate2(file, "data", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
    CHECK(fill(file, content));
    return file;
}

bool
make(const char *name, hid_t fapl, int content)
{
    hid_t file = create(name, fapl, content);

    return file >= 0 && H5Fclose(file) >= 0;
}

int
content_of(const char *name, hid_t fapl)
{
    hid_t file = H5Fopen(path(name), H5F_ACC_RDONLY, fapl), set;
    int  *data = calloc(ITEMS, sizeof *data), found = 0;

    if (file < 0) {
        free(data);
        return 0;
    }
    set = H5Dopen2(file, "data", H5P_DEFAULT);
    if (H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0)
        for (int content = OLD; content <= NEW; content++) {
            int i = 0;

            while (i < ITEMS && data[i] == content * 1000003 + rank * 77 + i)
                i++;
            found = i == ITEMS ? content : found;
        }
    H5Dclose(set);
    CHECK(H5Fclose(file) >= 0);
    free(data);
    return found;
}

bool
is_there(const char *name, const char *suffix)
{
    char full[8192];

    snprintf(full, sizeof full, "%s%s", path(name), suffix);
    return access(full, F_OK) == 0;
}

/* A new data file, or an undo journal. */
static bool
is_written(const char *name)
{
    char   pattern[8192];
    glob_t found;
    bool   has;

    snprintf(pattern, sizeof pattern, "%s.redset.*.[nu]*", path(name));
    has = glob(pattern, 0, NULL, &found) == 0;
    globfree(&found);
    return has;
}

bool
is_protected(const char *name)
{
    char valid[64], gone[64];

    snprintf(valid, sizeof valid, ".%d.redset", rank);
    snprintf(gone, sizeof gone, ".%d.redset.void", rank);
    return is_there(name, valid) && !is_there(name, gone) && !is_written(name);
}

void
lose(const char *name)
{
    char command[8192];

    snprintf(command, sizeof command, "rm %s*", path(name));
    if (rank == 1)
        CHECK(system(command) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
}
