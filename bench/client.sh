# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between these files
# acquire and release: pairs a second and their time, over bare hiredis, and other clients beside it

. bench/drivers.sh

require_for_client() { require_for_drivers; }

client_connections=(1 8 50 64)
client_rounds=${BENCH_ROUNDS:-7}
client_seconds=${BENCH_SECONDS:-1}
[[ -z $quick ]] || client_connections=(1 8) client_rounds=2 client_seconds=0.2

bench_client() {
    build_drivers
    find_lock_peers
    client_variants=(bare bare_again fencelock "${lock_peers[@]}")
    start_both client
    local data=$results/client.tsv connections round variant figures
    printf 'connections\tround\tvariant\tpairs\tseconds\tmedian\tp99\n' >"$data"
    for connections in "${client_connections[@]}"; do
        for ((round = 1; round <= client_rounds; round++)); do
            for variant in $(shuf -e "${client_variants[@]}"); do
                figures=$(run_locks rate "$variant" "$connections" "$client_seconds")
                printf '%s\t%s\t%s\t%s\n' "$connections" "$round" "$variant" "$figures" >>"$data"
                redis FLUSHALL >/dev/null # names are shared by some, types are not
            done
        done
    done
    end_both
    client_tables "$data" | report_section client
    client_plot "$data"
}

client_tables() { # DATA
    local field
    printf '\nPairs of acquire and release a second, over those of bare hiredis in the same round\n\n'
    client_table "$1" rate
    for field in median p99; do
        printf '\n%s of a pair in microseconds\n\n' "${field/#median/The median time}" | sed 's/^p99/The 99th percentile of the time/'
        client_table "$1" "$field"
    done
    echo
}

# Lines of round, variant, figure.
client_figures() { # DATA CONNECTIONS rate|median|p99
    awk -F '\t' -v OFS='\t' -v c="$2" -v f="$3" '
        $1 == c { print $2, $3, f == "rate" ? $4 / $5 : f == "median" ? $6 : $7 }' "$1"
}

client_table() { # DATA rate|median|p99
    local variant connections
    {
        printf 'client'
        printf '\t%s connections' "${client_connections[@]}"
        echo
        for variant in "${client_variants[@]}"; do
            printf '%s' "${variant//_/ }"
            for connections in "${client_connections[@]}"; do
                client_cell "$1" "$2" "$variant" "$connections"
            done
            echo
        done
    } | sed 's/\t1 connections/\t1 connection/' | markdown_table
}

client_cell() { # DATA rate|median|p99 VARIANT CONNECTIONS
    if [[ $2 == rate && $3 != bare ]]; then
        client_figures "$1" "$4" rate | paired_ratios bare "$3" | spread | awk -F '\t' '{ printf "\t%.2f (%.2f-%.2f)", $1, $2, $3 }'
    else
        client_figures "$1" "$4" "$2" | awk -F '\t' -v v="$3" '$2 == v { print $3 }' | spread |
            awk -F '\t' -v unit="$([[ $2 != rate ]] || echo /s)" '{ printf "\t%.0f%s", $1, unit }'
    fi
}

client_plot() { # DATA
    local variant connections
    for variant in "${client_variants[@]:1}"; do
        for connections in "${client_connections[@]}"; do
            client_figures "$1" "$connections" rate | paired_ratios bare "$variant" | spread | sed "s/^/$connections\t/"
        done >"$run_dir/client-$variant.plot"
    done
    {
        echo "set title 'Pairs of acquire and release a second over bare hiredis'"
        echo "set xlabel 'connections'; set ylabel 'ratio'; set logscale x 2; set xrange [0.8:80]; set yrange [0:1.3]; set key outside"
        printf 'plot 1 with lines dashtype 2 linecolor "gray" notitle'
        for variant in "${client_variants[@]:1}"; do
            printf ", '%s' using 1:2:3:4 with yerrorlines title '%s'" "$run_dir/client-$variant.plot" "${variant//_/ }"
        done
        echo
    } | plot client
}
