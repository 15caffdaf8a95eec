/* content.h: what is read from and written to an open file (handle.h). */
#ifndef RSET_CONTENT_H
#define RSET_CONTENT_H

#include "handle.h"

/* Read and write with verification before, and protection marked void before the first change. A
 * write that repeats what is there is left out. */
herr_t rset_handle_read(rset_handle *handle, H5FD_mem_t type, hid_t dxpl, haddr_t addr, size_t size,
                        void *buf);
herr_t rset_handle_write(rset_handle *handle, H5FD_mem_t type, hid_t dxpl, haddr_t addr,
                         size_t size, const void *buf);

/* The lower driver makes the file as long as its end of addresses. */
herr_t rset_handle_truncate(rset_handle *handle, hid_t dxpl, bool closing);

/* Before the file is protected while it is open: writes the superblock as HDF5 will when it closes the file, and holds back
 * what is there now, until something else changes. */
herr_t rset_handle_settle_superblock(rset_handle *handle);

/* Writes a superblock that was held back (content.c); nothing to do for most. */
herr_t rset_handle_release_held(rset_handle *handle);

#endif
