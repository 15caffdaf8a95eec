# shellcheck shell=bash disable=SC2034
# Sourced by cmake/setup.sh and by every test script that starts mpirun: what mpirun needs to run many
# ranks on one machine, as root or not. What is set already wins.

# For scripts that pass mpirun arguments: what lets it start many ranks here, and has it pass a variable on. Of Open MPI;
# redset_mpi_settings finds out which MPI it is.
redset_mpi_flags=(--oversubscribe --bind-to none) redset_mpi_pass=-x

# For test scripts: the settings, and $mpiexec; where there is none the test is skipped.
redset_mpi_or_skip() {
    mpiexec=${MPIEXEC:-mpirun}
    command -v "$mpiexec" >/dev/null || { echo "SKIP: no $mpiexec"; exit 77; }
    redset_mpi_settings
}

redset_mpi_shared_memory() { export OMPI_MCA_btl=${OMPI_MCA_btl:-self,sm} OMPI_MCA_pml=${OMPI_MCA_pml:-ob1}; } # from Open MPI 5 on

# Of tests only: the library test/vfd/preload_$1.c, if it was built.
redset_mpi_preload() {
    local library=${REDSET_BUILD_DIR:-}/test/vfd/libpreload_$1.so
    [ ! -e "$library" ] || export LD_PRELOAD=$library${LD_PRELOAD:+:$LD_PRELOAD}
}

redset_mpi_settings() {
    export MPIEXEC=${MPIEXEC:-mpirun}
    if [ "$(id -u)" = 0 ]; then
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    fi
    # everything is tested on one machine: shared memory does, and probing networks only costs time
    case $("$MPIEXEC" --version 2>/dev/null) in
        *'(Open MPI) 4.'* | *'(OpenRTE) 4.'*) # mpirun, mpiexec
            export OMPI_MCA_rmaps_base_oversubscribe=${OMPI_MCA_rmaps_base_oversubscribe:-1}
            export OMPI_MCA_hwloc_base_binding_policy=${OMPI_MCA_hwloc_base_binding_policy:-none}
            export OMPI_MCA_btl=${OMPI_MCA_btl:-self,vader} OMPI_MCA_pml=${OMPI_MCA_pml:-ob1}
            # A quarter of what it costs to start a job goes into looking for the caches and graphics cards of the machine, and
            # into loading what is not used. Nothing is bound: how many cores there are is all that processes need.
            export HWLOC_SYNTHETIC=${HWLOC_SYNTHETIC:-core:$(nproc) pu:1} HWLOC_THISSYSTEM=${HWLOC_THISSYSTEM:-1}
            export OMPI_MCA_coll=${OMPI_MCA_coll:-self,basic,tuned,libnbc,inter,sm} OMPI_MCA_osc=${OMPI_MCA_osc:-sm}
            export OMPI_MCA_reachable=${OMPI_MCA_reachable:-weighted} OMPI_MCA_shmem=${OMPI_MCA_shmem:-mmap}
            export OMPI_MCA_state=${OMPI_MCA_state:-hnp,app} OMPI_MCA_errmgr=${OMPI_MCA_errmgr:-default_hnp,default_app}
            export OMPI_MCA_schizo=${OMPI_MCA_schizo:-ompi,orte} OMPI_MCA_pmix=${OMPI_MCA_pmix:-ext3x}
            export PMIX_MCA_psec=${PMIX_MCA_psec:-native} # with gds=hash it is cheaper still, and dies more often in MPI_Finalize
            # One directory for all jobs of a user is removed by the job that ends last: where another one starts at that moment it
            # fails. In a test's own place (tests.cmake) it is never empty, so it stays.
            local jobs=${OMPI_MCA_orte_tmpdir_base:-} host
            host=$(uname -n)
            [ -z "$jobs" ] || mkdir -p "$jobs/ompi.${host%%.*}.$(id -u)/stays"
            redset_mpi_preload keep ;; # see there: this Open MPI sometimes dies in MPI_Finalize on a busy machine
        *'(Open MPI) '[6-9]*)
            export PRTE_MCA_mapby=${PRTE_MCA_mapby:-:oversubscribe} PRTE_MCA_bindto=${PRTE_MCA_bindto:-none}
            export PRTE_MCA_ras=${PRTE_MCA_ras:-^slurm} # what tests put in the place of Slurm has no allocation
            redset_mpi_shared_memory ;;
        *'(Open MPI) '*)
            export PRTE_MCA_rmaps_default_mapping_policy=${PRTE_MCA_rmaps_default_mapping_policy:-:oversubscribe}
            export PRTE_MCA_hwloc_default_binding_policy=${PRTE_MCA_hwloc_default_binding_policy:-none}
            redset_mpi_shared_memory ;;
        HYDRA*) redset_mpi_flags=(-bind-to none) redset_mpi_pass='' ;; # MPICH starts and passes whatever there is
    esac
    # hwloc's plugins, for graphics cards among others, bring the libraries of a desktop into each process
    export HWLOC_PLUGINS_PATH=${HWLOC_PLUGINS_PATH:-/nonexistent}
    # the UCX of MPICH takes calls away from preloaded libraries, and ends a process whose messages were not all taken
    export UCX_MEM_EVENTS=${UCX_MEM_EVENTS:-n}
    # a rank that waits gives its core away, and sleeps: there are more ranks than cores
    redset_mpi_preload yield
    export OMPI_MCA_mpi_yield_when_idle=${OMPI_MCA_mpi_yield_when_idle:-1}
    export MPIR_CVAR_ENABLE_HEAVY_YIELD=${MPIR_CVAR_ENABLE_HEAVY_YIELD:-1} # MPICH, from 4.2 on
}
