/* last_used.c: see last_used.h. */
#include "last_used.h"

#include <stdlib.h>
#include <string.h>

enum { KINDS_MAX = 64 };

typedef struct last_use {
    rset_kind   kind;
    rset_team  *team;
    rset_config config;
} last_use;

static last_use *uses[KINDS_MAX];
static unsigned  next;

static last_use *
find(const rset_kind *kind)
{
    for (int i = 0; i < KINDS_MAX; i++)
        if (uses[i] != NULL && strcmp(uses[i]->kind.text, kind->text) == 0)
            return uses[i];
    return NULL;
}

void
rset_last_used_set(const rset_kind *kind, rset_team *team, const rset_config *config)
{
    last_use *use = find(kind);

    if (use == NULL && uses[next % KINDS_MAX] == NULL)
        uses[next % KINDS_MAX] = calloc(1, sizeof *use);
    if (use == NULL)
        use = uses[next++ % KINDS_MAX];
    if (use == NULL)
        return;
    *use = (last_use){.kind = *kind, .team = team, .config = *config};
    use->config.comm = NULL; /* the property list's, which may be gone */
}

bool
rset_last_used_find(const char *path, rset_team **team_out, rset_config *config_out)
{
    rset_kind       kind;
    const last_use *use;

    rset_kind_of(path, &kind);
    use = find(&kind);
    if (use == NULL)
        return false;
    *team_out = use->team;
    *config_out = use->config;
    return true;
}
