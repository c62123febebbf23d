# shellcheck shell=bash disable=SC2154 # the variables of scripts/lib/run.sh
# For the checks of the recipes: says what was shown, in lines "ok - ..." and "not ok - ...", and keeps
# what a check starts in a directory of its own that goes, with all processes, when the check ends.
# Sourced by bash with `set -euo pipefail`. The environment names the servers: see examples/check.

here=$(cd "$(dirname "${BASH_SOURCE[1]}")" && pwd)
# shellcheck source=/dev/null
. "$here/../../scripts/lib/run.sh"
run_begin
checks_failed=0

# Passes where COMMAND succeeds.
check() { # WHAT COMMAND...
    local what=$1
    shift
    echo "# $*"
    if "$@"; then
        echo "ok - $what"
    else
        echo "not ok - $what"
        ((checks_failed += 1))
    fi
}

# Passes where COMMAND fails and says SQLSTATE. (psql says it under VERBOSITY=verbose.)
check_refused() { # WHAT SQLSTATE COMMAND...
    local what=$1 sqlstate=$2
    shift 2
    check "$what: $sqlstate" fails_with "$sqlstate" "$@"
}

fails_with() { # SQLSTATE COMMAND...
    local sqlstate=$1 said
    shift
    if said=$("$@" 2>&1); then
        echo "succeeded: $said"
        return 1
    fi
    echo "$said"
    [[ $said == *"$sqlstate"* ]]
}

exits_with() { # STATUS COMMAND...
    local expected=$1 status=0
    shift
    "$@" || status=$?
    echo "status $status"
    ((status == expected))
}

# One value, seen by the application.
sql() { psql -XAtq -v ON_ERROR_STOP=1 -v VERBOSITY=verbose "$@"; }
status_of() { sql -c "SELECT status FROM orders WHERE id = $1"; }
has_status() { [[ $(status_of "$1") == "$2" ]]; }

# Starts a command in which the word STALL stands before the part that is to stall, and waits until it
# does. What it says goes to DIR/log. Sets $stalled_dir and $stalled_pid, that of the command.
start_stalled() { # DIR COMMAND...
    stalled_dir=$1
    shift
    local word words=()
    mkdir -p "$stalled_dir"
    for word in "$@"; do
        if [[ $word == STALL ]]; then
            words+=("$here/../lib/stall" "$stalled_dir")
        else
            words+=("$word")
        fi
    done
    start_process - TERM "$stalled_dir/log" "${words[@]}"
    stalled_pid=$started_pid
    wait_for 120 test -e "$stalled_dir/environment" || die "it did not start: $(cat "$stalled_dir/log")"
}

# A variable of the stalled part's environment.
of_stalled() { sed -n "s/^$1=//p" "$stalled_dir/environment"; }

wake_stalled() { touch "$stalled_dir/go"; }

logged_by_stalled() { # TEXT
    wait_for 120 grep -F "$1" "$stalled_dir/log"
}

# Stops one process, as a machine that is suspended does; returns when the kernel says so. A check that breaks off lets it
# go on, so that it ends when it is told to.
frozen_pid=
run_hooks+=(thaw)

freeze() { # PID
    frozen_pid=$1
    kill -STOP "$1"
    wait_for 60 is_frozen "$1"
}

thaw() {
    [[ -z $frozen_pid ]] || kill -CONT "$frozen_pid" || true # where it was ended, there is nothing to wake
    frozen_pid=
}

is_frozen() { [[ $(of_process State "$1") == T* ]]; }

# Also where its parent has not been told yet.
is_over() { [[ $(of_process State "$1") == @(|Z*) ]]; }

of_process() { # FIELD PID; nothing where there is no such process
    sed -n "s/^$1:[[:space:]]*//p" "/proc/$2/status" 2>/dev/null || true
}

# The last command of a check.
conclude() { ((checks_failed == 0)); }
