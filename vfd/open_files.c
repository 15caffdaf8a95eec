/* open_files.c: see open_files.h. */
#include "open_files.h"

#include "content.h"
#include "left.h"

#include <string.h>

static rset_handle *all_open; /* HDF5 calls drivers one at a time */

void
rset_open_add(rset_handle *handle)
{
    rset_handle **at = &all_open;

    while (*at != NULL && strcmp((*at)->path, handle->path) < 0)
        at = &(*at)->next;
    handle->next = *at;
    *at = handle;
}

void
rset_open_remove(const rset_handle *handle)
{
    for (rset_handle **at = &all_open; *at != NULL; at = &(*at)->next)
        if (*at == handle) {
            *at = handle->next;
            return;
        }
}

const rset_handle *
rset_open_find_shadow(const char *path)
{
    const rset_handle *h = all_open;

    while (h != NULL && !(rset_handle_is_shadow(h) && strcmp(h->path, path) == 0))
        h = h->next;
    return h;
}

const rset_session *
rset_open_session(const char *path)
{
    for (const rset_handle *h = all_open; h != NULL; h = h->next) {
        const char *older = h->session != NULL ? rset_session_older(h->session) : NULL;

        if (strcmp(h->path, path) == 0 || (older != NULL && strcmp(older, path) == 0))
            return h->session;
    }
    return NULL;
}

bool
rset_open_protected_near(const char *path)
{
    const rset_handle *h = all_open;

    while (h != NULL &&
           !(rset_session_was_protected(h->session) &&
             strncmp(h->path, path, strlen(h->path) - strlen(rset_path_base(h->path))) == 0))
        h = h->next;
    return h != NULL;
}

bool
rset_open_any_to_end(void)
{
    const rset_handle *h = all_open;

    while (h != NULL && !rset_session_needs_others(h->session))
        h = h->next;
    return h != NULL;
}

bool
rset_open_any_to_flush(void)
{
    const rset_handle *h = all_open;

    while (h != NULL && (h->flushed || !rset_session_needs_others(h->session)))
        h = h->next;
    return h != NULL;
}

void
rset_open_protect_all(void)
{
    for (rset_handle *h = all_open; h != NULL; h = h->next) {
        bool ok;

        if (h->session != NULL)
            rset_session_join(h->session);
        if (!rset_session_needs_others(h->session) || h->lower == NULL)
            continue;
        ok = !rset_session_is_changed(h->session) || rset_handle_settle_superblock(h) >= 0;
        ok = ok && (h->flushed || !rset_session_is_changed(h->session));
        rset_left_note(h);
        rset_session_finalize(h->session, ok && !h->failed);
        if (!rset_handle_is_shadow(h))
            rset_handle_close_guard(h);
    }
}

void
rset_open_join(const char *path)
{
    for (rset_handle *h = all_open; h != NULL; h = h->next)
        if (h->session != NULL && (path == NULL || strcmp(h->path, path) == 0))
            rset_session_join(h->session);
}
