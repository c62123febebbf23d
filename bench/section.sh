# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between these files
# a whole section (acquire, write in a transaction, release) fenced, over the same one unfenced; its round trips

. bench/drivers.sh

require_for_section() { require_for_drivers; }

section_clients=(1 8)
section_rounds=${BENCH_ROUNDS:-7}
section_seconds=${BENCH_SECONDS:-2}
[[ -z $quick ]] || section_rounds=1 section_seconds=0.3
section_variants=(unfenced unfenced_again hand_written fenced fenced_without_reset)

bench_section() {
    build_drivers
    start_both sections autovacuum=off
    local data=$results/section.tsv table commits clients round variant
    for table in unfenced hand_written fenced; do
        psql_quiet -v table="orders_$table" -v rows=100 <bench/peer_table.sql
    done
    psql_quiet -c "UPDATE orders_hand_written SET fence_token = 0" -c "SELECT fence_attach('orders_fenced', 'order:{id}')" >/dev/null
    printf 'commits\tclients\tround\tvariant\tsections\tseconds\tmedian\tp99\n' >"$data"
    for commits in durable asynchronous; do
        for clients in "${section_clients[@]}"; do
            for ((round = 1; round <= section_rounds; round++)); do
                for variant in $(shuf -e "${section_variants[@]}"); do
                    printf '%s\t%s\t%s\t%s\t%s\n' "$commits" "$clients" "$round" "$variant" \
                        "$(run_sections "$variant" "$commits" "$clients" "$section_seconds")" >>"$data"
                done
            done
        done
    done
    {
        section_table "$data"
        section_round_trips
    } >"$run_dir/section.md"
    end_both
    report_section section <"$run_dir/section.md"
}

run_sections() { # VARIANT COMMITS CLIENTS SECONDS [OPTION...]
    local sync=on
    [[ $2 == durable ]] || sync=off
    PGOPTIONS="-c synchronous_commit=$sync ${*:5}" in_place "$drivers/sections" "${1%_again}" "$REDIS_PORT" "$3" "$4" ||
        die "the driver of $1 failed"
}

section_table() { # DATA
    local commits clients variant
    for commits in durable asynchronous; do
        printf '\nSections a second with %s commits, over those that are not fenced, in the same round\n\n' "$commits"
        {
            printf 'section'
            printf '\t%s clients' "${section_clients[@]}"
            echo
            for variant in "${section_variants[@]}"; do
                printf '%s' "${variant//_/ }"
                for clients in "${section_clients[@]}"; do
                    section_cell "$1" "$commits" "$clients" "$variant"
                done
                echo
            done
        } | sed 's/\t1 clients/\t1 client/' | markdown_table
    done
}

section_cell() { # DATA COMMITS CLIENTS VARIANT
    local figures=$run_dir/figures
    awk -F '\t' -v OFS='\t' -v m="$2" -v c="$3" '$1 == m && $2 == c { print $3, $4, $5 / $6 }' "$1" >"$figures"
    if [[ $4 == unfenced ]]; then
        awk -F '\t' '$2 == "unfenced" { print $3 }' "$figures" | spread | awk -F '\t' '{ printf "\t%.0f/s", $1 }'
    else
        paired_ratios unfenced "$4" <"$figures" | spread | awk -F '\t' '{ printf "\t%.2f (%.2f-%.2f)", $1, $2, $3 }'
    fi
}

# As the servers count them: each message of a client that PostgreSQL logs, and each script that Redis is asked to run.
section_round_trips() {
    local variant sections statements scripts
    printf '\nRound trips for each section\n\n'
    for variant in unfenced hand_written fenced fenced_without_reset; do
        redis CONFIG RESETSTAT >/dev/null
        : >"$run_dir/sections/log"
        sections=$(run_sections "$variant" asynchronous 1 "$section_seconds" -c log_statement=all | cut -f 1)
        statements=$(grep -cE ' LOG:  (statement|execute )' "$run_dir/sections/log")
        scripts=$(redis INFO commandstats | tr -d '\r' | awk -F '[=,]' '/^cmdstat_eval/ { n += $2 } END { print n }')
        printf '%s\t%.2f\t%.2f\n' "${variant//_/ }" "$(per "$statements" "$sections")" "$(per "$scripts" "$sections")"
    done | sed '1i section\tPostgreSQL\tRedis' | markdown_table
    echo
}

# The section that warms up is one of them.
per() { awk -v n="$1" -v sections="$2" 'BEGIN { print n / (sections + 1) }'; } # COUNT SECTIONS
