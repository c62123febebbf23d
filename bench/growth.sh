# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between these files
# fence_check among 1,000 to 10,000,000 resources, over that among 1,000

require_for_growth() { require 'have_pgbench|POSTGRESQL'; }
have_pgbench() { [[ -x $("$(find_pg_config)" --bindir)/pgbench ]]; }

growth_sizes=(1000 10000 100000 1000000 10000000)
growth_rounds=${BENCH_ROUNDS:-7}
growth_seconds=${BENCH_SECONDS:-3}
[[ -z $quick ]] || growth_sizes=(1000 10000) growth_rounds=2

# A database for each size, so that the rounds can go through all of them in turn. All of it fits into
# memory.
bench_growth() {
    start_postgres growth max_connections=20 shared_buffers=4GB max_wal_size=20GB autovacuum=off checkpoint_timeout=1h \
        synchronous_commit=off
    local size database round data=$results/growth.tsv
    for size in "${growth_sizes[@]}"; do
        psql_quiet -c "CREATE DATABASE resources_$size"
        database=resources_$size psql_quiet -c "CREATE EXTENSION fencelock" -c "
            INSERT INTO fence_resource (resource, mark, changed_at) SELECT 'order:' || n, 1, now() FROM generate_series(1, $size) AS n" \
            -c "VACUUM ANALYZE fence_resource" -c CHECKPOINT
    done
    printf 'check\tround\tresources\tmicroseconds\n' >"$data"
    for ((round = 1; round <= growth_rounds; round++)); do
        for size in $(shuf -e "${growth_sizes[@]}"); do
            printf '%s\t%s\t%s\t%s\n' transaction "$round" "$size" "$(growth_transaction "$size")" \
                statement "$round" "$size" "$(growth_statement "$size" "$round")" >>"$data"
        done
    done
    end_process "$postgres_pid"
    growth_tables "$data" | report_section growth
    growth_plot "$data"
}

# One check a transaction, of any resource, with the token that it has: the latency that a client sees.
growth_transaction() { # SIZE
    printf '%s\n' "\\set id random(1, $1)" "SELECT fence_check('order:' || :id, 1);" >"$run_dir/check.sql"
    "$("$PG_CONFIG" --bindir)/pgbench" -n -M prepared -c 1 -T "$growth_seconds" -f "$run_dir/check.sql" "resources_$1" \
        >"$run_dir/pgbench.log" 2>&1 || { cat "$run_dir/pgbench.log" >&2; die "pgbench failed"; }
    sed -n 's/^tps = \([0-9.]*\).*/\1/p' "$run_dir/pgbench.log" | head -n 1 | awk '{ printf "%.2f\n", 1e6 / $1 }'
}

# A thousand checks in one statement, of resources that the session has not met: the time of each inside the
# server. The order of the names is not that of the table.
growth_statement() { # SIZE ROUND
    database=resources_$1 psql_quiet <<SQL | sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p' | tail -n 1
SELECT setseed($2 / 100.0) \\gset
SELECT count(fence_check('order:' || n, 1)) FROM generate_series(1, 100) AS n \\gset
CREATE TEMPORARY TABLE picked AS SELECT DISTINCT 'order:' || (101 + random() * ($1 - 102))::int AS name FROM generate_series(1, 1200);
ANALYZE picked;
\\timing on
\\o /dev/null
SELECT count(fence_check(name, 1)) FROM (SELECT name FROM picked ORDER BY md5(name) LIMIT 600) AS names;
SQL
}

growth_tables() { # DATA
    local check
    echo
    {
        printf 'resources'
        printf '\t%s' "check as a transaction of its own" "over 1000" "600 checks in a statement" "over 1000"
        echo
        local size
        for size in "${growth_sizes[@]}"; do
            printf '%s' "$size"
            for check in transaction statement; do
                awk -F '\t' -v c="$check" -v s="$size" '$1 == c && $3 == s { print $4 }' "$1" | spread |
                    awk -F '\t' -v unit="$([[ $check == transaction ]] && echo us || echo ms)" '{ printf "\t%.1f %s", $1, unit }'
                growth_ratio "$1" "$check" "$size" | awk -F '\t' '{ printf "\t%.2f (%.2f-%.2f)", $1, $2, $3 }'
            done
            echo
        done
    } | markdown_table
    echo
}

growth_ratio() { # DATA CHECK SIZE
    awk -F '\t' -v c="$2" -v s="$3" -v first="${growth_sizes[0]}" '
        $1 == c && $3 == first { base[$2] = $4 }
        $1 == c && $3 == s { own[$2] = $4 }
        END { for (round in own) print own[round] / base[round] }' "$1" | spread
}

growth_plot() { # DATA
    local check size
    for check in transaction statement; do
        for size in "${growth_sizes[@]}"; do
            printf '%s\t' "$size"
            growth_ratio "$1" "$check" "$size"
        done >"$run_dir/growth-$check"
    done
    {
        echo "set title 'fence_check among so many resources, over that among ${growth_sizes[0]}'"
        echo "set xlabel 'resources'; set ylabel 'ratio'; set logscale x; set yrange [0:2]; set key bottom left"
        echo "plot 1 with lines dashtype 2 linecolor 'gray' notitle, '$run_dir/growth-transaction' using 1:2:3:4 with yerrorlines title 'a transaction of its own', \\"
        echo "  '$run_dir/growth-statement' using 1:2:3:4 with yerrorlines title 'in a statement, not met before'"
    } | plot growth
}
