# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between these files
# The two workers of the story: processes that are told what to do, and really stopped. Sourced.

declare -A holder_pid=() holder_in=() holder_out=()
order=1001

start_holder() { # NAME
    local name=$1 dir=$run_dir/holder-$1 to from
    mkdir -p "$dir"
    rm -f "$dir/in" "$dir/out"
    mkfifo "$dir/in" "$dir/out"
    # Opened for both directions, so that neither side waits for the other to open.
    exec {to}<>"$dir/in" {from}<>"$dir/out"
    setpriv --pdeathsig KILL "$HOLDER" "$name" "redis://127.0.0.1:$REDIS_PORT" \
        "host=$PGHOST port=$PGPORT user=$PGUSER dbname=shop" "$order" \
        <"$dir/in" >"$dir/out" 2>"$dir/errors" {to}>&- {from}>&- &
    holder_pid[$name]=$!
    end_signal_of[$!]=KILL
    holder_in[$name]=$to
    holder_out[$name]=$from
}

# Sends a command and sets $answer.
tell() { # NAME COMMAND
    local name=$1 tries piece
    shift
    echo "$*" >&"${holder_in[$name]}"
    answer=
    for ((tries = 0; tries < 90; tries++)); do
        if read -r -t 1 -u "${holder_out[$name]}" piece; then
            answer+=$piece
            return
        fi
        answer+=$piece # a time-out in the middle of a line has taken its beginning
        kill -0 "${holder_pid[$name]}" 2>/dev/null || break
    done
    die "worker $name did not answer \"$*\": $(cat "$run_dir/holder-$name/errors")"
}

# Tells, and ends the story where the answer is not what it must be at this point.
tell_expecting() { # NAME PATTERN COMMAND
    local name=$1 pattern=$2
    shift 2
    tell "$name" "$@"
    # shellcheck disable=SC2053 # a pattern
    [[ $answer == $pattern ]] || die "worker $name was told \"$*\" and answered \"$answer\""
}

# Acquires and sets $token, and $issuer: redis or database.
acquire() { # NAME TTL_MS WAIT_MS
    tell_expecting "$1" 'granted *' "acquire $2 $3"
    read -r _ token issuer <<<"$answer"
}

# SIGSTOP, and waits until the kernel says that it stopped.
stop_holder() { # NAME
    kill -STOP "${holder_pid[$1]}"
    wait_for 30 is_stopped "${holder_pid[$1]}" || die "worker $1 was not stopped"
}

continue_holder() { kill -CONT "${holder_pid[$1]}"; }

is_stopped() { # PID
    local stat
    stat=$(<"/proc/$1/stat")
    [[ ${stat##*) } == T* ]]
}
