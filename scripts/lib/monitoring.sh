# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between these files
# Checks the files of monitoring/ on a private PostgreSQL and the real programs. Sourced after servers.sh, packages.sh,
# suites.sh, build.sh, checks.sh and examples.sh; needs the extension and the client installed ($PG_CONFIG, $prefix).

monitoring_requirements=('have_python_module yaml|python3-yaml')
monitoring_packages=(prometheus prometheus-postgres-exporter)
monitoring_programs=$build_dir/unpacked/monitoring

# These packages start servers once they are installed, and at each start of the machine: they are only unpacked.
run_monitoring() {
    if ! have_monitoring_programs; then
        skip_suite "monitoring" "not to be had here: ${monitoring_packages[*]}"
    elif ! have_python_module yaml; then
        skip_suite "monitoring" "not to be had here: python3-yaml"
    else
        counted_suite "monitoring" '^ok ' '^not ok ' '' check_monitoring
    fi
}

have_monitoring_programs() {
    [[ -d $monitoring_programs ]] || unpack_monitoring_programs >>"$run_dir/apt.log" 2>&1
}

unpack_monitoring_programs() {
    have apt-get || return 1
    download_monitoring_programs || {
        update_package_lists # they may be old
        download_monitoring_programs
    }
}

# From Debian 13 on promtool is a package of its own.
download_monitoring_programs() {
    local promtool=()
    ! package_exists promtool || promtool=(promtool)
    unpack_packages "$monitoring_programs" "${monitoring_packages[@]}" "${promtool[@]+"${promtool[@]}"}"
}

# (In a process of its own, with which its servers end.)
check_monitoring() {
    PATH=$monitoring_programs/usr/bin:$("$PG_CONFIG" --bindir):$PATH
    export PYTHONDONTWRITEBYTECODE=1
    start_postgres monitoring shared_preload_libraries=fencelock max_prepared_transactions=4
    REDIS_PORT=
    start_redis monitoring-redis
    make_watched_databases
    run_in_recipe_environment env PGDATABASE=shop METRICS_FILE="$run_dir/fencelock.prom" \
        "$tree/examples/metrics/check"
    mkdir -p "$run_dir/watch"
    bounded 300 "$tree/tests/monitoring/check" "$run_dir/watch" "$run_dir/fencelock.prom"
    end_process "$redis_pid"
    end_process "$postgres_pid"
}

# One as most will have it, one in a schema of its own. The role's script may be run again.
make_watched_databases() {
    local database
    admin -d postgres -c "CREATE ROLE shop LOGIN" -c "CREATE DATABASE shop" -c "CREATE DATABASE other"
    admin -d shop -f "$tree/examples/lib/shop.sql"
    admin -d other -c 'CREATE SCHEMA "Fence it"' -c 'CREATE EXTENSION fencelock SCHEMA "Fence it"'
    for database in shop other shop; do
        admin -d "$database" -f "$tree/monitoring/exporter_role.sql"
    done
}

admin() { psql -Xq -v ON_ERROR_STOP=1 "$@"; }
