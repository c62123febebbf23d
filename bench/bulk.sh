# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between these files
# one statement over a million rows: of one resource, and of a million resources (time, memory, locks)

require_for_bulk() { :; } # no more than a server

bulk_rows=1000000
bulk_rounds=${BENCH_ROUNDS:-3}
bulk_sizes=(1000 10000 100000 1000000)
if [[ -n $quick ]]; then
    bulk_rows=20000 bulk_rounds=2 bulk_sizes=(1000 10000)
fi
bulk_variants=(unguarded unguarded_again empty_trigger mark_resource plpgsql_resource)

bench_bulk() {
    # The lock table as small as it may be: what needs a lock for each resource would not get far.
    start_postgres bulk max_connections=10 max_locks_per_transaction=10 shared_buffers=2GB max_wal_size=20GB \
        autovacuum=off checkpoint_timeout=1h
    build_module empty_trigger
    psql_quiet <bench/peers.sql
    {
        bulk_one_resource
        bulk_many_resources
    } >"$run_dir/bulk.md"
    end_process "$postgres_pid"
    report_section bulk <"$run_dir/bulk.md"
    {
        echo "set title 'One statement over so many resources'"
        echo "set xlabel 'resources'; set logscale xy; set ylabel 'seconds'; set y2label 'MB'; set y2tics; set logscale y2; set key top left"
        echo "plot '$results/bulk_resources.tsv' using 1:2 skip 1 with linespoints title 'first token, seconds', \\"
        echo "  '' using 1:3 skip 1 with linespoints title 'new token, seconds', '' using 1:4 skip 1 with linespoints title 'same token, seconds', \\"
        echo "  '' using 1:(\$5 / 1e6) skip 1 axes x1y2 with linespoints dashtype 2 title 'memory of the claims, MB'"
    } | plot bulk
}

# A million rows of one resource, inserted and updated, each statement with a new token. The tables are
# emptied first, so that each meets the same state.
bulk_one_resource() {
    local data=$results/bulk.tsv round variant statement
    psql_quiet -c "CREATE FUNCTION empty_trigger() RETURNS trigger LANGUAGE c AS 'empty_trigger'"
    psql_quiet -c "$(bulk_batch_guard)"
    for variant in "${bulk_variants[@]}"; do
        psql_quiet -v table="orders_$variant" -v rows=1 <bench/peer_table.sql
        bulk_attach "$variant"
    done
    printf 'statement\tround\tvariant\tseconds\n' >"$data"
    for ((round = 1; round <= bulk_rounds; round++)); do
        for variant in $(shuf -e "${bulk_variants[@]}"); do
            psql_quiet -c "SET fencelock.enforce = off; TRUNCATE orders_$variant" -c CHECKPOINT
            printf 'insert\t%s\t%s\t%s\n' "$round" "$variant" \
                "$(seconds_of "INSERT INTO orders_$variant SELECT n, 1, 2 * $round, 0 FROM generate_series(1, $bulk_rows) AS n")" >>"$data"
            psql_quiet -c "VACUUM ANALYZE orders_$variant" -c CHECKPOINT
            printf 'update\t%s\t%s\t%s\n' "$round" "$variant" \
                "$(seconds_of "UPDATE orders_$variant SET payload = payload + 1, fence_token = 2 * $round + 1")" >>"$data"
        done
    done
    bulk_table "$data"
}

bulk_table() { # DATA
    local data=$1 variant statement
    echo
    echo "$bulk_rows rows of one resource in one statement: seconds, and the time over that of the unguarded one in the"
    echo "same round:"
    echo
    {
        printf 'rows\tINSERT\tover unguarded\tUPDATE\tover unguarded\n'
        for variant in "${bulk_variants[@]}"; do
            printf '%s' "${variant//_/ }"
            for statement in insert update; do
                awk -F '\t' -v s="$statement" -v v="$variant" '$1 == s && $3 == v { print $4 }' "$data" | spread |
                    awk -F '\t' '{ printf "\t%.2f s", $1 }'
                awk -F '\t' -v OFS='\t' -v s="$statement" '$1 == s { print $2, $3, $4 }' "$data" |
                    paired_ratios unguarded "$variant" | spread |
                    awk -F '\t' '{ printf "\t%.2f (%.2f-%.2f)", $1, $2, $3 }'
            done
            echo
        done
    } | markdown_table
}

