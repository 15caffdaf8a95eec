/* soak_disk.c: see soak_disk.h. */
#include "soak_disk.h"

#include "common/bytes.h"
#include "common/crc64.h"
#include "names/names.h"

#include <stdio.h>
#include <string.h>

/* Length of the container at the beginning (FORMAT.md 2); 0 when it is not complete. */
static size_t
container(const image_file *f)
{
    uint64_t total = 0, crc = 0;

    for (int i = 0; f->size >= 24 && i < 8; i++)
        total = total << 8 | f->data[8 + i];
    if (total < 24 || total > f->size)
        return 0;
    for (size_t i = 4; i > 0; i--)
        crc = crc << 8 | f->data[total - i];
    return rset_crc32(0, f->data, (size_t)total - 4) == crc ? (size_t)total : 0;
}

/* Do the first `len` bytes hold it as headers do? */
static bool
is_in_header(const uint8_t *data, size_t len, uint64_t generation)
{
    char      text[32];
    const int n = snprintf(text, sizeof text, "%llu", (unsigned long long)generation);

    return len > 0 && memmem(data, len, text, (size_t)n + 1) != NULL;
}

/* The file of that name, published or not, or changed on since, if it is complete and of the newest generation. */
static const image_file *
complete(const soak_world *w, const image *img, const char *name)
{
    const char *names[] = {name, path_of("%s" RSET_SUFFIX_NEW, name),
                           path_of("%s" RSET_SUFFIX_VOID, name)};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const image_file *f = image_find(img, names[i]);

        if (f != NULL && is_in_header(f->data, container(f), w->newest))
            return f;
    }
    return NULL;
}

bool
soak_keep_commit(soak_world *w)
{
    soak_version *v = &w->versions[w->nversions - 1];
    image         img = image_take(w->base);

    v->complete = true;
    for (int r = 0; r < w->job.n; r++) {
        const image_file *red = complete(w, &img, soak_redundancy(w, r));
        const image_file *desc = complete(w, &img, soak_descriptor(w, r));

        v->complete = v->complete && red != NULL;
        if (!v->complete)
            break;
        soak_bytes_set(&v->redundancy[r], red->data, red->size);
        if (desc != NULL) /* else it is written when the commit is finished */
            soak_bytes_set(&v->descriptor[r], desc->data, desc->size);
    }
    image_free(&img);
    return v->complete;
}

/* ---- what files tell ---- */

/* As text in a header or in a name, as a number in a mark or in a journal. */
static bool
tells_of(const image_file *f, uint64_t generation)
{
    char    digits[32];
    uint8_t number[8];

    snprintf(digits, sizeof digits, "%016llx", (unsigned long long)generation);
    rset_put64(number, generation);
    return strstr(f->path, digits) != NULL || is_in_header(f->data, f->size, generation) ||
           (f->has_mark && memcmp(f->mark, number, sizeof number) == 0) ||
           (f->size > 0 && memmem(f->data, f->size, number, sizeof number) != NULL);
}

int
soak_disk_newest(const soak_world *w, const image *img)
{
    for (int i = w->nversions - 1; i >= 0; i--)
        for (size_t k = 0; w->versions[i].generation != 0 && k < img->n; k++)
            if (tells_of(&img->at[k], w->versions[i].generation))
                return i;
    return -1;
}

/* Whosever it is. */
static bool
has_content_of(const soak_world *w, const image_file *f, const soak_version *v)
{
    const soak_bytes now = {f->data, f->size};

    for (int r = 0; r < w->job.n; r++)
        if (soak_bytes_equal(&now, &v->data[r]))
            return true;
    return false;
}

void
soak_disk_list(const soak_world *w, const image *img)
{
    for (size_t k = 0; k < img->n; k++) {
        const image_file *f = &img->at[k];

        if (strstr(f->path, RSET_NAME_NAMES) != NULL)
            continue;
        printf("    %s, %zu bytes%s", f->path, f->size, container(f) > 0 ? ", header whole" : "");
        for (int i = 0; i < w->nversions; i++) {
            if (w->versions[i].generation != 0 && tells_of(f, w->versions[i].generation))
                printf(", tells of v%d", i);
            if (has_content_of(w, f, &w->versions[i]))
                printf(", content of v%d", i);
        }
        printf("\n");
    }
}
