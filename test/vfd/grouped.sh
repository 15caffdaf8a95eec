#!/bin/sh
# grouped.sh GROUPS SETTINGS PROGRAM [ARGUMENT...]: for mpiexec: each rank runs the program with these settings of the driver, and
# in the failure group that its letter of GROUPS names: "aab" are two ranks in group a, and one in b.
rank=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-$PMI_RANK}}
group=$(expr substr "$1" $((rank + 1)) 1)
HDF5_DRIVER_CONFIG="$2 group=$group"
export HDF5_DRIVER_CONFIG
shift 2
exec "$@"
