/* program FILE: links the installed driver, and writes a file of 64 KiB through it. */
#include <H5FDredset.h>
#include <stdio.h>
#include <string.h>

static const char *
written(const char *path)
{
    static char          bytes[65536];
    hsize_t              size = sizeof bytes;
    H5FD_redset_config_t config;
    hid_t                fapl = H5Pcreate(H5P_FILE_ACCESS), file, space, set;

    H5FD_redset_config_init(&config);
    config.scheme = H5FD_REDSET_SINGLE;
    if (H5Pset_fapl_redset(fapl, &config) < 0)
        return "H5Pset_fapl_redset";
    memset(bytes, 'r', sizeof bytes);
    file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    space = H5Screate_simple(1, &size, NULL);
    set = H5Dcreate2(file, "bytes", H5T_NATIVE_CHAR, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (H5Dwrite(set, H5T_NATIVE_CHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes) < 0)
        return "H5Dwrite";
    H5Dclose(set);
    H5Sclose(space);
    if (H5Fclose(file) < 0 ||
        H5FDredset_wait(path) < 0) /* required is yes here: it was protected */
        return "H5Fclose";
    H5Pclose(fapl);
    return NULL;
}

int
main(int argc, char **argv)
{
    const char *failed;

    MPI_Init(&argc, &argv);
    failed = written(argv[argc - 1]);
    if (failed != NULL)
        fprintf(stderr, "program: %s failed\n", failed);
    MPI_Finalize();
    return failed != NULL;
}
