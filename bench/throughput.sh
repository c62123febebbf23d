# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between these files
# one-row writes a second, and the server's CPU time for each, over the same writes unguarded (pgbench, paired runs)

require_for_throughput() { require 'have_pgbench|POSTGRESQL'; }

throughput_clients=(1 2 8 32)
throughput_rows=1000 # of each client, which nobody else writes: as with locks
throughput_rounds=${BENCH_ROUNDS:-7}
throughput_seconds=${BENCH_SECONDS:-2}
[[ -z $quick ]] || throughput_rounds=1

# Who is measured, with the same token in all writes, and with a new one in each. The second of the unguarded
# ones shows the machine's noise.
throughput_variants_same=(unguarded unguarded_again mark_row mark_resource hand_written for_update plpgsql_row plpgsql_resource)
throughput_variants_new=(unguarded unguarded_again mark_row mark_resource plpgsql_row plpgsql_resource)

bench_throughput() {
    start_postgres throughput fsync=on max_connections=60 shared_buffers=512MB max_wal_size=8GB autovacuum=off
    psql_quiet <bench/peers.sql
    local data=$results/throughput.tsv variant
    for variant in "${throughput_variants_same[@]}"; do
        psql_quiet -v table="orders_$variant" -v rows=$((32 * throughput_rows)) <bench/peer_table.sql
        attach_peer "$variant" "orders_$variant"
        psql_quiet -c "UPDATE orders_$variant SET fence_token = 1" -c "VACUUM orders_$variant"
    done
    printf 'tokens\tcommits\tclients\tround\tvariant\ttps\tcpu\n' >"$data"
    local tokens commits clients round
    for tokens in same new; do
        for commits in durable asynchronous; do
            for clients in "${throughput_clients[@]}"; do
                for ((round = 1; round <= throughput_rounds; round++)); do
                    throughput_round "$tokens" "$commits" "$clients" "$round" >>"$data"
                done
                echo "$tokens token, $commits, $clients clients: $(throughput_summary "$data" "$tokens" "$commits" "$clients")"
            done
        done
    done
    end_process "$postgres_pid"
    throughput_tables "$data" | report_section throughput
    throughput_plots "$data"
}

# Each variant once, in random order: what the machine does meanwhile hits all of them.
throughput_round() { # TOKENS COMMITS CLIENTS ROUND
    local variant tps
    local -n variants=throughput_variants_$1
    for variant in $(shuf -e "${variants[@]}"); do
        tps=$(throughput_of "$variant" "$1" "$2" "$3")
        printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" "$variant" "$tps" # tps is two fields
    done
}

throughput_of() { # VARIANT TOKENS COMMITS CLIENTS
    local script=$run_dir/write.sql sync=on log=$run_dir/pgbench.log
    [[ $3 == durable ]] || sync=off
    {
        echo "\\set id :client_id * $throughput_rows + random(1, $throughput_rows)"
        if [[ $2 == new ]]; then # higher than in any run before
            printf '%s\n' '\set token :start + :n' '\set n :n + 1'
        else
            echo '\set token 1'
        fi
        peer_transaction "$1" "orders_$1"
    } >"$script"
    local before
    before=$(cpu_ticks_of_sessions)
    PGOPTIONS="-c synchronous_commit=$sync" "$("$PG_CONFIG" --bindir)/pgbench" -n -M prepared -c "$4" -j 2 \
        -T "$throughput_seconds" -D n=1 -D start="$(($(date +%s%N) / 1000))" -f "$script" postgres >"$log" 2>&1 ||
        { cat "$log" >&2; die "pgbench failed"; }
    wait_for 30 sessions_have_ended
    awk -v ticks=$(($(cpu_ticks_of_sessions) - before)) -v per_second="$(getconf CLK_TCK)" '
        /^number of transactions actually processed/ { split($6, done, "/") }
        /^tps = / { tps = $3 }
        END { printf "%s\t%.2f\n", tps, ticks / per_second * 1e6 / done[1] }' "$log"
}

# Of those that have ended: a server's CPU time hardly depends on what else the machine does.
cpu_ticks_of_sessions() { awk '{ sub(/.*\) /, ""); print $14 + $15 }' "/proc/$postgres_pid/stat"; }
sessions_have_ended() { ! pgrep -P "$postgres_pid" -f 'postgres: postgres ' >/dev/null; }

