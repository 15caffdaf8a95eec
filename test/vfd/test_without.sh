#!/usr/bin/env bash
# Ranks where the driver is not loaded, in a program that looks for its checkpoint first and then writes it: each kind of file that
# ends unprotected is told once, with the likeliest cause, and at the end how many closes were not protected. No rank is silent
# because of a first wait of which nothing was said.
set -euo pipefail

# shellcheck source=test/vfd/head.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/head.sh"
said=$work/said
heat=("$REDSET_BUILD_DIR/examples/heat" "--dir=$d" --steps=60 --every=10)

# run SETTINGS: ranks 0 and 1, then 2 and 3; `with` and `without` are words of env for each half
run() {
    rm -rf "$d" && mkdir "$d"
    timeout -s KILL 180 "$mpiexec" -np 2 env "${first[@]}" HDF5_DRIVER_CONFIG="$1" "${heat[@]}" : \
        -np 2 env "${last[@]}" HDF5_DRIVER_CONFIG="$1" "${heat[@]}" >"$said" 2>&1 </dev/null || { cat "$said"; return 1; }
    cat "$said"
    grep -q 'step 60: finished' "$said"
}
# says TIMES WORDS: so many lines say this
says() { [ "$(grep -cE -- "$2" "$said")" = "$1" ] || { echo "not $1 times: $2"; return 1; }; }
tells() { # TIMES: of each of the two kinds; and at the end
    says "$1" "^redset: not protected: .*heat_a.*either the driver is not in use there .give HDF5_DRIVER to all ranks" &&
        says "$1" '^redset: not protected: .*heat_b' && says "$1" '^redset: 6 of 6 closes of this rank were not protected'
}

first=(HDF5_DRIVER=redset) last=(REDSET=)
for settings in timeout=1 "timeout=1 files=$d/heat_*.h5"; do
    check "two of four ranks without it, $settings" all run "$settings" , tells 1
done
first=(REDSET=) last=(HDF5_DRIVER=redset)
check 'the first ranks without it: each of the others tells it, and what else it can be' all run timeout=1 , tells 2 , \
    says 4 '^redset: not protected: .*rank 0 has not answered for .*or this rank is late and rank 0 has gone on'
first=(HDF5_DRIVER=redset) last=(HDF5_DRIVER=redset)
check 'all with it: nothing is said' all run timeout=60 , says 0 'not protected'

finish
