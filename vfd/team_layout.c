/* team_layout.c: how a team is divided into sets: once for each scheme that its files have. See team.h. */
#include "comm/mpi/comm_mpi.h"
#include "team_internal.h"

#include <stdio.h>
#include <stdlib.h>

void
rset_team_drop_layouts(rset_team_kept *kept)
{
    for (rset_team_division *l = kept->layouts, *next; l != NULL; l = next) {
        next = l->next;
        rset_layout_free(&l->layout);
        free(l);
    }
    kept->layouts = NULL;
}

rset_status
rset_team_layout(rset_team *team, const rset_config *config, rset_layout **layout_out,
                 rset_err *err)
{
    rset_team_kept     *kept = rset_team_kept_of(team);
    uint64_t            keys[RSET_KEYS];
    rset_wish           want = {.scheme = config->scheme,
                                .parity = rset_config_parity(config),
                                .set_size = config->set_size,
                                .group = config->group[0] != '\0' ? config->group : team->host,
                                .order = rset_mpi_world_rank()};
    rset_team_division *l;
    rset_status         st;

    rset_config_keys(config, keys);
    for (l = kept->layouts; l != NULL && l->key != keys[RSET_KEY_SCHEME]; l = l->next)
        continue;
    if (l != NULL) {
        l->layout.set.timeout = team->comm->timeout; /* of this file, not of the first one */
        *layout_out = &l->layout;
        return RSET_OK;
    }
    l = calloc(1, sizeof *l);
    if (l == NULL) /* to the others' first step, which is of this kind */
        return rset_any(team->comm,
                        rset_fail(err, RSET_NOMEM, "no memory for a division into sets"),
                        team->host, &(bool){false}, err);
    l->key = keys[RSET_KEY_SCHEME];
    st = rset_layout_form(team->comm, &want, team->host, &l->layout, err);
    if (st != RSET_OK) {
        free(l);
        return st;
    }
    l->next = kept->layouts;
    kept->layouts = l;
    *layout_out = &l->layout;
    return RSET_OK;
}

rset_status
rset_team_protection(rset_team *team, const rset_config *config, bool all, char note[RSET_ERR_TEXT],
                     rset_protect_args *out, rset_err *err)
{
    rset_layout *layout = NULL;
    rset_status  st = rset_team_layout(team, config, &layout, err);
    const char  *text;
    bool         says;

    if (st != RSET_OK)
        return st;
    says = team->comm->rank == 0 && note[0] == '\0' && !layout->told;
    *out = (rset_protect_args){.world = team->comm,
                               .set = &layout->set,
                               .ranks = layout->ranks,
                               .desc = layout->desc,
                               .extra = true,
                               .host = team->host};
    if (all)
        out->before = rset_layout_for_all(layout, err);
    text = rset_layout_tell(layout); /* unless that was an error */
    if (says && text[0] != '\0')
        snprintf(note, RSET_ERR_TEXT, "%s", text);
    else if (says)
        out->storage = note;
    return RSET_OK;
}
