/* link_odd.c - an MPI + HDF5 program linked with redset in which only some ranks insist on protection
 * (required=yes). What cannot be protected is then an error of H5Fclose on every rank (P4), and
 * never a hang (P5). Run by test_odd.sh on 4 ranks.
 *
 *   link_odd CASE DIR
 *     insist   rank 3 closes another file than the others, rank 1 insists: an error on all
 *     stay     all close the same, rank 1 insists: all is well
 *     away     rank 3 does not close a second file, rank 1 insists: an error on all who do
 *     settings rank 2 has another scheme, rank 1 insists: an error on all */
#include <H5FDredset.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
main(int argc, char **argv)
{
    H5FD_redset_config_t config;
    char                 path[4096];
    int                  rank, failed, want, bad;
    hid_t                fapl, file;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 3)
        return 2;
    bool insist = strcmp(argv[1], "insist") == 0, away = strcmp(argv[1], "away") == 0;
    bool settings = strcmp(argv[1], "settings") == 0;

    H5FD_redset_config_init(&config);
    config.timeout = 2;
    config.required = rank == 1;
    config.scheme = settings && rank == 2 ? H5FD_REDSET_PARTNER : H5FD_REDSET_XOR;
    fapl = H5Pcreate(H5P_FILE_ACCESS);
    bad = H5Pset_fapl_redset(fapl, &config) < 0;
    if (away) { /* the ranks have met before: only then they know of each other's wishes */
        snprintf(path, sizeof path, "%s/a_first_%d.h5", argv[2], rank);
        file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
        bad = bad || file < 0 || H5Fclose(file) < 0;
    }
    snprintf(path, sizeof path, "%s/%s_first_%d.h5", argv[2], insist && rank == 3 ? "b" : "a",
             rank);
    want = insist || settings || (away && rank < 3);
    file = away && rank == 3 ? 0 : H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    bad = bad || file < 0;
    H5E_BEGIN_TRY
    {
        failed = file > 0 && H5Fclose(file) < 0;
    }
    H5E_END_TRY
    bad = bad || failed != want;
    if (bad)
        fprintf(stderr, "rank %d: H5Fclose %s\n", rank, failed ? "failed" : "succeeded");
    H5Pclose(fapl);
    MPI_Finalize();
    return bad;
}
