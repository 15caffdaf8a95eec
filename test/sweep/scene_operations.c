/* scene_operations.c: the operations that sweeps interrupt (scene.h), and the states they begin in, which are made of what
 * happened before (scene_past.h). */
#include "names/names.h"
#include "scene_changes.h"
#include "scene_hosted.h"
#include "scene_kept.h"
#include "scene_past.h"
#include "scene_rename.h"
#include "scene_root.h"
#include "scene_together.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- how operations begin ---- */

static bool
written_never_protected(scene *s)
{
    scene_write(s, 1);
    s->unsynced = true;
    s->new = scene_now(s);
    return true;
}

static bool
written_again(scene *s)
{
    scene_changed(s);
    s->unsynced = true;
    return true;
}

/* A job died over a commit that rank 3 had not prepared, and one after that while it rebuilt; all was rolled back, and then
 * the files were written once more. */
static bool
written_over_leftovers(scene *s)
{
    scene_commit_begun(s, 0);
    unlink(path_of("%s" RSET_SUFFIX_NEW, job_redundancy(&s->job, 3)));
    s->job.leave_orphans = true;
    assert_int_equal(job_recover(&s->job), RSET_OK);
    s->job.leave_orphans = false;
    for (int r = 0; r < SCENE_RANKS; r++) {
        write_file(path_of("%s.fix", job_redundancy(&s->job, r)), "half", 4);
        write_file(path_of("%s.0.fix", job_descriptor(&s->job, r)), "half", 4);
    }
    scene_write_in_place(s, 3, NULL, true);
    for (int r = 0; r < SCENE_RANKS; r++)
        free(s->new.data[r]);
    s->new = scene_now(s);
    return true;
}

static bool
protected_well(scene *s)
{
    scene_protected_once(s);
    return true;
}

static bool
one_node_lost(scene *s)
{
    scene_protected_once(s);
    scene_lose_node(s, 1);
    return scene_tolerates(s, 1);
}

/* Two nodes: neighbours where any two may go (RS), not neighbours where copies must be left. */
static bool
two_nodes_lost(scene *s)
{
    const bool copies = s->kind->scheme == &rset_scheme_partner;

    scene_protected_once(s);
    scene_lose_node(s, 1);
    scene_lose_node(s, copies ? 3 : 2);
    return copies || scene_tolerates(s, 2);
}

/* A block changed by the disk on one rank, a file cut short on another where that can be mended. */
static bool
data_damaged(scene *s)
{
    scene_protected_once(s);
    flip_bit(job_data(&s->job, 0), 17);
    s->lost = 1U << 0;
    if (scene_tolerates(s, 2)) {
        assert_int_equal(truncate(job_data(&s->job, 2), 9), 0);
        s->lost |= 1U << 2;
    }
    return scene_tolerates(s, 1);
}

/* A job died while it changed rank 3's file, and had not kept what it was; then node 1 was lost. What that file held is
 * known by the others: all can be rolled back to version 1. */
static bool
changed_and_a_node_lost(scene *s)
{
    program p;

    scene_protected_once(s);
    p = program_begin(s, 3, false);
    flip_bit(job_data(&s->job, 3), 2);
    append_file(job_data(&s->job, 3), "more", 4);
    program_end(&p, 0);
    scene_lose_node(s, 1);
    s->lost |= 1U << 3;
    return s->kind->scheme == &rset_scheme_partner || scene_tolerates(s, 2);
}

static bool
redundancy_lost(scene *s)
{
    scene_protected_once(s);
    unlink(job_redundancy(&s->job, 1));
    unlink(job_descriptor(&s->job, 1));
    unlink(job_descriptor(&s->job, 2));
    s->lost = 1U << 1;
    if (scene_tolerates(s, 2)) {
        unlink(job_redundancy(&s->job, 2));
        s->lost |= 1U << 2;
    }
    return scene_tolerates(s, 1);
}

static bool
redundancy_lost_beyond_repair(scene *s)
{
    scene_protected_once(s);
    for (int r = 1; r < SCENE_RANKS; r++)
        unlink(job_redundancy(&s->job, r));
    return true;
}

