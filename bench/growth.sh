# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between these files
# fence_check among 1,000 to 10,000,000 resources, over that among 1,000

. bench/instructions.sh

require_for_growth() {
    require_for_instructions
    require 'have_pgbench|POSTGRESQL'
}

growth_sizes=(1000 10000 100000 1000000 10000000)
growth_rounds=${BENCH_ROUNDS:-7}
growth_seconds=${BENCH_SECONDS:-3}
[[ -z $quick ]] || growth_sizes=(1000 10000) growth_rounds=2

bench_growth() {
    {
        growth_instructions
        growth_times
    } >"$run_dir/growth.md"
    report_section growth <"$run_dir/growth.md"
    growth_plot
}

# Instructions of one check of a resource with the token that it has, met and not met by the session before.
growth_instructions() {
    local data=$results/growth_instructions.tsv size dir=$run_dir/instructions/growth check
    # Without images of whole pages, which come once a page after a checkpoint: more often the more pages there are.
    local single_user_options=(-c shared_buffers=4GB -c full_page_writes=off)
    build_module empty_trigger
    build_module callgrind_switch
    make_template_cluster
    printf 'resources\tnot met\tmet\n' >"$data"
    for size in "${growth_sizes[@]}"; do
        rm -rf "$dir"
        "${as_server_user[@]}" cp -a "$run_dir/instructions/template" "$dir"
        server_commands "$(growth_fill "$size")" "VACUUM fence_resource" | single_user "$dir" >"$dir.log" 2>&1
        # 7919 is prime to all sizes: the checks go through the names in an order of its own.
        check="SELECT count(fence_check('order:' || 1 + n::bigint * 7919 % $size, 1)) FROM generate_series(:from, :to) AS n"
        {
            # All of it in memory, and the module loaded.
            server_commands "CREATE EXTENSION pg_prewarm" "SELECT fence_token('order:1')" \
                "SELECT pg_prewarm('fence_resource'), pg_prewarm('fence_resource_pkey')"
            growth_counted "$check" "not met"
            growth_counted "$check" "met"
        } | single_user "$dir" valgrind --tool=callgrind --instr-atstart=no \
            --callgrind-out-file="$dir/callgrind.out" >>"$dir.log" 2>&1
        ! grep -E 'ERROR|FATAL|PANIC' "$dir.log" >&2 || die "the checks among $size resources failed"
        printf '%s\t%s\t%s\n' "$size" "$(growth_per_check "$dir" "not met")" "$(growth_per_check "$dir" met)" >>"$data"
    done
    rm -rf "$dir"
    echo
    echo "Instructions of a check of a resource with the token that it has, in a statement over many of them:"
    echo
    awk -F '\t' -v OFS='\t' '
        NR == 1 { print "resources", "not met before", "over 1000", "met before", "over 1000"; next }
        NR == 2 { one = $2; other = $3 }
        { printf "%s\t%d\t%.2f\t%d\t%.2f\n", $1, $2, $2 / one, $3, $3 / other }' "$data" | markdown_table
}

growth_fill() { # SIZE
    echo "INSERT INTO fence_resource (resource, mark, changed_at) SELECT 'order:' || n, 1, now() FROM generate_series(1, $1) AS n"
}

# A short range and a long one, as for the writes.
growth_counted() { # STATEMENT NAME
    server_commands "SELECT counting_begins()" "${1/:from, :to/1, 100}" "SELECT counting_ends('$2, short')" \
        "SELECT counting_begins()" "${1/:from, :to/101, 900}" "SELECT counting_ends('$2, long')"
}

growth_per_check() { # DIRECTORY NAME
    echo $((($(counted_in "$1" "$2, long") - $(counted_in "$1" "$2, short")) / 700))
}

# A database for each size, so that the rounds can go through all of them in turn. All of it fits into
# memory.
growth_times() {
    start_postgres growth max_connections=20 shared_buffers=4GB max_wal_size=20GB autovacuum=off checkpoint_timeout=1h \
        synchronous_commit=off
    local size database round data=$results/growth.tsv
    for size in "${growth_sizes[@]}"; do
        psql_quiet -c "CREATE DATABASE resources_$size"
        database=resources_$size psql_quiet -c "CREATE EXTENSION fencelock" -c "$(growth_fill "$size")" \
            -c "VACUUM ANALYZE fence_resource" -c CHECKPOINT
    done
    printf 'round\tresources\tmicroseconds\n' >"$data"
    for ((round = 1; round <= growth_rounds; round++)); do
        for size in $(shuf -e "${growth_sizes[@]}"); do
            printf '%s\t%s\t%s\n' "$round" "$size" "$(growth_transaction "$size")" >>"$data"
        done
    done
    end_process "$postgres_pid"
    echo
    echo "The time of a check of any of them as a transaction of its own, from a client:"
    echo
    {
        printf 'resources\tmicroseconds\tover 1000\n'
        for size in "${growth_sizes[@]}"; do
            printf '%s' "$size"
            awk -F '\t' -v s="$size" '$2 == s { print $3 }' "$data" | spread | awk -F '\t' '{ printf "\t%.0f", $1 }'
            paired_ratios "${growth_sizes[0]}" "$size" <"$data" | spread | awk -F '\t' '{ printf "\t%.2f (%.2f-%.2f)\n", $1, $2, $3 }'
        done
    } | markdown_table
    echo
}

# One check a transaction, of any resource, with the token that it has, in microseconds.
growth_transaction() { # SIZE
    printf '%s\n' "\\set id random(1, $1)" "SELECT fence_check('order:' || :id, 1);" >"$run_dir/check.sql"
    "$("$PG_CONFIG" --bindir)/pgbench" -n -M prepared -c 1 -T "$growth_seconds" -f "$run_dir/check.sql" "resources_$1" \
        >"$run_dir/pgbench.log" 2>&1 || { cat "$run_dir/pgbench.log" >&2; die "pgbench failed"; }
    sed -n 's/^tps = \([0-9.]*\).*/\1/p' "$run_dir/pgbench.log" | head -n 1 | awk '{ printf "%.2f\n", 1e6 / $1 }'
}

growth_plot() {
    {
        echo "set title 'Instructions of fence_check among so many resources'"
        echo "set xlabel 'resources'; set ylabel 'instructions'; set logscale x; set yrange [0:*]; set key bottom left"
        echo "plot '$results/growth_instructions.tsv' using 1:2 skip 1 with linespoints title 'not met before', \\"
        echo "  '' using 1:3 skip 1 with linespoints title 'met before'"
    } | plot growth
}
