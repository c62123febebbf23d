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

conclude() { ((checks_failed == 0)); }