# The guard by hand, by one name for all rows.
bulk_batch_guard() {
    sed -n '/FUNCTION plpgsql_resource_guard/,/^\$\$;/p' bench/peers.sql |
        sed "s/plpgsql_resource_guard()/plpgsql_batch_guard()/; s/'order:' || NEW.id/'batch:' || NEW.batch/"
}

bulk_attach() { # VARIANT
    local function
    case $1 in
    mark_resource)
        psql_quiet -c "SELECT fence_attach('orders_$1', 'batch:{batch}')" >/dev/null
        return
        ;;
    empty_trigger) function="empty_trigger()" ;;
    plpgsql_resource) function="plpgsql_batch_guard()" ;;
    *) return ;;
    esac
    psql_quiet -c "CREATE TRIGGER zz_guard BEFORE INSERT OR UPDATE OR DELETE ON orders_$1 FOR EACH ROW EXECUTE FUNCTION $function"
}

# So many resources in one statement, each for the first time, with a new token, and with the same again.
bulk_many_resources() {
    local data=$results/bulk_resources.tsv size
    printf 'resources\tfirst\tnew\tsame\tmemory\tlocks\n' >"$data"
    for size in "${bulk_sizes[@]}"; do
        psql_quiet -c "DELETE FROM fence_resource" -c "VACUUM FULL fence_resource"
        printf '%s\t%s\t%s\t%s\t%s\n' "$size" \
            "$(seconds_of "$(checks "$size" 1)")" "$(seconds_of "$(checks "$size" 2)")" \
            "$(seconds_of "$(checks "$size" 2)")" "$(bulk_footprint "$size")" >>"$data"
    done
    bulk_resources_table "$data"
}

bulk_resources_table() { # DATA
    local data=$1
    echo
    echo "So many resources claimed by one statement, with max_locks_per_transaction = 10; microseconds for each"
    echo "resource, the memory that the claims take to the end of the transaction, and the entries in the lock table:"
    echo
    awk -F '\t' -v OFS='\t' '
        NR == 1 { print "resources", "first token", "new token", "same token", "bytes each", "MB", "locks"; next }
        { printf "%d\t%.1f us\t%.1f us\t%.1f us\t%.0f\t%.1f\t%d\n", $1, $2 / $1 * 1e6, $3 / $1 * 1e6, $4 / $1 * 1e6, $5 / $1, $5 / 1e6, $6 }' "$data" |
        markdown_table
    echo
}

checks() { echo "SELECT count(fence_check('resource:' || n, $2)) FROM generate_series(1, $1) AS n"; } # RESOURCES TOKEN

# After such a statement, in its transaction: the memory that it keeps, and the locks that it holds.
bulk_footprint() { # RESOURCES
    local memory="SELECT sum(total_bytes) AS kept FROM pg_backend_memory_contexts WHERE name = 'TopTransactionContext'"
    [[ $(psql_quiet -c "SHOW server_version_num") -ge 140000 ]] || memory="SELECT 0 AS kept"
    psql_quiet -F $'\t' <<SQL
BEGIN;
$memory \\gset
\\o /dev/null
$(checks "$1" 2);
\\o
SELECT kept - :kept, (SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid()) FROM ($memory) AS now;
COMMIT;
SQL
}

seconds_of() { # STATEMENT
    psql_quiet <<SQL | sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p' | awk '{ print $1 / 1000 }'
\\timing on
\\o /dev/null
$1;
SQL
}
