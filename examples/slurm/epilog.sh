#!/bin/bash
# Epilog= of slurm.conf: as root on each node after a job. What the job has left on this node is brought to a directory that all nodes
# share, and removed here. Each node brings what is whole, and its redundancy beside it: with that of all, h5redset scavenge rebuilds what
# a lost node had. The exit status is always 0, because Slurm takes a node out of service whose epilog fails.
set -u
# shellcheck source=examples/slurm/site.sh
. "${BASH_SOURCE[0]%/*}/site.sh"
dir=$(job_directory "$SLURM_JOB_USER" "$SLURM_JOB_ID")
to=$(epilog_directory "$SLURM_JOB_ID")
here=$(hostname)

say() { echo "epilog of job $SLURM_JOB_ID on $here: $*"; }

# Root reads nothing that the user could not read himself.
as_user() { if [ "$(id -u)" = 0 ]; then runuser -u "$SLURM_JOB_USER" -- "$@"; else "$@"; fi; }
redundancy() {
    # shellcheck disable=SC2016 # expanded by that shell
    as_user bash -c 'cd "$1" && find . -maxdepth 1 -type f -name "*.redset" -print0 |
        tar --create --file=- --null --files-from=-' - "$dir" | tar --extract --file=- --directory="$to" --skip-old-files
}

# The epilogs of all nodes come at the same time, and one at a time may bring files.
bring() {
    local status=0
    h5redset scavenge --wait="$patience" --to "$to" "$dir" || status=$?
    case $status in
        0 | 1 | 2) redundancy || status=5 ;;
        3 | 4) status=0 ;; # nothing is protected
    esac
    return "$status"
}

rm -f "$dir.start" # prolog.sh
[ -d "$dir" ] || exit 0
if [ -z "$(find "$dir" -mindepth 1 -print -quit)" ]; then # the job has brought everything itself
    rmdir "$dir"
elif mkdir -p "${to%/*}" && bring; then
    rm -rf "$dir"
else
    say "not all was brought to $to; what is here is kept in $dir.kept"
    mv "$dir" "$dir.kept"
fi
exit 0