static bool
published_by_one(scene *s)
{
    scene_commit_begun(s, 1U << 1);
    return true;
}

static bool
published_by_one_and_a_node_lost(scene *s)
{
    scene_commit_begun(s, 1U << 1);
    scene_lose_node(s, 2);
    return scene_tolerates(s, 1);
}

/* Rank 3's node comes back with what it had one encode ago. */
static bool
one_node_old(scene *s)
{
    image before;

    scene_protect_version(s, 1);
    before = image_take(s->base);
    scene_protect_version(s, 2);
    s->old = scene_now(s);
    s->new = scene_now(s);
    scene_lose(s, 3);
    image_put(&before, s->base, "node3");
    image_free(&before);
    s->lost = 1U << 3;
    return scene_tolerates(s, 1);
}

/* Ranks were started on other nodes. */
static bool
moved(scene *s)
{
    scene_protected_once(s);
    scene_turn(s);
    return true;
}

/* The same where all files have one name: each rank finds another one's. */
static bool
exchanged(scene *s)
{
    scene_one_name(s);
    scene_protected_once(s);
    scene_turn(s);
    return true;
}

/* And a node is lost: that rank's file comes back where another one's lies. */
static bool
exchanged_and_a_node_lost(scene *s)
{
    exchanged(s);
    scene_lose(s, 3);
    s->lost |= 1U << 2;
    return scene_tolerates(s, 1);
}

/* And the node that rank 2 had is lost: its files were on the node of rank 3 now. */
static bool
moved_and_a_node_lost(scene *s)
{
    moved(s);
    scene_lose(s, 3);
    s->lost |= 1U << 2;
    return scene_tolerates(s, 1);
}

/* One rank less is started: what rank 3 had is on the node of rank 2. And what rank 0 had is lost. */
static bool
a_rank_less_and_a_node_lost(scene *s)
{
    image left;

    scene_protected_once(s);
    left = image_take(s->job.ranks[3].dir);
    image_put(&left, s->job.ranks[2].dir, NULL);
    image_free(&left);
    scene_lose(s, 3);
    scene_lose(s, 0);
    s->lost |= 1U << 0;
    return scene_tolerates(s, 1);
}

/* ---- what they do ---- */

static void
run_void(job *j)
{
    job_run(j, job_body_void);
}

static void
run_recover_and_protect(job *j)
{
    scene_recover(j);
    if (j->ranks[0].st == RSET_OK && j->ranks[0].out.reprotect)
        scene_protect(j);
}

enum { NEW = SCENE_NEW, BOTH = SCENE_OLD | SCENE_NEW, ANY = BOTH | SCENE_REFUSED };

