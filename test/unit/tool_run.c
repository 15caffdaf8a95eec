/* tool_run.c: see tool_run.h. */
#include "tool_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct call {
    int (*run)(int argc, char **argv);
    const char *const *argv;
    int                to[2], status;
} call;

static rset_status
run_it(void *arg)
{
    call *c = arg;
    int   was[2], argc = 0;

    while (c->argv[argc] != NULL)
        argc++;
    fflush(NULL);
    for (int fd = 0; fd < 2; fd++) {
        was[fd] = dup(fd + 1);
        dup2(c->to[fd], fd + 1);
    }
    c->status = c->run(argc, (char **)c->argv);
    fflush(NULL);
    for (int fd = 0; fd < 2; fd++) {
        dup2(was[fd], fd + 1);
        close(was[fd]);
    }
    return RSET_OK;
}

static void
blot_ages(char *json)
{
    static const char age[] = "\"age_seconds\": ";

    while ((json = strstr(json, age)) != NULL)
        for (json += strlen(age); *json != ',' && *json != '\0'; json++)
            *json = '-';
}

/* All that was written into it. It is closed. */
static char *
take_text(int fd)
{
    const off_t   size = lseek(fd, 0, SEEK_END);
    char         *text = calloc((size_t)size + 1, 1);
    const ssize_t got = pread(fd, text, (size_t)size, 0);

    close(fd);
    text[got > 0 ? got : 0] = '\0';
    blot_ages(text);
    return text;
}

tool_run
tool_run_do(int (*run)(int argc, char **argv), const char *const *argv, int at)
{
    call     c = {.run = run, .argv = argv};
    tool_run r;

    for (int i = 0; i < 2; i++)
        c.to[i] = memfd_create("said", MFD_CLOEXEC);
    (void)failing_here(run_it, &c, FAILING_LOOKS | FAILING_LIST, at, &r.hit);
    r.status = c.status;
    for (int i = 0; i < 2; i++)
        r.said[i] = take_text(c.to[i]);
    return r;
}

void
tool_run_free(tool_run *r)
{
    for (int i = 0; i < 2; i++)
        free(r->said[i]);
}

bool
tool_run_says_why(const tool_run *r)
{
    const char *const words[] = {strerror(EIO), "cannot be read"};

    for (int i = 0; i < 2; i++)
        if (strstr(r->said[0], words[i]) != NULL || strstr(r->said[1], words[i]) != NULL)
            return true;
    return r->status == 0;
}
