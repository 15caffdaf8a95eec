/* said.h: what the driver said when a call of HDF5 failed: its own sentence is the innermost one. */
#ifndef SAID_H
#define SAID_H

#include <hdf5.h>
#include <stdio.h>

static char said[2048]; /* the first since it was emptied */

static inline herr_t
keep_said(unsigned n, const H5E_error2_t *e, void *arg)
{
    (void)n;
    (void)arg;
    if (e->desc != NULL && said[0] == '\0')
        snprintf(said, sizeof said, "%s", e->desc);
    return 0;
}

/* For H5Eset_auto2. */
static inline herr_t
on_error(hid_t stack, void *arg)
{
    (void)arg;
    return H5Ewalk2(stack, H5E_WALK_UPWARD, keep_said, NULL);
}

#endif
