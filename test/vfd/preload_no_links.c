/* preload_no_links.c - for LD_PRELOAD: a file system that gives no file a second name, as FAT and many network file systems. */
#include <errno.h>
#include <unistd.h>

int
linkat(int from_dir, const char *from, int to_dir, const char *to, int how)
{
    (void)from_dir, (void)from, (void)to_dir, (void)to, (void)how;
    errno = EPERM;
    return -1;
}
