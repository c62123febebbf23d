# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between these files
# Debian releases in directories, to build and test in. Sourced after run.sh, by root.

# Kept between runs: a directory for each release, and what its last run said.
chroots_dir=${FENCELOCK_CHROOTS:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/fencelock-chroots}
chroot_tree=/usr/src/fencelock # the checkout inside
releases=(bullseye bookworm trixie forky)

release_title() { # RELEASE
    case $1 in
    bullseye) echo "Debian 11" ;;
    bookworm) echo "Debian 12" ;;
    trixie) echo "Debian 13" ;;
    forky) echo "Debian testing" ;;
    esac
}

# Makes the release's directory where there is none yet. Built beside it, so that what is there is whole.
make_chroot() { # RELEASE LOG
    local root=$chroots_dir/$1 unfinished=$chroots_dir/$1.unfinished mirror
    [[ ! -d $root ]] || return 0
    mkdir -p "$chroots_dir"
    # What is no longer supported moves to the archive.
    for mirror in "${FENCELOCK_DEBIAN_MIRROR:-http://deb.debian.org}" http://archive.debian.org; do
        rm -rf "$unfinished"
        if mmdebstrap --variant=apt --mode=root --include=ca-certificates \
            --aptopt='Acquire::Check-Valid-Until "false"' --aptopt='APT::Install-Recommends "false"' \
            --aptopt='Acquire::Languages "none"' --dpkgopt=force-unsafe-io --dpkgopt=force-confold \
            --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
            --dpkgopt='path-exclude=/usr/share/locale/*' \
            "$1" "$unfinished" - < <(chroot_sources "$1" "$mirror") >>"$2" 2>&1; then
            # No cluster for each server that is installed.
            mkdir -p "$unfinished/etc/postgresql-common"
            echo "create_main_cluster = false" >"$unfinished/etc/postgresql-common/createcluster.conf"
            mv "$unfinished" "$root"
            return
        fi
    done
    rm -rf "$unfinished"
    return 1
}

chroot_sources() { # RELEASE MIRROR
    local kind
    for kind in deb deb-src; do
        echo "$kind $2/debian $1 main"
        # Debian 11 gets no more updates, and mirrors have begun to lose the last ones.
        [[ $1 == bullseye ]] || echo "$kind $2/debian-security $1-security main"
    done
}

# The command that runs a command inside, in namespaces of its own for mounts, processes, IPC and, unless it is to
# fetch packages, the network: nothing of it meets the machine's own, and all of it ends with this script. Sets
# $chroot_command. (unshare ignores TERM while it waits.)
chroot_command() { # RELEASE alone|online COMMAND...
    local root=$chroots_dir/$1 own=(--mount --pid --fork --ipc --uts --kill-child)
    [[ $2 == online ]] || own+=(--net)
    # shellcheck disable=SC2016 # expanded inside
    chroot_command=(setpriv --pdeathsig KILL unshare "${own[@]}" bash -euc '
        root=$1 network=$2
        shift 2
        mount -t proc proc "$root/proc"
        mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
        mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts "$root/dev/pts"
        if [ "$network" = online ]; then
            cp -L /etc/resolv.conf "$root/etc/resolv.conf"
            # Packages come the way that they come to this machine.
            apt-config dump Acquire >"$root/etc/apt/apt.conf.d/90host" 2>/dev/null || true
        else
            ip link set lo up
        fi
        exec chroot "$root" env -i HOME=/root LANG=C.UTF-8 TERM="${TERM:-dumb}" DEBIAN_FRONTEND=noninteractive \
            FENCELOCK_SERVER_SOURCES=/usr/src/postgresql-server \
            PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
    ' in_chroot "$root" "$2" "${@:3}")
}

# Runs it, with its words appended to a log; its status is the command's.
in_chroot() { # LOG RELEASE alone|online COMMAND...
    local log=$1
    shift
    chroot_command "$@"
    start_process - KILL "$log" "${chroot_command[@]}"
    wait "$started_pid"
}

# The tree of HEAD, and nothing else, into the release's directory.
copy_head_to_chroot() { # RELEASE
    local tree=$chroots_dir/$1$chroot_tree
    rm -rf "$tree"
    mkdir -p "$tree"
    git archive HEAD | tar -xf - -C "$tree"
}

# A package's version as people know it; nothing where it is not there.
chroot_version() { # RELEASE PACKAGE_PATTERN
    chroot "$chroots_dir/$1" dpkg-query -W -f '${db:Status-Abbrev}${Version}\n' "$2" 2>/dev/null |
        sed -n '/^ii/{s/^ii *//;s/^[0-9]*://;s/[-+].*//;p;q}'
}
