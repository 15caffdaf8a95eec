/* kept_without.c: there is no space for an older generation. See kept.h. */
#include "kept.h"

rset_status
rset_kept_do_without(const rset_local *local, uint64_t generation, rset_err *err)
{
    const rset_status st = rset_kept_take_back(local, generation, err);

    if (st == RSET_OK)
        rset_kept_release(local);
    return st;
}
