/* image.c: see image.h. */
#include "image.h"

#include "common/crc64.h"
#include "store/recall.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

#define MARK "user.redset"

enum { WHY = 1024 };

static void
add_file(image *img, const char *root, const char *path)
{
    image_file f = {.path = strdup(path)};
    char      *full = NULL;

    if (img->n == img->room) {
        img->room = img->room > 0 ? 2 * img->room : 16;
        img->at = realloc(img->at, img->room * sizeof *img->at);
        assert_non_null(img->at);
    }
    assert_true(asprintf(&full, "%s/%s", root, path) > 0);
    assert_int_equal(lstat(full, &f.st), 0);
    if (S_ISREG(f.st.st_mode)) {
        f.data = read_file(full, &f.size);
        f.has_mark = getxattr(full, MARK, f.mark, sizeof f.mark) == sizeof f.mark;
    }
    free(full);
    img->at[img->n++] = f;
}

static void
add_tree(image *img, const char *root, const char *under)
{
    char          *full = NULL;
    DIR           *d;
    struct dirent *e;

    assert_true(asprintf(&full, "%s/%s", root, under) > 0);
    d = opendir(full);
    free(full);
    while (d != NULL && (e = readdir(d)) != NULL) {
        char       *path = NULL;
        struct stat sb;

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        assert_true(asprintf(&path, "%s%s%s", under, under[0] != '\0' ? "/" : "", e->d_name) > 0);
        assert_int_equal(fstatat(dirfd(d), e->d_name, &sb, AT_SYMLINK_NOFOLLOW), 0);
        if (S_ISDIR(sb.st_mode))
            add_tree(img, root, path);
        else
            add_file(img, root, path);
        free(path);
    }
    if (d != NULL)
        closedir(d);
}

static int
by_path(const void *a, const void *b)
{
    return strcmp(((const image_file *)a)->path, ((const image_file *)b)->path);
}

image
image_take(const char *dir)
{
    image img = {0};

    add_tree(&img, dir, "");
    if (img.n > 0)
        qsort(img.at, img.n, sizeof *img.at, by_path);
    return img;
}

void
image_free(image *img)
{
    for (size_t i = 0; i < img->n; i++) {
        free(img->at[i].path);
        free(img->at[i].data);
    }
    free(img->at);
    *img = (image){0};
}

const image_file *
image_find(const image *img, const char *path)
{
    for (size_t i = 0; i < img->n; i++)
        if (strcmp(img->at[i].path, path) == 0)
            return &img->at[i];
    return NULL;
}

static bool
is_under(const char *path, const char *under)
{
    size_t n = under != NULL ? strlen(under) : 0;

    return n == 0 || (strncmp(path, under, n) == 0 && (path[n] == '/' || path[n] == '\0'));
}

static void
make_parents(char *path)
{
    for (char *p = strchr(path + 1, '/'); p != NULL; p = strchr(p + 1, '/')) {
        *p = '\0';
        mkdir(path, 0777);
        *p = '/';
    }
}

/* Another name of this file that comes before; NULL: none. */
static const image_file *
first_name(const image *img, size_t at, const char *under)
{
    const struct stat *st = &img->at[at].st;

    for (size_t i = 0; st->st_nlink > 1 && i < at; i++)
        if (img->at[i].st.st_ino == st->st_ino && img->at[i].st.st_dev == st->st_dev &&
            is_under(img->at[i].path, under))
            return &img->at[i];
    return NULL;
}

static bool
put_name(const image *img, size_t at, const char *dir, const char *under)
{
    const image_file *first = first_name(img, at, under);

    if (first == NULL)
        return false;
    assert_int_equal(
        link(path_of("%s/%s", dir, first->path), path_of("%s/%s", dir, img->at[at].path)), 0);
    return true;
}

void
image_put(const image *img, const char *dir, const char *under)
{
    rset_recall_forget(); /* nobody who uses the directory has seen what it was before */
    for (size_t i = 0; i < img->n; i++) {
        const image_file *f = &img->at[i];
        struct timespec   times[2] = {f->st.st_atim, f->st.st_mtim};
        char             *path = NULL;

        if (!is_under(f->path, under))
            continue;
        assert_true(asprintf(&path, "%s/%s", dir, f->path) > 0);
        make_parents(path);
        unlink(path);
        if (put_name(img, i, dir, under)) {
            free(path);
            continue;
        }
        write_file(path, f->data, f->size);
        if (geteuid() == 0)
            assert_int_equal(chown(path, f->st.st_uid, f->st.st_gid), 0);
        if (f->has_mark)
            assert_int_equal(setxattr(path, MARK, f->mark, sizeof f->mark, 0), 0);
        assert_int_equal(chmod(path, f->st.st_mode & 07777), 0);
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
        free(path);
    }
}

