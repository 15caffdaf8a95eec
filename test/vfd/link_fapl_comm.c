/* link_fapl_comm.c: `link_fapl comm`, on two ranks: the communicators that property lists have; and `link_fapl create|muted NAME_%d.h5`. */
#include "link_fapl.h"

#include <string.h>
#include <unistd.h>

static int freed;

static int
count_freed(MPI_Comm comm, int key, void *value, void *state)
{
    (void)comm;
    (void)key;
    (void)value;
    (void)state;
    freed++;
    return MPI_SUCCESS;
}

/* Of two groups. It is refused when it is given, or where this library was not asked, when a file is created or was changed. */
static void
check_intercommunicator(void)
{
    H5FD_redset_config_t c = defaults();
    hid_t                a = new_fapl(), file;
    MPI_Comm             mine;
    char                 name[64];
    int                  rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &mine);
    MPI_Intercomm_create(mine, 0, MPI_COMM_WORLD, 1 - rank, 7, &c.comm);
    refused(&c, "intercommunicator");
    CHECK(H5Pset_driver(a, H5FD_REDSET, &c) >= 0);
    snprintf(name, sizeof name, "inter_%d.h5", rank);
    CHECK(H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, a) < 0 &&
          strstr(message, "intercommunicator") != NULL);
    file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(H5Fclose(file) >= 0);
    file = H5Fopen(name, H5F_ACC_RDWR, a);
    (void)H5Gclose(H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    CHECK(H5Fclose(file) < 0 && strstr(message, "intercommunicator") != NULL);
    (void)H5Pclose(a);
    MPI_Comm_free(&c.comm);
    MPI_Comm_free(&mine);
}

void
check_communicators(void)
{
    H5FD_redset_config_t c = defaults(), one = defaults(), two = defaults();
    hid_t                a = new_fapl(), b, file;
    MPI_Comm             mine;
    MPI_Errhandler       before, after;
    int                  key, same;

    c.comm = MPI_COMM_WORLD;
    c.required = 0;
    refused(&c, "MPI_Init");
    MPI_Init(NULL, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &mine);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, count_freed, &key, NULL);
    c.comm = mine;
    MPI_Comm_get_errhandler(mine, &before);
    CHECK(H5Pset_fapl_redset(a, &c) >= 0);
    MPI_Comm_get_errhandler(mine, &after);
    CHECK(before == after);
    MPI_Comm_free(&mine);
    CHECK(H5Pget_fapl_redset(a, &one) >= 0);
    MPI_Comm_compare(one.comm, MPI_COMM_WORLD, &same);
    CHECK(same == MPI_CONGRUENT);
    MPI_Comm_set_attr(one.comm, key, NULL);
    b = H5Pcopy(a);
    CHECK(H5Pequal(a, b) > 0);
    CHECK(H5Pget_fapl_redset(b, &two) >= 0 && two.comm == one.comm);
    (void)H5Pclose(a);
    snprintf(message, sizeof message, "comm_%ld.h5", (long)getpid());
    file = H5Fcreate(message, H5F_ACC_TRUNC, H5P_DEFAULT, b);
    CHECK(file >= 0 && unlink(message) == 0);
    (void)H5Pclose(b);
    (void)H5Fclose(file);
    CHECK(freed == 0); /* another rank may still send to this one */
    a = new_fapl();
    b = new_fapl();
    MPI_Comm_dup(MPI_COMM_WORLD, &c.comm);
    CHECK(H5Pset_fapl_redset(a, &c) >= 0 && H5Pset_fapl_redset(b, &c) >= 0);
    CHECK(H5Pequal(a, b) > 0);
    CHECK(H5Pget_fapl_redset(b, &two) >= 0 && two.comm != one.comm && two.comm != c.comm);
    MPI_Comm_free(&c.comm);
    (void)H5Pclose(a);
    (void)H5Pclose(b);
    a = new_fapl(); /* a communicator that we did not duplicate stays the application's */
    MPI_Comm_dup(MPI_COMM_WORLD, &c.comm);
    MPI_Comm_set_attr(c.comm, key, NULL);
    CHECK(H5Pset_driver(a, H5FD_REDSET, &c) >= 0);
    (void)H5Pclose(a);
    CHECK(freed == 0);
    MPI_Comm_free(&c.comm);
    check_intercommunicator();
    /* a list that outlives MPI */
    a = new_fapl();
    c.comm = MPI_COMM_WORLD;
    CHECK(H5Pset_fapl_redset(a, &c) >= 0);
    MPI_Finalize();
    (void)H5Pclose(a);
    refused(&c, "MPI_Finalize");
}

void
use_pairs(const char *what, const char *name)
{
    const int            creates = strcmp(what, "create") == 0;
    H5FD_redset_config_t c = defaults();
    hid_t                a = new_fapl(), file;
    char                 path[1024];
    int                  rank;

    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &c.comm);
    c.timeout = 20;
    CHECK(H5Pset_fapl_redset(a, &c) >= 0);
    snprintf(path, sizeof path, "%.*s%d.h5", (int)strcspn(name, "%"), name, rank);
    if (!creates)
        H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    file =
        creates ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, a) : H5Fopen(path, H5F_ACC_RDONLY, a);
    if (file < 0)
        printf("rank %d: open\n", rank);
    else
        CHECK(H5Fclose(file) >= 0);
    (void)H5Pclose(a);
    MPI_Comm_free(&c.comm);
    MPI_Finalize();
}
