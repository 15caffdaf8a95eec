#!/bin/bash
# Prolog= of slurm.conf: as root on each node before a job. Makes the directory of the job, which is the user's alone. What an earlier job of
# this user has left that ended with the node, before its last start, is kept under another name: no other job can have ended without an
# epilog. It asks Slurm nothing, which a prolog should not.
set -u
# shellcheck source=examples/slurm/site.sh
. "${BASH_SOURCE[0]%/*}/site.sh"
dir=$(job_directory "$SLURM_JOB_USER" "$SLURM_JOB_ID")
above=${dir%/*}
this_start=$(</proc/sys/kernel/random/boot_id)

umask 022
mkdir -p "$above" || exit 1 # Slurm takes the node out of service then, and starts the job elsewhere
for note in "$above"/*.start; do
    left=${note%.start}
    if [ -e "$note" ] && [ "$(<"$note")" != "$this_start" ]; then
        [ ! -d "$left" ] || rmdir "$left" 2>/dev/null || mv -T "$left" "$left.kept"
        rm -f "$note"
    fi
done
echo "$this_start" >"$dir.start" && install -d -m 700 -o "$SLURM_JOB_UID" "$dir"
