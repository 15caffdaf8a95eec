/* Error records (vfd/h5err.h): by which minor number a program knows why a call has failed (H5FDredset.h). */
#include "H5FDredset.h"
#include "h5err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

typedef struct seen {
    unsigned n;
    hid_t    minor;
    hid_t    asked; /* the number of some reason, asked for in the middle of the walk */
} seen;

static herr_t
see(unsigned n, const H5E_error2_t *record, void *arg)
{
    seen *s = arg;

    (void)n;
    s->n++;
    s->minor = record->min_num;
    s->asked = H5FD_REDSET_E_BUSY;
    return 0;
}

static seen
walk(void)
{
    seen s = {0};

    assert_true(H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, see, &s) >= 0);
    return s;
}

/* What is on the stack when something fails with this status, on an empty stack. */
static hid_t
pushed(rset_status status)
{
    rset_h5err_scope scope;
    rset_err         err = RSET_ERR_NONE;
    seen             s;

    H5Eclear2(H5E_DEFAULT);
    (void)rset_fail(&err, status, "text");
    rset_h5err_enter(&scope);
    RSET_H5ERR_PUSH(H5E_VFL, H5E_WRITEERROR, &err);
    rset_h5err_leave(&scope, true);
    s = walk();
    assert_int_equal(s.n, 1);
    return s.minor;
}

/* The first test: nothing was pushed yet, and the numbers are not there until they are asked for. */
static void
asking_keeps_the_stack(void **state)
{
    seen s;

    (void)state;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    assert_true(H5Fopen("/nowhere/at/all", H5F_ACC_RDONLY, H5P_DEFAULT) < 0);
    s = walk();
    assert_true(s.n > 0 && s.asked > 0);
    assert_int_equal(walk().n, s.n);
}

static void
each_reason_has_its_number(void **state)
{
    static const struct {
        rset_status          status;
        H5FD_redset_reason_t reason;
    } pairs[] = {
        {RSET_USAGE, H5FD_REDSET_REASON_USAGE},        {RSET_BUSY, H5FD_REDSET_REASON_BUSY},
        {RSET_DAMAGED, H5FD_REDSET_REASON_DAMAGED},    {RSET_PEER, H5FD_REDSET_REASON_PEER_MISSING},
        {RSET_LOST, H5FD_REDSET_REASON_UNRECOVERABLE}, {RSET_CHANGED, H5FD_REDSET_REASON_CHANGED}};

    (void)state;
    for (int i = 0; i < H5FD_REDSET_REASONS; i++) {
        const hid_t minor = H5FD_redset_minor(pairs[i].reason);
        char        text[64] = "";
        H5E_type_t  type = H5E_MAJOR;

        assert_true(minor > 0);
        assert_true(pushed(pairs[i].status) == minor);
        assert_true(H5Eget_msg(minor, &type, text, sizeof text) > 0 && type == H5E_MINOR);
        for (int j = 0; j < i; j++)
            assert_true(minor != H5FD_redset_minor(pairs[j].reason));
    }
}

static void
other_failures_have_those_of_hdf5(void **state)
{
    (void)state;
    assert_true(pushed(RSET_IO) == H5E_WRITEERROR && pushed(RSET_NOMEM) == H5E_WRITEERROR);
    assert_true(H5FD_redset_minor(H5FD_REDSET_REASONS) == H5I_INVALID_HID);
    assert_true(H5FD_redset_minor((H5FD_redset_reason_t)-1) == H5I_INVALID_HID);
}

/* Whose failure it is nobody says but the rank that agrees on it, also where what it is recorded in was only zeroed: rank 0's it was. */
static void
a_failure_is_of_no_rank_yet(void **state)
{
    rset_err err = {0};

    (void)state;
    assert_int_equal(rset_fail(&err, RSET_IO, "text"), RSET_IO);
    assert_int_equal(err.rank, -1);
    assert_string_equal(err.host, "");
}

/* Functions of H5FDredset.h, first those that fail. */
static herr_t
call(int which)
{
    switch (which) {
    case 0: return H5FDredset_status(NULL, NULL);
    case 1: return H5FDredset_generations(NULL, NULL, NULL);
    case 2: return H5FDredset_stats(NULL, NULL);
    case 3: return H5FDredset_group(NULL, 0);
    case 4: return H5FDredset_label(H5I_INVALID_HID, "text");
    case 5: return H5FDredset_commit(H5I_INVALID_HID);
    case 6: return H5FDredset_drop(NULL, 1);
    case 7: return H5Pset_fapl_redset(H5I_INVALID_HID, NULL);
    case 8: return H5Pget_fapl_redset(H5I_INVALID_HID, NULL);
    case 9: return H5FDredset_wait(NULL);
    case 10: return H5FDredset_test(NULL, NULL);
    default: return H5FDredset_skip(NULL);
    }
}

/* As with each function of HDF5, what is on the stack is of the last call only; also after more calls than it has room for. */
static void
a_call_clears_the_stack(void **state)
{
    (void)state;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    for (int i = 0; i < 12; i++) {
        unsigned own;

        H5Eclear2(H5E_DEFAULT);
        assert_int_equal(call(i), i < 9 ? -1 : 0);
        own = walk().n;
        assert_true((own > 0) == (i < 9));
        assert_true(H5Fopen("/nowhere/at/all", H5F_ACC_RDONLY, H5P_DEFAULT) < 0);
        assert_true(walk().n > own);
        assert_int_equal(call(i), i < 9 ? -1 : 0);
        assert_int_equal(walk().n, own);
    }
    for (int i = 0; i < 40; i++)
        assert_int_equal(call(0), -1);
    assert_int_equal(walk().n, 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asking_keeps_the_stack),
        cmocka_unit_test(each_reason_has_its_number),
        cmocka_unit_test(a_failure_is_of_no_rank_yet),
        cmocka_unit_test(other_failures_have_those_of_hdf5),
        cmocka_unit_test(a_call_clears_the_stack),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
