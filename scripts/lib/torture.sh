# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between these files
# Builds and runs tests/torture. Sourced after build.sh, packages.sh and servers.sh.

torture_requirements=(
    'have_python_module redis|python3-redis'
    'have_python_module psycopg2|python3-psycopg2'
)

# The workers, a consumer of the installed client like any other.
build_torture() {
    cmake -S "$tree/tests/torture" -B "$build_dir/torture" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DCMAKE_CXX_FLAGS="$warnings" -DCMAKE_PREFIX_PATH="$prefix" &&
        cmake --build "$build_dir/torture" -j "$jobs"
}

# Keeps what is needed to judge a failed run once more, and says where.
torture() { # OPTION...
    local status=0 kept
    mkdir -p "$run_dir/torture"
    # Its own servers' directories have to be short enough for a unix socket's path.
    setpriv --pdeathsig TERM "$tree/tests/torture/torture" --directory "$run_dir/torture" \
        --bindir "$("$PG_CONFIG" --bindir)" --worker "$build_dir/torture/torture_worker" "$@" || status=$?
    if ((status != 0)); then
        kept=$build_dir/evidence/$(date +%Y%m%d-%H%M%S)
        mkdir -p "$kept"
        (cd "$run_dir/torture" && find . \( -name '*.jsonl' -o -name '*.json' -o -name log -o -name workers.log \) \
            -not -path '*/data/*' -print0 | tar -cf - --null -T -) | tar -xf - -C "$kept"
        echo "the evidence is in $kept: scripts/torture --judge DIRECTORY judges it again"
    fi
    return "$status"
}
