# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between these files
# The programs that use locks: built on the client's library as installed, and the peers' packages. Sourced by the parts
# that need them.

require_for_drivers() {
    require "${build_requirements[@]}"
    wish 'have_python_module redis|python3-redis' 'have node|nodejs' 'have npm|npm' 'have_module redis++|libredis++-dev'
}

# Once a run, whichever parts ask for it.
build_drivers() {
    [[ -z ${drivers:-} ]] || return 0
    drivers=$build_dir/drivers
    build_step_client
    build_step "building the drivers" build_driver_programs
    install_node_packages
}

build_driver_programs() {
    cmake -S bench/drivers -B "$drivers" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DCMAKE_CXX_FLAGS="$warnings" -DCMAKE_PREFIX_PATH="$prefix"
    cmake --build "$drivers" -j "$jobs"
}

# Into the run's own directory, where npm's registry can be reached.
install_node_packages() {
    export NODE_PATH=$run_dir/node/node_modules
    mkdir -p "$run_dir/node"
    have npm && (cd "$run_dir/node" && npm install --no-audit --no-fund ioredis redlock redis-semaphore) \
        >"$run_dir/npm.log" 2>&1 || echo "left out, for npm can't install them: redlock, redis-semaphore"
}
have_node_package() { have node && [[ -d $NODE_PATH/$1 ]]; }

# Who can be measured here, of fencelock's peers; says who is left out.
find_lock_peers() {
    lock_peers=()
    if have_module redis++; then
        lock_peers+=(redis_plus_plus)
    else
        echo "left out, for there is no package libredis++-dev: redis-plus-plus"
    fi
    if have_python_module redis; then
        lock_peers+=(redis_py)
    else
        echo "left out, for there is no package python3-redis: redis-py"
    fi
    ! have_node_package redlock || lock_peers+=(redlock)
    ! have_node_package redis-semaphore || lock_peers+=(redis_semaphore)
}

# Servers on one half of the processors, drivers on the other, as on two machines: else it is the scheduler's mood
# whether the two ends of a connection share a processor, which is worth a factor of four. BENCH_REALTIME=1 puts both
# before whatever else the machine does.
servers_place=0-$(((($(nproc) + 1) / 2) - 1))
drivers_place=$(($(nproc) / 2))-$(($(nproc) - 1))
keep_in_place() { # PID
    taskset -apc "$servers_place" "$1" >/dev/null
    [[ -z ${BENCH_REALTIME:-} ]] || chrt -a -r -p 1 "$1"
}
in_place() { # COMMAND...
    if [[ -n ${BENCH_REALTIME:-} ]]; then
        chrt -r 1 taskset -c "$drivers_place" "$@"
    else
        taskset -c "$drivers_place" "$@"
    fi
}

# Prints the driver's line: steps, seconds, median and 99th percentile in microseconds.
run_locks() { # rate|handoff VARIANT COUNT AMOUNT
    case $2 in
    redis_py) in_place /usr/bin/python3 bench/drivers/redis_py_locks.py "$1" "$REDIS_PORT" "$3" "$4" ;;
    redlock | redis_semaphore) in_place node bench/drivers/node_locks.js "$1" "$2" "$REDIS_PORT" "$3" "$4" ;;
    *) in_place "$drivers/locks" "$1" "${2%_again}" "$REDIS_PORT" "$3" "$4" ;;
    esac || die "the driver of $2 failed"
}

# PostgreSQL, which flushes its commits, and Redis. The drivers' connections are libpq's defaults.
start_both() { # NAME SETTING...
    local name=$1
    shift
    start_postgres "$name" fsync=on max_connections=100 shared_buffers=256MB "$@"
    export PGDATABASE=postgres
    psql_quiet -c "CREATE EXTENSION IF NOT EXISTS fencelock"
    unset REDIS_PORT
    start_redis "$name-redis"
    keep_in_place "$postgres_pid"
    keep_in_place "$redis_pid"
}

end_both() {
    end_process "$redis_pid"
    end_process "$postgres_pid"
}