/* Names files say what else may be there, and no more: one content may have several. */
static bool
is_names_file(const char *path)
{
    const char  *end = ".redset.names";
    const size_t len = strlen(path);

    return len > strlen(end) && strcmp(path + len - strlen(end), end) == 0;
}

static bool
same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool
same_file(const image_file *a, const image_file *b, image_strictness how, char *why)
{
    const struct stat *x = &a->st, *y = &b->st;

    if (how == IMAGE_REFUSED && is_names_file(a->path))
        return true;
    if (a->size != b->size) {
        snprintf(why, WHY, "%s has %zu bytes instead of %zu", a->path, b->size, a->size);
        return false;
    }
    if (a->size > 0 && memcmp(a->data, b->data, a->size) != 0) {
        size_t i = 0;

        while (a->data[i] == b->data[i])
            i++;
        snprintf(why, WHY, "%s differs at byte %zu of %zu", a->path, i, a->size);
        return false;
    }
    if ((how >= IMAGE_BACK && (x->st_ino != y->st_ino || x->st_mode != y->st_mode ||
                               !same_time(x->st_mtim, y->st_mtim))) ||
        (how >= IMAGE_REFUSED && !same_time(x->st_ctim, y->st_ctim))) {
        snprintf(why, WHY, "%s was touched", a->path);
        return false;
    }
    return true;
}

size_t
image_count(const image *img)
{
    size_t n = 0;

    for (size_t i = 0; i < img->n; i++)
        n += !is_names_file(img->at[i].path);
    return n;
}

/* `more`: what files may be there that the image has not, by how their names end; NULL: none. */
static bool
is_more(const char *path, const char *more)
{
    size_t len = strlen(path), end = more == NULL ? 0 : strlen(more);

    return end > 0 && len > end && strcmp(path + len - end, more) == 0;
}

const char *
image_after_generation(const char *path)
{
    static const char word[] = ".redset.";
    const char       *at = strstr(path, word);

    at = at != NULL ? at + sizeof word - 1 : "";
    return strspn(at, "0123456789abcdef") == 16 ? at + 16 : NULL;
}

static bool
left_out(const image_file *f, const char *under, bool names)
{
    return !is_under(f->path, under) || (!names && is_names_file(f->path));
}

static bool
compare(const image *img, const char *dir, const char *under, const char *more,
        image_strictness how, char *why)
{
    const bool names = how >= IMAGE_REFUSED && more == NULL;
    image      now = image_take(dir);
    size_t     i = 0, j = 0;
    bool       same = true;

    while (same && (i < img->n || j < now.n)) {
        int order;

        if (i < img->n && left_out(&img->at[i], under, names)) {
            i++;
            continue;
        }
        if (j < now.n && left_out(&now.at[j], under, names)) {
            j++;
            continue;
        }
        order = i == img->n ? 1 : j == now.n ? -1 : strcmp(img->at[i].path, now.at[j].path);
        if (order > 0 && is_more(now.at[j].path, more)) {
            j++;
        } else if (order != 0) {
            snprintf(why, WHY, "%s is %s", order < 0 ? img->at[i].path : now.at[j].path,
                     order < 0 ? "missing" : "there but should not be");
            same = false;
        } else {
            same = same_file(&img->at[i++], &now.at[j++], how, why);
        }
    }
    image_free(&now);
    return same;
}

bool
image_same(const image *img, const char *dir, const char *under, image_strictness how, char *why)
{
    return compare(img, dir, under, NULL, how, why);
}

bool
image_same_file(const image *img, const char *file, const char *path, char *why)
{
    const image_file *was = image_find(img, file);
    size_t            size = 0;
    uint8_t          *now;
    bool              same;

    if (was == NULL || !exists(path)) {
        snprintf(why, WHY, "%s is missing", was == NULL ? file : path);
        return false;
    }
    now = read_file(path, &size);
    same = size == was->size && memcmp(now, was->data, size) == 0;
    if (!same)
        snprintf(why, WHY, "%s differs", path);
    free(now);
    return same;
}

bool
image_kept(const image *img, const char *dir, const char *more, image_strictness how, char *why)
{
    return compare(img, dir, NULL, more, how, why);
}

uint64_t
image_fingerprint(const image *img, uint64_t with)
{
    uint64_t print = with;

    for (size_t i = 0; i < img->n; i++) {
        const image_file *f = &img->at[i];

        print = rset_crc64(print, f->path, strlen(f->path) + 1);
        print = rset_crc64(print, f->mark, sizeof f->mark);
        print = rset_crc64(print, f->data, f->size);
    }
    return print;
}
