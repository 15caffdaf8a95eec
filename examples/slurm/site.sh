# shellcheck shell=bash disable=SC2034 # for the scripts that read this
# What a site sets, for job.sbatch, prolog.sh and epilog.sh, which lie in the same directory.

local_storage=/local     # storage of each node: a directory that is root's
shared_storage=/shared   # storage that all nodes see, not full, and safe
srun=(srun --mpi=pmix)   # how programs with your MPI are started

PATH=/path/to/bin:${PATH:-/usr/sbin:/usr/bin:/sbin:/bin} # where h5redset is, and the program; Slurm gives prologs no PATH
export HDF5_PLUGIN_PATH=/path/to/plugins

# Where the files of a job are on each node, and where epilogs bring them, each to a directory with the name of its node.
job_directory() { echo "$local_storage/redset/$1/$2"; } # USER JOB
epilog_directory() { echo "$shared_storage/redset/$1"; } # JOB
