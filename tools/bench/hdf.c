/* hdf.c: see hdf.h. */
#include "hdf.h"

#include <H5FDredset.h>
#include <stdio.h>
#include <string.h>

static const char dataset[] = "data";

const bench_mode bench_modes[] = {
    {"", BENCH_WRITE, BENCH_CLOSE},
    {"async=yes", BENCH_WRITE_ASYNC, BENCH_CLOSE_ASYNC},
};
const int bench_nmodes = sizeof bench_modes / sizeof bench_modes[0];

hid_t
bench_hdf_fapl(const bench *b, const bench_scheme *s, const bench_mode *mode)
{
    const char *scheme = s == NULL ? "XOR" : s->scheme->name;
    const char *key = s != NULL && s->scheme->count_key != NULL ? s->scheme->count_key : "";
    char        config[512], count[64] = "";
    hid_t       fapl = H5Pcreate(H5P_FILE_ACCESS);

    if (mode == NULL)
        return fapl;
    if (strcmp(key, "REPLICAS") == 0)
        snprintf(count, sizeof count, "; replicas=%d", s->parity);
    else if (*key != '\0')
        snprintf(count, sizeof count, "; checksums=%d", s->parity);
    snprintf(config, sizeof config,
             "scheme=%s%s; set_size=%d; group=\"rank %d\"; required=yes; timeout=600%s%s", scheme,
             count, b->size, b->rank, *mode->config != '\0' ? "; " : "", mode->config);
    if (fapl < 0 || H5Pset_driver_by_name(fapl, "redset", config) < 0)
        return H5I_INVALID_HID;
    return fapl;
}

/* ---- datasets ---- */