const scene_operation scene_operations[] = {
    {"encode", written_never_protected, scene_protect, NEW, NEW | SCENE_REFUSED, SCENE_APART},
    {"encode again", written_again, scene_protect, NEW, ANY, 0},
    {"encode over leftovers", written_over_leftovers, scene_protect, NEW, ANY, 0},
    {"void", protected_well, run_void, NEW, ANY, SCENE_FIRM | SCENE_LOCAL},
    {"rebuild a node", one_node_lost, scene_recover, NEW, ANY, SCENE_FIRM},
    {"rebuild two nodes", two_nodes_lost, scene_recover, NEW, ANY, SCENE_FIRM},
    {"mend data", data_damaged, scene_recover, NEW, ANY, SCENE_FIRM},
    {"roll back", changed_and_a_node_lost, scene_recover, NEW, ANY, SCENE_FIRM},
    {"mend redundancy", redundancy_lost, scene_recover, NEW, ANY, SCENE_FIRM | SCENE_APART},
    {"protect anew", redundancy_lost_beyond_repair, run_recover_and_protect, NEW, ANY, SCENE_APART},
    {"roll forward", published_by_one, scene_recover, NEW, ANY, 0},
    {"roll forward and rebuild", published_by_one_and_a_node_lost, scene_recover, NEW, ANY, 0},
    {"rewrite", scene_about_to_rewrite, scene_protect, BOTH, ANY, SCENE_FIRM},
    {"rewrite, the old put aside", scene_about_to_rewrite_aside, scene_protect, BOTH, ANY,
     SCENE_FIRM},
    {"rewrite over a decided commit", scene_about_to_rewrite_over_a_decided_commit, scene_protect,
     BOTH, ANY, SCENE_TORN | SCENE_APART},
    {"rewrite over a vain commit", scene_about_to_rewrite_over_a_vain_commit, scene_protect, BOTH,
     ANY, SCENE_TORN | SCENE_APART},
    {"rewrite over a first commit", scene_about_to_rewrite_over_a_first_commit, scene_protect, BOTH,
     ANY, SCENE_TORN | SCENE_APART},
    {"rewrite without a node", scene_about_to_rewrite_without_a_node, scene_protect, BOTH, ANY,
     SCENE_FIRM | SCENE_TORN},
    {"update", scene_about_to_update, scene_protect, BOTH, ANY, SCENE_FIRM | SCENE_TORN},
    {"rewrite, older ones kept", scene_about_to_rewrite_kept, scene_protect, BOTH, ANY, SCENE_FIRM},
    {"update, older ones kept", scene_about_to_update_kept, scene_protect, BOTH, ANY,
     SCENE_FIRM | SCENE_TORN},
    {"rewrite unmet", scene_about_to_rewrite_unmet, scene_protect, BOTH, ANY,
     SCENE_FIRM | SCENE_TORN | SCENE_VAIN},
    {"update unmet", scene_about_to_update_unmet, scene_protect, BOTH, ANY,
     SCENE_FIRM | SCENE_TORN | SCENE_VAIN},
    {"update again", scene_about_to_update_again, scene_protect, BOTH, ANY,
     SCENE_FIRM | SCENE_TORN},
    {"update little", scene_about_to_update_little, scene_protect, BOTH, ANY,
     SCENE_FIRM | SCENE_TORN},
    {"commit while open", scene_about_to_commit_open, scene_protect, BOTH, ANY,
     SCENE_FIRM | SCENE_TORN | SCENE_OPEN | SCENE_APART},
    {"write on anew", scene_about_to_write_on_anew, scene_protect, BOTH, ANY,
     SCENE_FIRM | SCENE_TORN | SCENE_APART},
    {"write on", scene_about_to_write_on, scene_protect, BOTH, ANY,
     SCENE_FIRM | SCENE_TORN | SCENE_APART},
    {"write on little", scene_about_to_write_on_little, scene_protect, BOTH, ANY,
     SCENE_FIRM | SCENE_TORN | SCENE_APART},
    {"commit while open, older ones kept", scene_about_to_commit_open_kept, scene_protect, BOTH,
     ANY, SCENE_FIRM | SCENE_TORN | SCENE_OPEN | SCENE_APART},
    {"write on, older ones kept", scene_about_to_write_on_kept, scene_protect, BOTH, ANY,
     SCENE_FIRM | SCENE_TORN | SCENE_APART},
    {"write on anew, older ones kept", scene_about_to_write_on_anew_kept, scene_protect, BOTH, ANY,
     SCENE_FIRM | SCENE_TORN | SCENE_APART},
    {"finish an update", scene_update_decided_by_one, scene_recover, NEW, ANY, SCENE_FIRM},
    {"finish an update and rebuild", scene_update_decided_and_a_node_lost, scene_recover, NEW, ANY,
     0},
    {"roll back an update", scene_update_cut_short, scene_recover, NEW, ANY, SCENE_FIRM},
    {"roll back what was closed", scene_closed_in_two_steps, scene_recover, NEW, ANY, SCENE_FIRM},
    {"move", moved, scene_recover, NEW, ANY, SCENE_FIRM},
    {"move and rebuild", moved_and_a_node_lost, scene_recover, NEW, ANY, 0},
    {"exchange", exchanged, scene_recover, NEW, ANY, SCENE_FIRM | SCENE_RENAMES},
    {"exchange and rebuild", exchanged_and_a_node_lost, scene_recover, NEW, ANY, SCENE_RENAMES},
    {"fewer ranks rebuild", a_rank_less_and_a_node_lost, scene_recover_by_three, NEW, ANY, 0},
    {"take over names", scene_renamed_by_hand, run_recover_and_protect, NEW, ANY, SCENE_APART},
    {"take over names and rebuild", scene_renamed_by_hand_and_a_node_lost, run_recover_and_protect,
     NEW, ANY, SCENE_APART},
    {"rename", scene_about_to_rename, scene_rename, NEW, ANY, SCENE_FIRM | SCENE_APART},
    {"rename and rebuild", scene_about_to_rename_without_a_node, scene_rename, NEW, ANY,
     SCENE_FIRM | SCENE_APART},
    {"rename over", scene_about_to_rename_over, scene_rename, BOTH, ANY, SCENE_FIRM | SCENE_APART},
    {"together", scene_about_to_rewrite_and_update, scene_protect, BOTH, ANY,
     SCENE_FIRM | SCENE_TORN | SCENE_APART},
    {"together, the other first", scene_about_to_update_and_rewrite, scene_protect, BOTH, ANY,
     SCENE_FIRM | SCENE_TORN | SCENE_APART},
    {"together first", scene_about_to_write_two_first, scene_protect, NEW, NEW | SCENE_REFUSED,
     SCENE_APART},
    {"together, older ones kept", scene_about_to_rewrite_and_update_kept, scene_protect, BOTH, ANY,
     SCENE_FIRM | SCENE_TORN | SCENE_APART},
    {"restore, older ones kept", scene_about_to_restore_kept, scene_rename, BOTH, ANY,
     SCENE_FIRM | SCENE_APART},
    {"restore an older generation", scene_about_to_restore, scene_rename, BOTH, ANY,
     SCENE_FIRM | SCENE_APART},
    {"fall back", scene_about_to_fall_back, scene_fall_back, NEW, ANY, SCENE_FIRM | SCENE_APART},
    {"fall back and rebuild", scene_about_to_fall_back_without_a_node, scene_fall_back, NEW, ANY,
     SCENE_FIRM | SCENE_APART},
    {"bring up to date", one_node_old, scene_recover, NEW, ANY, SCENE_FIRM},
    {"root close", scene_root_about_to_rewrite, scene_root_close, BOTH, ANY,
     SCENE_FIRM | SCENE_APART | SCENE_ROOT},
    {"root close in place", scene_root_about_to_update, scene_root_close, BOTH, ANY,
     SCENE_FIRM | SCENE_TORN | SCENE_APART | SCENE_ROOT},
    {"root close anew", scene_root_about_to_write_anew, scene_root_close, BOTH, ANY,
     SCENE_FIRM | SCENE_APART | SCENE_ROOT},
    {"root close first", scene_root_about_to_write_first, scene_root_close, NEW | SCENE_REFUSED,
     NEW | SCENE_REFUSED, SCENE_TORN | SCENE_APART | SCENE_ROOT},
    {"root close, older ones kept", scene_root_about_to_rewrite_kept, scene_root_close, BOTH, ANY,
     SCENE_FIRM | SCENE_APART | SCENE_ROOT},
    {"root close in place, older ones kept", scene_root_about_to_update_kept, scene_root_close,
     BOTH, ANY, SCENE_FIRM | SCENE_TORN | SCENE_APART | SCENE_ROOT},
    {"root open", scene_root_newest_on_two, scene_root_open, NEW, NEW,
     SCENE_FIRM | SCENE_APART | SCENE_ROOT},
    {"root fall back", scene_root_about_to_fall_back, scene_root_fall_back, NEW, ANY,
     SCENE_FIRM | SCENE_APART | SCENE_ROOT},
    {"root open of a damaged one", scene_root_newest_on_one, scene_root_open, NEW,
     NEW | SCENE_REFUSED, SCENE_APART | SCENE_ROOT},
};
const int scene_noperations = sizeof scene_operations / sizeof *scene_operations;
