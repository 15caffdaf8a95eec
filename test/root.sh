# shellcheck shell=bash
# Sourced by .ci/run and test/run.sh: fresh Debian systems in directories, in which the two commands run as on a machine where
# nothing was installed yet. Needs root.

# redset_root_make SUITE DIR: a root with apt and nothing else, with this machine's mirror, names and proxies. (Called where set -e
# may be off: each step says || return.)
redset_root_make() {
    local mirror
    mirror=$(redset_mirror)
    [ -n "$mirror" ] || { echo 'root: no Debian mirror is known here' >&2; return 1; }
    chmod 755 "$2"
    echo "root: making Debian $1 in $2"
    # a mirror may be behind
    mmdebstrap --quiet --variant=apt --components=main --include=mount,util-linux --dpkgopt=force-unsafe-io \
        --aptopt='Acquire::Check-Valid-Until "false"' \
        "$1" "$2" "$mirror" || return
    apt-config dump | grep -E '^Acquire::(https?::|ftp::|Retries|Check-)' \
        >"$2/etc/apt/apt.conf.d/99host" || true
    cp -L /etc/resolv.conf /etc/hosts "$2/etc/"
}

# redset_root_fill DIR CACHE: this tree in it, and the compiler's cache CACHE of this machine.
redset_root_fill() {
    mkdir -p "$1/src/main" "$1/ccache" "$2" || return
    tar --exclude=./build --exclude=./.git -cf - . | tar -xf - -C "$1/src/main" || return
    if [ -d ../shared ]; then mkdir "$1/src/shared"; fi
}

# redset_root_run DIR CACHE COMMAND...: runs it there, in namespaces of its own: no mount and no process is left afterwards.
redset_root_run() {
    # shellcheck disable=SC2016
    unshare --mount --pid --fork --kill-child bash -euc '
        root=$1 cache=$2 here=$3; shift 3
        mount --bind "$root" "$root" # a root that is a mount itself can be unshared again inside
        mount -t proc proc "$root/proc"
        mount --rbind /sys "$root/sys"
        mount --rbind /dev "$root/dev"
        mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
        mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
        if [ -d "$root/ccache" ]; then mount --bind "$cache" "$root/ccache"; fi
        if [ -d "$root/src/shared" ]; then mount --bind -o ro "$here/../shared" "$root/src/shared"; fi
        exec chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
            CI=true ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
            "$@"' redset_root_run "$1" "$2" "$PWD" "${@:3}"
}

# What a shell in such a root is told before it builds.
# shellcheck disable=SC2034
redset_root_settings='export CMAKE_C_COMPILER_LAUNCHER=ccache CCACHE_DIR=/ccache CCACHE_NOHASHDIR=1 REDSET_SETUP_PACKAGES=ccache'
