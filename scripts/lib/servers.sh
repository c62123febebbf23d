# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between these files
# Private PostgreSQL and Redis servers, and a private copy of the PostgreSQL installation to install
# the extension into: nothing of the machine's own is touched, and several runs can't meet.
# Sourced after run.sh.

# PG_CONFIG, else the newest server that is installed, with or without its development files.
find_pg_config() {
    local candidate
    if [[ -n ${PG_CONFIG:-} ]]; then
        [[ -x $("$PG_CONFIG" --bindir)/postgres ]] && echo "$PG_CONFIG"
        return
    fi
    while read -r candidate; do
        if [[ -x ${candidate%pg_config}postgres ]]; then
            echo "$candidate"
            return
        fi
    done < <(printf '%s\n' /usr/lib/postgresql/*/bin/pg_config | sort -t/ -k5,5nr; command -v pg_config)
    return 1
}

# Copies an installation to $run_dir and points PG_CONFIG to it. PostgreSQL finds its files
# relative to its (real) programs: those are copied, the libraries and shared files are links.
make_private_installation() {
    local original from to copy=$run_dir/installation
    original=$(find_pg_config) || die "no PostgreSQL server found"
    for from in $("$original" --pkglibdir) $("$original" --sharedir); do
        to=$copy$from
        mkdir -p "$(dirname "$to")"
        cp -as "$from" "$to"
        rm -f "$to"/fencelock* "$to"/extension/fencelock*
    done
    for from in $("$original" --includedir) $("$original" --includedir-server) $("$original" --libdir); do
        to=$copy$from
        if [[ ! -e $to ]]; then
            mkdir -p "$(dirname "$to")"
            ln -s "$from" "$to"
        fi
    done
    from=$("$original" --bindir)
    mkdir -p "$copy$from"
    cp -L "$from"/* "$copy$from/"
    export PG_CONFIG=$copy$from/pg_config
    [[ $("$PG_CONFIG" --sharedir) == "$copy"/* ]] || wrap_pg_config "$original" "$copy"
}

# Some builds of pg_config (Debian's before 12) tell the paths that they were built for, wherever they are.
# The server itself looks relative to where it is.
wrap_pg_config() { # ORIGINAL COPY
    local wrapper
    printf -v wrapper '#!/bin/bash\nsaid=$(%q "$@") || exit\ncopy=%q\n' "$1" "$2"
    rm "$PG_CONFIG"
    # shellcheck disable=SC2016 # expanded by the wrapper
    echo "$wrapper"'[[ $said == /* && -e $copy$said ]] && echo "$copy$said" || echo "$said"' >"$PG_CONFIG"
    chmod 755 "$PG_CONFIG"
}

# What a command begins with that has to run as the user of PostgreSQL's servers, which refuse root.
as_server_user=(env)
[[ $EUID -ne 0 ]] || as_server_user=(setpriv --reuid=postgres --regid=postgres --init-groups)

# Starts a new cluster and exports PGHOST (its socket's directory), PGPORT and PGUSER. Settings are
# given as name=value.
start_postgres() { # NAME SETTING...
    local dir=$run_dir/$1 setting attempt bin
    bin=$("$PG_CONFIG" --bindir)
    shift
    mkdir -p "$dir"
    [[ $EUID -ne 0 ]] || chown postgres "$dir"
    start_process postgres KILL "$dir/log" "$bin/initdb" -D "$dir/data" -U postgres -A trust \
        --no-locale -E UTF8 --no-sync
    wait "$started_pid" || { cat "$dir/log" >&2; die "initdb failed"; }
    local arguments=(-c "unix_socket_directories=$dir" -c listen_addresses=127.0.0.1 -c fsync=off)
    for setting in "$@"; do
        arguments+=(-c "$setting")
    done
    forget_postgres
    export PGHOST=$dir PGUSER=postgres
    for ((attempt = 1; attempt <= 20; attempt++)); do
        PGPORT=$(random_port)
        export PGPORT
        start_process postgres QUIT "$dir/log" "$bin/postgres" -D "$dir/data" -p "$PGPORT" \
            "${arguments[@]}"
        postgres_pid=$started_pid
        if wait_for 120 postgres_answers_or_ended "$bin" && kill -0 "$postgres_pid" 2>/dev/null; then
            return
        fi
        grep -q 'already in use' "$dir/log" || break
    done
    tail -n 30 "$dir/log" >&2
    die "postgres did not start"
}

postgres_answers_or_ended() { # BINDIR
    "$1/pg_isready" -q || ! kill -0 "$postgres_pid" 2>/dev/null
}

redis_program() { echo "${FENCELOCK_REDIS_SERVER:-$(command -v redis-server || command -v valkey-server)}"; }

# Starts an empty Redis or Valkey on REDIS_PORT (a new one where that is not set) of 127.0.0.1 and
# on the socket $redis_socket; sets redis_pid. FENCELOCK_REDIS_SERVER chooses the program, as for the tests.
start_redis() { # NAME
    local dir=$run_dir/$1 attempt server
    server=$(redis_program)
    redis_cli=$(command -v redis-cli || command -v valkey-cli)
    redis_socket=$dir/socket
    mkdir -p "$dir"
    for ((attempt = 1; attempt <= 20; attempt++)); do
        rm -f "$redis_socket" "$dir"/*.rdb
        local port=${REDIS_PORT:-$(random_port)}
        start_process - KILL "$dir/log" "$server" --port "$port" --bind 127.0.0.1 --dir "$dir" \
            --unixsocket "$redis_socket" --save '' --appendonly no
        redis_pid=$started_pid
        if wait_for 60 redis_answers_or_ended && kill -0 "$redis_pid" 2>/dev/null; then
            REDIS_PORT=$port
            return
        fi
        grep -q 'already in use' "$dir/log" || break
    done
    tail -n 30 "$dir/log" >&2
    die "redis did not start"
}

redis_answers_or_ended() {
    [[ $(redis PING 2>/dev/null) == PONG ]] || ! kill -0 "$redis_pid" 2>/dev/null
}

# Through the private socket: on the port somebody else might answer.
redis() { "$redis_cli" -s "$redis_socket" "$@"; }

# libpq's variables, all of them: PGHOSTADDR alone would lead past PGHOST. (PG_CONFIG is none of them.)
forget_postgres() {
    local name
    for name in "${!PG@}"; do
        [[ $name == PG_* ]] || unset "$name"
    done
}

# Nothing of the caller's leads to another server than those that are started here.
forget_postgres
unset REDIS_PORT FENCELOCK_REDIS FENCELOCK_DB FENCELOCK_KEYS