hid_t
bench_hdf_dataset(hid_t file, const char *name, uint64_t size, uint64_t chunk)
{
    hsize_t dims = size, part = chunk;
    hid_t   space = H5Screate_simple(1, &dims, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    hid_t   set = H5I_INVALID_HID;

    if (chunk == 0 || H5Pset_chunk(dcpl, 1, &part) >= 0)
        set = H5Dcreate2(file, name, H5T_NATIVE_UINT8, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    H5Pclose(dcpl);
    H5Sclose(space);
    return set;
}

bool
bench_hdf_transfer(hid_t set, uint8_t *buffer, uint64_t off, uint64_t len, uint64_t request,
                   bool write)
{
    hsize_t most = request;
    hid_t   space = H5Dget_space(set), memory = H5Screate_simple(1, &most, NULL);
    bool    ok = space >= 0 && memory >= 0;

    for (uint64_t done = 0; ok && done < len; done += request) {
        hsize_t  at = off + done, n = len - done < request ? len - done : request, zero = 0;
        uint8_t *buf = buffer + done % BENCH_BUFFER;

        ok = H5Sselect_hyperslab(space, H5S_SELECT_SET, &at, NULL, &n, NULL) >= 0 &&
             H5Sselect_hyperslab(memory, H5S_SELECT_SET, &zero, NULL, &n, NULL) >= 0;
        if (ok && write)
            ok = H5Dwrite(set, H5T_NATIVE_UINT8, memory, space, H5P_DEFAULT, buf) >= 0;
        else if (ok)
            ok = H5Dread(set, H5T_NATIVE_UINT8, memory, space, H5P_DEFAULT, buf) >= 0;
    }
    H5Sclose(memory);
    H5Sclose(space);
    return ok;
}

/* ---- a scheme's file ---- */

bool
bench_hdf_write_new(const bench *b, hid_t fapl, const bench_file *file, hid_t *file_out)
{
    hid_t set = H5I_INVALID_HID;
    bool  ok = false;

    *file_out = H5Fcreate(file->path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    if (*file_out >= 0)
        set = bench_hdf_dataset(*file_out, dataset, b->options.size, 0);
    if (set >= 0) {
        ok = bench_hdf_transfer(set, b->buffer, 0, b->options.size, BENCH_BUFFER, true);
        ok = H5Dclose(set) >= 0 && ok;
    }
    return ok;
}

bool
bench_hdf_create(bench *b, const bench_scheme *s, const bench_mode *mode, const bench_file *file)
{
    bench_what all = mode == NULL ? BENCH_WRITE_SEC2 : mode->write;
    bench_what part = mode == NULL ? BENCH_CLOSE_SEC2 : mode->close;
    double     bytes = (double)b->options.size, closing;
    hid_t      fapl = bench_hdf_fapl(b, s, mode), id = H5I_INVALID_HID;
    bool       ok = fapl >= 0;

    bench_progress(b, s->name, bench_kinds[all].id);
    bench_start(b);
    ok = ok && bench_hdf_write_new(b, fapl, file, &id);
    closing = rset_clock();
    ok = id >= 0 && H5Fclose(id) >= 0 && ok;
    closing = rset_clock() - closing;
    ok = bench_stop(b, s->name, all, bytes, ok) && bench_note(b, s->name, part, 0, closing, true);
    ok = bench_all(b, H5FDredset_wait(file->path) >= 0) && ok; /* in the way of what comes next */
    H5Pclose(fapl);
    return ok;
}

bool
bench_hdf_open(bench *b, const bench_scheme *s, const bench_file *file, bench_what what)
{
    hid_t fapl = bench_hdf_fapl(b, s, &bench_modes[0]), id;
    bool  ok;

    bench_progress(b, s->name, bench_kinds[what].id);
    bench_start(b);
    id = H5Fopen(file->path, H5F_ACC_RDONLY, fapl);
    ok = bench_stop(b, s->name, what, (double)b->options.size, id >= 0);
    if (id >= 0)
        ok = H5Fclose(id) >= 0 && ok;
    H5Pclose(fapl);
    return bench_all(b, ok);
}

uint64_t
bench_hdf_part(const bench *b)
{
    return b->options.size / 100 + 1;
}

bool
bench_hdf_write_part(const bench *b, hid_t id, unsigned part)
{
    const uint64_t len = bench_hdf_part(b);
    const uint64_t off = (b->options.size / 100 * part) | 1;
    hid_t          set = id >= 0 ? H5Dopen2(id, dataset, H5P_DEFAULT) : H5I_INVALID_HID;
    bool ok = set >= 0 && bench_hdf_transfer(set, b->buffer, off, len, BENCH_BUFFER, true);

    return set >= 0 && H5Dclose(set) >= 0 && ok;
}

bool
bench_hdf_change(bench *b, const bench_scheme *s, const bench_file *file)
{
    hid_t fapl = bench_hdf_fapl(b, s, &bench_modes[0]);
    hid_t id = H5Fopen(file->path, H5F_ACC_RDWR, fapl);
    bool  ok;

    bench_progress(b, s->name, bench_kinds[BENCH_CHANGE].id);
    ok = bench_hdf_write_part(b, id, 49);
    bench_start(b);
    ok = id >= 0 && H5Fclose(id) >= 0 && ok;
    ok = bench_stop(b, s->name, BENCH_CHANGE, 0, ok);
    H5Pclose(fapl);
    return ok;
}

bool
bench_hdf_commit(bench *b, const bench_scheme *s, const bench_file *file)
{
    hid_t fapl = bench_hdf_fapl(b, s, &bench_modes[0]);
    hid_t id = H5Fopen(file->path, H5F_ACC_RDWR, fapl);
    bool  ok;

    bench_progress(b, s->name, bench_kinds[BENCH_COMMIT].id);
    ok = bench_all(b, bench_hdf_write_part(b, id, 30)) &&
         bench_all(b, H5FDredset_commit(id) >= 0) &&
         bench_all(b, bench_hdf_write_part(b, id, 60) && H5Fflush(id, H5F_SCOPE_LOCAL) >= 0);
    bench_start(b);
    ok = ok && H5FDredset_commit(id) >= 0;
    ok = bench_stop(b, s->name, BENCH_COMMIT, 0, ok);
    ok = bench_all(b, id >= 0 && H5Fclose(id) >= 0) && ok;
    H5Pclose(fapl);
    return ok;
}
