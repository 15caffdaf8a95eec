#!/usr/bin/env bash
# How many messages a rank sends in the mean, 16 ranks, XOR in sets of 8, one directory, files of 40 KB: what all have to agree on where
# nothing is wrong travels with the rendezvous, which is a message up and one down over each edge of a tree, 15/8 of a rank.
set -euo pipefail

# shellcheck source=test/vfd/head.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/head.sh"
mkdir "$d"
said=$work/said

run() { # SETTINGS [PROGRAM [BYTES]]
    HDF5_DRIVER=redset timeout -s KILL 180 "$mpiexec" -np 16 "$REDSET_SOURCE_DIR/test/vfd/grouped.sh" abcdefghijklmnop \
        "scheme=XOR required=yes timeout=60 $1" "${2:-$bin/messages}" "$d" "${3:-40000}" >"$said" 2>"$log" || { cat "$said" "$log"; return 1; }
    cat "$said"
}
# every second rank takes its file by its size
cat >"$work/mixed" <<END
#!/bin/sh
rank=\${OMPI_COMM_WORLD_RANK:-\${PMIX_RANK:-\$PMI_RANK}}
[ \$((rank % 2)) = 0 ] || HDF5_DRIVER_CONFIG="\$HDF5_DRIVER_CONFIG verify=size"
exec "$bin/messages" "\$@"
END
chmod +x "$work/mixed"
# at_most STEP MESSAGES
at_most() { awk -v step="$1" -v most="$2" '$1 == step { n++; if ($2 > most) bad = 1 } END { exit n != 1 || bad }' "$said"; }

check 'five uses of files' run ''
check 'a close that encodes' at_most create 15
check 'an open of what is whole, and its close' at_most change 3.75
check 'an open of what is whole, to read' at_most read 1.875
check 'an open after a loss, and its close' at_most change_lost 40
check 'an open after a loss, to read' at_most read_lost 40
check 'without a look at the content' run 'verify=size'
check 'an open of what is whole, to read' at_most read 1.875
check 'larger files, which are verified once all are known to be alike' run '' "$bin/messages" 100000
check 'one step more' all at_most read 3.75 , at_most change 5.625
check 'ranks that want different things verified' run '' "$work/mixed"
check 'they agree on the most that any wants' all at_most read 5.625 , not at_most read 1.875
finish