# Ratios to the unguarded writes of the same round: variant, median, lowest, highest.
throughput_ratios() { # DATA TOKENS COMMITS CLIENTS [FIELD, 6 or 7]
    local variant
    local -n variants_of=throughput_variants_$2
    for variant in "${variants_of[@]:1}"; do
        printf '%s\t' "$variant"
        awk -F '\t' -v OFS='\t' -v t="$2" -v c="$3" -v n="$4" -v field="${5:-6}" '
            $1 == t && $2 == c && $3 == n { print $4, $5, $field }' "$1" | paired_ratios unguarded "$variant" | spread
    done
}

throughput_summary() { throughput_ratios "$@" | awk -F '\t' '{ printf "%s %.2f  ", $1, $2 }'; }

throughput_tables() { # DATA
    local tokens commits
    printf '%s\n' '' '## Throughput' '' \
        'One-row UPDATEs by pgbench, prepared, each client on rows of its own, as lock holders are; over those of the' \
        'unguarded ones in the same round. "Hand written" is `UPDATE ... AND fence_token <= $1`, which a statement can' \
        'forget; "for update" is SELECT FOR UPDATE, UPDATE and COMMIT, as of an application that checks by itself; the' \
        'PL/pgSQL guards are those of [bench/peers.sql](../../bench/peers.sql).'
    for tokens in same new; do
        for commits in durable asynchronous; do
            if [[ $tokens == same ]]; then printf '\nThe same token'; else printf '\nA new token in each write'; fi
            printf ', %s commits: transactions a second\n\n' "$commits"
            throughput_table "$1" "$tokens" "$commits" 6 "/s"
        done
        if [[ $tokens == same ]]; then printf '\nThe same token'; else printf '\nA new token in each write'; fi
        printf ': CPU time of the server for each transaction (asynchronous commits)\n\n'
        throughput_table "$1" "$tokens" asynchronous 7 " us"
    done
    echo
}

throughput_table() { # DATA TOKENS COMMITS FIELD UNIT
    local variant clients
    local -n listed=throughput_variants_$2
    {
        printf 'writes'
        printf '\t%s clients' "${throughput_clients[@]}"
        printf '\nunguarded'
        for clients in "${throughput_clients[@]}"; do
            awk -F '\t' -v t="$2" -v c="$3" -v n="$clients" -v field="$4" '
                $1 == t && $2 == c && $3 == n && $5 == "unguarded" { print $field }' "$1" | spread |
                awk -F '\t' -v unit="$5" '{ printf "\t%.0f%s", $1, unit }'
        done
        echo
        for variant in "${listed[@]:1}"; do
            printf '%s' "${variant//_/ }"
            for clients in "${throughput_clients[@]}"; do
                throughput_ratios "$1" "$2" "$3" "$clients" "$4" |
                    awk -F '\t' -v v="$variant" '$1 == v { printf "\t%.2f (%.2f-%.2f)", $2, $3, $4 }'
            done
            echo
        done
    } | sed 's/\t1 clients/\t1 client/' | markdown_table
}

throughput_plots() { # DATA
    local tokens variant file clients
    for tokens in same new; do
        local -n plotted=throughput_variants_$tokens
        for variant in "${plotted[@]:1}"; do
            for clients in "${throughput_clients[@]}"; do
                throughput_ratios "$1" "$tokens" durable "$clients" | awk -F '\t' -v v="$variant" -v n="$clients" '$1 == v { print n "\t" $2 "\t" $3 "\t" $4 }'
            done >"$run_dir/$tokens-$variant.plot"
        done
        {
            echo "set title 'One-row writes, $tokens token, durable commits: throughput over unguarded'"
            echo "set xlabel 'clients'; set ylabel 'ratio'; set logscale x 2; set xrange [0.8:40]; set yrange [0:1.3]; set key bottom left"
            printf 'plot 1 with lines dashtype 2 linecolor "gray" notitle'
            for variant in "${plotted[@]:1}"; do
                printf ", '%s' using 1:2:3:4 with yerrorlines title '%s'" "$run_dir/$tokens-$variant.plot" "${variant//_/ }"
            done
            echo
        } | plot "throughput_$tokens"
    done
}
