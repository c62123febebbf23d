# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between these files
# from a release to the next holder, with 8 and 64 waiters, over the polling of other clients

. bench/drivers.sh

require_for_handoff() { require_for_drivers; }

handoff_waiters=(8 64)
handoff_rounds=${BENCH_ROUNDS:-5}
handoff_count=100
[[ -z $quick ]] || handoff_waiters=(4) handoff_rounds=1 handoff_count=20

bench_handoff() {
    build_drivers
    find_lock_peers
    local data=$results/handoff.tsv waiters round variant figures variants=(fencelock)
    for variant in "${lock_peers[@]}"; do # redis-plus-plus does not wait
        [[ $variant == redis_plus_plus ]] || variants+=("$variant")
    done
    start_both handoff
    printf 'waiters\tround\tvariant\thandoffs\tseconds\tmedian\tp99\n' >"$data"
    for waiters in "${handoff_waiters[@]}"; do
        for ((round = 1; round <= handoff_rounds; round++)); do
            for variant in $(shuf -e "${variants[@]}"); do
                figures=$(run_locks handoff "$variant" "$waiters" "$handoff_count")
                printf '%s\t%s\t%s\t%s\n' "$waiters" "$round" "$variant" "$figures" >>"$data"
                redis FLUSHALL >/dev/null
            done
        done
    done
    end_both
    handoff_table "$data" | report_section handoff
}

handoff_table() { # DATA
    local variant waiters
    printf '\nMilliseconds from the beginning of a release to the return of the next acquire: median, 99th percentile\n\n'
    {
        printf 'client'
        for waiters in "${handoff_waiters[@]}"; do
            printf '\t%s waiters: median\tp99' "$waiters"
        done
        echo
        for variant in "${variants[@]}"; do
            printf '%s' "${variant//_/ }"
            for waiters in "${handoff_waiters[@]}"; do
                handoff_cell "$1" "$variant" "$waiters" 6
                handoff_cell "$1" "$variant" "$waiters" 7
            done
            echo
        done
    } | markdown_table
    echo
}

handoff_cell() { # DATA VARIANT WAITERS FIELD
    awk -F '\t' -v v="$2" -v w="$3" -v f="$4" '$1 == w && $3 == v { print $f / 1000 }' "$1" | spread |
        awk -F '\t' '{ printf "\t%.2f (%.2f-%.2f)", $1, $2, $3 }'
}
