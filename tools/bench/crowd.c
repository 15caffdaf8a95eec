/* crowd.c: a small file beside a few other files, and beside very many. See bench.h. */
#include "hdf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FEW = 10, MANY = 100000, MANY_BRIEF = 10000, TIMES = 20 };

static const char subject[] = "small file";

/* One directory of all ranks, and how many strangers are in it. */
typedef struct crowd {
    bench      here; /* the run, in that directory */
    int        n;
    bench_what create, reopen;
} crowd;

/* ---- the others ---- */

static const char *
stranger(const crowd *c, char path[BENCH_PATH_MAX + 32], int i)
{
    snprintf(path, BENCH_PATH_MAX + 32, "%s/other.%d.h5", c->here.dir, i);
    return path;
}

static bool
make_one(const crowd *c, int i)
{
    char path[BENCH_PATH_MAX + 32];
    int  fd = open(stranger(c, path, i), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

    if (fd < 0)
        return bench_fail(&c->here, "%s: %s", path, strerror(errno));
    close(fd);
    return true;
}

/* Rank 0's work, as is removing them. */
static bool
make(const crowd *c)
{
    bool ok = c->here.rank != 0 || mkdir(c->here.dir, 0777) == 0;

    if (!ok)
        (void)bench_fail(&c->here, "%s: %s", c->here.dir, strerror(errno));
    for (int i = 0; ok && c->here.rank == 0 && i < c->n; i++)
        ok = make_one(c, i);
    return bench_all(&c->here, ok);
}

static void
unmake(const crowd *c)
{
    char path[BENCH_PATH_MAX + 32];

    bench_wait_quietly(&c->here);
    for (int i = 0; c->here.rank == 0 && i < c->n; i++)
        (void)unlink(stranger(c, path, i));
    if (c->here.rank == 0)
        (void)rmdir(c->here.dir);
}

/* ---- one file ---- */

static bool
create(const crowd *c, const bench_file *file, hid_t fapl)
{
    hid_t id = H5Fcreate(file->path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl), set = H5I_INVALID_HID;
    bool  ok = id >= 0;

    if (ok)
        set = bench_hdf_dataset(id, "data", 4096, 0);
    ok = ok && set >= 0 && bench_hdf_transfer(set, c->here.buffer, 0, 4096, 4096, true);
    if (set >= 0)
        ok = H5Dclose(set) >= 0 && ok;
    return id >= 0 && H5Fclose(id) >= 0 && ok;
}

static bool
reopen(const bench_file *file, hid_t fapl)
{
    hid_t id = H5Fopen(file->path, H5F_ACC_RDONLY, fapl);

    return id >= 0 && H5Fclose(id) >= 0;
}

/* New names: the first one is not timed, in which this process looks at the directory. */
static bool
create_some(crowd *c, bench_file *files, hid_t fapl)
{
    double began = 0;
    bool   ok = true;

    for (int i = 0; ok && i <= TIMES; i++) {
        if (i == 1) {
            MPI_Barrier(c->here.comm);
            began = rset_clock();
        }
        ok = create(c, &files[i], fapl);
    }
    return bench_note(&c->here, subject, c->create, 0, (rset_clock() - began) / TIMES, ok);
}

static bool
reopen_some(crowd *c, const bench_file *files, hid_t fapl)
{
    double began;
    bool   ok = true;

    MPI_Barrier(c->here.comm);
    began = rset_clock();
    for (int i = 1; ok && i <= TIMES; i++)
        ok = reopen(&files[i], fapl);
    return bench_note(&c->here, subject, c->reopen, 0, (rset_clock() - began) / TIMES, ok);
}

static bool
measure(crowd *c)
{
    bench_file files[TIMES + 1];
    hid_t      fapl = bench_hdf_fapl(&c->here, NULL, &bench_modes[0]);
    bool       ok = fapl >= 0;

    memset(files, 0, sizeof files);
    for (int i = 0; ok && i <= TIMES; i++) {
        char name[32];

        snprintf(name, sizeof name, "step_%d", i);
        ok = bench_file_open(&c->here, name, &files[i]);
    }
    ok = bench_all(&c->here, ok) && create_some(c, files, fapl) && reopen_some(c, files, fapl);
    for (int i = 0; i <= TIMES; i++) {
        if (files[i].dir != NULL)
            ok = bench_file_remove(&c->here, &files[i]) && ok;
        bench_file_close(&files[i]);
    }
    H5Pclose(fapl);
    return bench_all(&c->here, ok);
}

bool
bench_crowd(bench *b)
{
    crowd c[] = {{.n = FEW, .create = BENCH_CREATE_FEW, .reopen = BENCH_REOPEN_FEW},
                 {.n = b->options.brief ? MANY_BRIEF : MANY,
                  .create = BENCH_CREATE_MANY,
                  .reopen = BENCH_REOPEN_MANY}};
    bool  ok = true;

    bench_progress(b, subject, "beside other files");
    for (int i = 0; ok && i < 2; i++) {
        c[i].here = *b;
        snprintf(c[i].here.dir, sizeof c[i].here.dir, "%.4000s/redset-bench.crowd.%d",
                 b->options.dir, i);
        ok = make(&c[i]);
        ok = ok && measure(&c[i]);
        unmake(&c[i]);
    }
    return ok;
}
