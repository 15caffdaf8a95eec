/* format_record.c: what a header records of data files, as structs: how much it is, freed, copied. See format.h. */
#include "format_internal.h"

#include <stdlib.h>
#include <string.h>

uint64_t
rset_info_length(const rset_info *info)
{
    uint64_t length = 0;

    for (int i = 0; i < info->nfiles; i++)
        length += info->files[i].attrs.size;
    return length;
}

void
rset_info_free(rset_info *info)
{
    for (int i = 0; i < info->nfiles; i++) {
        free(info->files[i].path);
        rset_sums_free(&info->files[i].sums);
    }
    free(info->files);
    free(info->host);
    free(info->together);
    rset_stamp_free(&info->stamp);
    memset(info, 0, sizeof *info);
}

void
rset_header_free(rset_header *header)
{
    for (int i = 0; header->infos != NULL && i < header->ninfos; i++)
        rset_info_free(&header->infos[i]);
    free(header->infos);
    free(header->group);
    rset_sums_free(&header->payload);
    memset(header, 0, sizeof *header);
}

static bool
copy_file(const rset_file_info *from, rset_file_info *to)
{
    to->path = strdup(from->path);
    to->attrs = from->attrs;
    to->has_sums = from->has_sums;
    if (to->path == NULL || !from->has_sums)
        return to->path != NULL;
    return rset_sums_copy(&from->sums, &to->sums) == 0;
}

rset_status
rset_info_copy(const rset_info *from, rset_info *out, rset_err *err)
{
    rset_info copy = {.desc = from->desc};

    if (from->host != NULL && (copy.host = strdup(from->host)) == NULL)
        return rset_fail(err, RSET_NOMEM, "out of memory for a copy of a host name");
    if (!rset_stamp_copy(&from->stamp, &copy.stamp)) {
        rset_info_free(&copy);
        return rset_fail(err, RSET_NOMEM, "out of memory for a copy of a label");
    }
    if (from->together != NULL && (copy.together = strdup(from->together)) == NULL) {
        rset_info_free(&copy);
        return rset_fail(err, RSET_NOMEM, "out of memory for a copy of names");
    }
    if (from->nfiles > 0)
        copy.files = calloc((size_t)from->nfiles, sizeof *copy.files);
    for (; copy.files != NULL && copy.nfiles < from->nfiles; copy.nfiles++)
        if (!copy_file(&from->files[copy.nfiles], &copy.files[copy.nfiles]))
            break;
    if (copy.nfiles < from->nfiles) {
        if (copy.files != NULL)
            copy.nfiles++; /* the one that was begun */
        rset_info_free(&copy);
        return rset_fail(err, RSET_NOMEM, "out of memory for a copy of %d file records",
                         from->nfiles);
    }
    *out = copy;
    return RSET_OK;
}

size_t
rset_format_max_blocks(int ninfos, int nfiles)
{
    size_t sums = (size_t)ninfos * (size_t)nfiles + 1; /* of each file and of the payload */

    return sums >= RSET_SUMS_BUDGET ? 1 : RSET_SUMS_BUDGET / sums;
}
