/* driver_id.c: see driver_id.h. */
#include "driver_id.h"

#include "H5FDredset.h"

#include <dlfcn.h>
#include <link.h>

static hid_t driver_id = H5I_INVALID_HID;
static bool  asked; /* what rset_driver_note_asked is for */
static bool  own;   /* what is registered is the class of this copy of the library */

/* HDF5 tells the id of a driver it has loaded only through a property list. */
static hid_t
find_loaded(void)
{
    hid_t id = H5I_INVALID_HID, fapl = H5Pcreate(H5P_FILE_ACCESS);

    if (fapl >= 0 && H5Pset_driver_by_name(fapl, H5FD_REDSET_NAME, NULL) >= 0)
        id = H5Pget_driver(fapl);
    if (fapl >= 0)
        (void)H5Pclose(fapl);
    return id;
}

/* Two registrations would make one file look like two (H5FDcmp compares classes). */
hid_t
rset_driver_id(const H5FD_class_t *class)
{
    unsigned long ignored = 0;

    if (driver_id > 0 && H5Iget_type(driver_id) == H5I_VFL)
        return driver_id;
    if (H5FDis_driver_registered_by_name(H5FD_REDSET_NAME) > 0)
        driver_id = find_loaded();
    else
        driver_id = class != NULL ? H5FDregister(class) : H5I_INVALID_HID;
    asked = false;
    if (driver_id > 0)
        (void)H5FDdriver_query(driver_id, &ignored);
    own = asked;
    return driver_id;
}

void
rset_driver_forget(void)
{
    driver_id = H5I_INVALID_HID;
}

/* ---- several copies ---- */

void
rset_driver_note_asked(void)
{
    asked = true;
}

/* The file that this copy of the library is of, and that of another one in this process. */
static void
find_files(const char **own_out, const char **other_out)
{
    static const char name[] = "H5FDredset_wait";
    struct link_map  *at = NULL;
    Dl_info this, found;

    *own_out = *other_out = "another file";
    if (dladdr1((void *)&own, &this, (void **)&at, RTLD_DL_LINKMAP) == 0 || at == NULL)
        return;
    *own_out = this.dli_fname;
    while (at->l_prev != NULL)
        at = at->l_prev;
    for (; at != NULL; at = at->l_next) {
        void *library = at->l_name[0] != '\0' ? dlopen(at->l_name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
        void *has = library != NULL ? dlsym(library, name) : NULL;

        if (has != NULL && dladdr(has, &found) != 0 && found.dli_fbase != this.dli_fbase)
            *other_out = found.dli_fname;
        if (library != NULL)
            (void)dlclose(library);
    }
}

rset_status
rset_driver_check(rset_err *err)
{
    const char *mine, *other;

    if (rset_driver_id(NULL) <= 0 || own)
        return RSET_OK;
    find_files(&mine, &other);
    return rset_fail(err, RSET_USAGE,
                     "HDF5 has loaded the driver redset from %s, and the program calls that of %s, "
                     "which knows nothing of its files: set HDF5_PLUGIN_PATH to the directory of "
                     "the latter, or link the program with the former",
                     other, mine);
}
