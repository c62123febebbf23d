# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between these files
# the CPU time that it takes to keep 10,000 leases

. bench/drivers.sh

require_for_renewal() { require_for_drivers; }

renewal_leases=10000
renewal_ttl=30
renewal_seconds=40
renewal_rounds=${BENCH_ROUNDS:-3}
[[ -z $quick ]] || renewal_leases=200 renewal_ttl=3 renewal_seconds=3 renewal_rounds=1

bench_renewal() {
    build_drivers
    start_both renewal fsync=off
    local data=$results/renewal.tsv round
    printf 'round\tclient\tredis\trenewals\tlost\n' >"$data"
    for ((round = 1; round <= renewal_rounds; round++)); do
        printf '%s\t%s\n' "$round" \
            "$(in_place "$drivers/renewals" "$REDIS_PORT" "$renewal_leases" "$renewal_ttl" "$renewal_seconds")" >>"$data"
        redis FLUSHALL >/dev/null
    done
    end_both
    renewal_table "$data" | report_section renewal
}

renewal_table() { # DATA
    echo
    echo "$renewal_leases leases with a TTL of $renewal_ttl s, over $renewal_seconds s; CPU time in percent of one core:"
    echo
    {
        printf 'rounds\tclient\tRedis\trenewals a second\tlost\n%s' "$renewal_rounds"
        renewal_cell "$1" 2 '%.1f %% (%.1f-%.1f)'
        renewal_cell "$1" 3 '%.1f %% (%.1f-%.1f)'
        awk -F '\t' -v s="$renewal_seconds" 'NR > 1 { print $4 / s }' "$1" | spread | awk -F '\t' '{ printf "\t%.0f", $1 }'
        awk -F '\t' 'NR > 1 { lost += $5 } END { printf "\t%d\n", lost }' "$1"
    } | markdown_table
    echo
}

renewal_cell() { # DATA FIELD FORMAT
    awk -F '\t' -v f="$2" 'NR > 1 { print $f }' "$1" | spread | awk -F '\t' -v format="\t$3" '{ printf format, $1, $2, $3 }'
}
