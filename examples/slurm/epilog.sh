#!/bin/bash
# Epilog= of slurm.conf: as root on each node after a job. What the job has left on this node is copied to a directory that all nodes
# share, one for each node, and removed here. Nothing is decided: a commit may be half done, and a node may be lost. h5redset scavenge
# decides later, with what all nodes have brought in sight. The exit status is always 0, because Slurm takes a node out of service whose
# epilog fails.
trap 'exit 0' EXIT
set -u
# shellcheck source=examples/slurm/site.sh
. "${BASH_SOURCE[0]%/*}/site.sh"
dir=$(job_directory "$SLURM_JOB_USER" "$SLURM_JOB_ID")
here=$(hostname)
to=$(epilog_directory "$SLURM_JOB_ID")/$here

say() { echo "epilog of job $SLURM_JOB_ID on $here: $*"; }

# Root reads and writes nothing that the user could not.
as_user() { if [ "$(id -u)" = 0 ]; then runuser -u "$SLURM_JOB_USER" -- "$@"; else "$@"; fi; }
bring() {
    mkdir -p "${to%/*/*}" && install -d -m 700 -o "$SLURM_JOB_UID" "${to%/*}" "$to" &&
        as_user cp -a "$dir/." "$to" && as_user sync -f "$to"
}

rm -f "$dir.start" # prolog.sh
[ -d "$dir" ] || exit 0
if [ -z "$(find "$dir" -mindepth 1 -print -quit)" ]; then # the job has brought everything itself
    rmdir "$dir"
elif bring; then
    rm -rf "$dir"
else
    say "not all was brought to $to; what is here is kept in $dir.kept"
    mv "$dir" "$dir.kept"
fi
