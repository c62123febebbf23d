# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between these files
# A run's own directory and the servers started in it; everything ends with the script.
# Sourced; needs bash with `set -euo pipefail`.

# A variable of the caller's must not change what is run, nor where it is installed.
unset CDPATH GREP_OPTIONS MAKEFLAGS MFLAGS DESTDIR
export LC_ALL=C.UTF-8

run_dir=
run_hooks=() # functions to call at the end, whatever the reason
declare -A end_signal_of=()

# Makes $run_dir, readable by the user postgres, outside the checkout (which that user often may
# not enter). TMPDIR points into it, so that what tests leave behind goes with it.
run_begin() {
    local base=${TMPDIR:-/tmp}
    ((${#base} <= 40)) || base=/tmp # the path of a unix socket has at most 107 bytes
    run_dir=$(mktemp -d "$base/fencelock.XXXXXX")
    chmod 755 "$run_dir"
    mkdir -m 1777 "$run_dir/tmp"
    export TMPDIR=$run_dir/tmp
    trap run_end EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
}

run_end() {
    local status=$? hook pid
    trap - EXIT
    for hook in "${run_hooks[@]+"${run_hooks[@]}"}"; do
        "$hook"
    done
    # Children only: the number of one that has ended may be somebody else's by now.
    for pid in $(jobs -p); do
        end_process "$pid"
    done
    [[ -z $run_dir ]] || rm -rf "$run_dir"
    exit "$status"
}

# Runs a program in the background, logged to a file; sets $started_pid. SIGNAL is what ends it
# quickly: sent by end_process, and by the kernel where this script dies without its traps.
# USER "-" is the caller.
start_process() { # USER SIGNAL LOG COMMAND...
    local user=$1 signal=$2 log=$3
    shift 3
    local as=()
    if [[ $user != - && $EUID -eq 0 ]]; then
        as=(--reuid="$user" --regid="$user" --init-groups)
    fi
    setpriv "${as[@]+"${as[@]}"}" --pdeathsig "$signal" "$@" >>"$log" 2>&1 </dev/null &
    started_pid=$!
    end_signal_of[$started_pid]=$signal
}

# Ends one process that start_process started; returns when it is gone.
end_process() { # PID
    local pid=$1
    { # quiet: bash reports every job that a signal ended
        kill "-${end_signal_of[$pid]:-TERM}" "$pid" || true
        wait_for 30 process_ended "$pid" || kill -KILL "$pid" || true
        wait "$pid" || true
    } 2>/dev/null
}

process_ended() { ! kill -0 "$1" 2>/dev/null; }

# Runs a command with its output in a log; sets $run_status. Must not be called in a condition: there
# bash ignores `set -e` in all that it calls, and a failure in the middle would pass.
run_logged() { # LOG COMMAND...
    local log=$1
    shift
    set +e
    (
        set -e
        "$@"
    ) >"$log" 2>&1 </dev/null
    run_status=$?
    set -e
}

# A hang is a failure that is told, not one that lasts; and what was started ends with this script.
bounded() { # SECONDS COMMAND...
    setpriv --pdeathsig TERM timeout --kill-after=30 "$@"
}

# Waits until a command succeeds; fails after SECONDS.
wait_for() { # SECONDS COMMAND...
    local deadline=$((SECONDS + $1))
    shift
    until "$@"; do
        ((SECONDS < deadline)) || return 1
        sleep 0.05
    done
}

# A port of 127.0.0.1 below the range of outgoing connections; whoever starts a server on it tries
# another where somebody was faster.
random_port() { echo $((12000 + (RANDOM * 32768 + RANDOM) % 20000)); }

# The comment at the head of the script that runs is its usage; called at the top of the checkout. A
# script elsewhere than in scripts/ names its directory.
print_usage() { # [DIRECTORY]
    sed -n -e 1d -e '/^#/!q' -e '/^# shellcheck/d' -e 's/^# \{0,1\}//p' "${1:-scripts}/${0##*/}"
}

die() {
    echo "${0##*/}: $*" >&2
    exit 1
}
