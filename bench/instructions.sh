# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between these files
# instructions per guarded row write, over the same write unguarded (callgrind on a single-user backend)

require_for_instructions() {
    require 'have valgrind|valgrind' 'header_exists valgrind/callgrind.h|valgrind'
}
header_exists() { [[ -f /usr/include/$1 ]]; }

# A workload is: what an earlier session has done; what this session does before the counting; a statement
# that opens the measured transaction (none: it is the statement's own); and the measured statement, over the
# rows from :from to :to. Each is measured over a short range and a long one; the difference over the rows
# between them is free of what comes once a statement.
if [[ -n $quick ]]; then
    instruction_ranges=(1 100 101 600)
else
    instruction_ranges=(1 500 501 2500)
fi

# One statement; every row is a resource of its own, which this session has met before.
each_row() { # TOKEN
    template='order:{id}'
    earlier=("UPDATE orders SET fence_token = 1")
    before=("UPDATE orders SET fence_token = 1" VACUUM)
    open=
    measure="UPDATE orders SET payload = payload + 1, fence_token = $1 WHERE id BETWEEN :from AND :to"
}
workload_new_token() { each_row 2; }
workload_same_token() { each_row 1; }
workload_new_issued_token() {
    each_row 3 && all_issued
    before=("UPDATE orders SET fence_token = 2" VACUUM) # which has looked at the issues as well
}
all_issued() { earlier+=("SELECT fence_issue('order:' || id, 1000) FROM orders"); }

# The same, but the session meets them for the first time.
not_met() { before=(VACUUM); }
workload_new_token_not_met() { each_row 2 && not_met; }
workload_same_token_not_met() { each_row 1 && not_met; }
workload_new_issued_token_not_met() { each_row 2 && all_issued && not_met; }

# Nobody has presented a token for them before.
workload_first_token() {
    each_row 2
    earlier=()
    not_met
}

# A transaction for each write, of 100 resources in turn.
each_transaction() { # TOKEN
    each_row 1
    measure="DO \$\$ BEGIN FOR i IN :from..:to LOOP UPDATE orders SET payload = payload + 1, fence_token = $1 WHERE id = 1 + i % 100; COMMIT; END LOOP; END \$\$"
}
workload_new_token_each_transaction() { each_transaction "2 + i / 100"; }
workload_same_token_each_transaction() { each_transaction 1; }
workload_new_issued_token_each_transaction() { each_transaction "2 + i / 100" && all_issued; }

# The transaction has claimed the one resource of all rows; the column has its token, or is to get it.
workload_claimed_stamped() {
    template='batch:{batch}'
    earlier=("UPDATE orders SET fence_token = 2")
    before=(VACUUM)
    open="UPDATE orders SET fence_token = 2 WHERE id = 5001"
    measure="UPDATE orders SET payload = payload + 1, fence_token = 2 WHERE id BETWEEN :from AND :to"
}
workload_claimed() {
    workload_claimed_stamped
    measure="UPDATE orders SET payload = payload + 1 WHERE id BETWEEN :from AND :to"
}
workload_claimed_to_be_written() {
    workload_claimed
    earlier=("UPDATE orders SET fence_token = 1")
}

# The transaction has written the row before, each by a claim of its own.
workload_claimed_each_row() {
    each_row 2
    open="UPDATE orders SET payload = payload + 1, fence_token = 2"
    measure="UPDATE orders SET payload = payload + 1 WHERE id BETWEEN :from AND :to"
}

attach_none() { :; }
attach_empty_trigger() { row_trigger "empty_trigger()"; }
attach_mark_row() { echo "SELECT fence_attach('orders', '$template', 'fence_token', 'mark=row')"; }
attach_mark_resource() { echo "SELECT fence_attach('orders', '$template')"; }
attach_plpgsql_row() { row_trigger "plpgsql_row_guard()"; }
attach_plpgsql_resource() { row_trigger "plpgsql_resource_guard()"; }
row_trigger() { # FUNCTION
    echo "CREATE TRIGGER zz_guard BEFORE INSERT OR UPDATE OR DELETE ON orders FOR EACH ROW EXECUTE FUNCTION $1"
}

# Workload, then the guards that it is measured with beside none and the empty trigger.
instruction_cases() {
    cat <<'CASES'
new_token mark_row mark_resource plpgsql_row plpgsql_resource
new_token_each_transaction mark_row mark_resource plpgsql_row plpgsql_resource
new_token_not_met mark_resource plpgsql_resource
new_issued_token mark_resource
new_issued_token_each_transaction mark_resource
new_issued_token_not_met mark_resource
same_token mark_row mark_resource plpgsql_row plpgsql_resource
same_token_each_transaction mark_row mark_resource plpgsql_row plpgsql_resource
same_token_not_met mark_resource plpgsql_resource
first_token mark_resource
claimed_stamped mark_resource plpgsql_resource
claimed mark_resource
claimed_to_be_written mark_resource
claimed_each_row mark_row mark_resource
CASES
}

bench_instructions() {
    build_module empty_trigger
    build_module callgrind_switch
    make_template_cluster
    local data=$results/instructions.tsv workload guards guard
    printf 'workload\tguard\tinstructions\tover unguarded\ttimes the empty trigger\n' >"$data"
    while read -r workload guards; do
        local none='' empty='' count
        for guard in none empty_trigger $guards; do
            [[ -z ${BENCH_CASE:-} || " $BENCH_CASE none empty_trigger " == *" $guard "* ]] || continue
            count=$(instructions_of "$workload" "$guard")
            [[ $guard != none ]] || none=$count
            [[ $guard != empty_trigger ]] || empty=$count
            awk -v w="$workload" -v g="$guard" -v count="$count" -v none="$none" -v empty="$empty" 'BEGIN {
                printf "%s\t%s\t%.0f\t%.0f\t%s\n", w, g, count, count - none,
                    empty == "" ? "" : sprintf("%.2f", (count - none) / (empty - none)) }' | tee -a "$data"
        done
    done < <(instruction_cases | grep -E "^(${BENCH_WORKLOAD:-.*}) ")
    { echo; tr '_' ' ' <"$data" | markdown_table; echo; } | report_section instructions
}

# Copies of one data directory, so that every case begins alike. Once a run, whichever parts ask for it.
make_template_cluster() {
    local bin
    [[ ! -d $run_dir/instructions/template ]] || return 0
    bin=$("$PG_CONFIG" --bindir)
    mkdir -p "$run_dir/instructions"
    [[ $EUID -ne 0 ]] || chown postgres "$run_dir/instructions"
    "${as_server_user[@]}" "$bin/initdb" -D "$run_dir/instructions/template" -U postgres -A trust --no-locale \
        -E UTF8 --no-sync >"$run_dir/initdb.log"
    cat bench/peers.sql bench/orders.sql | single_user "$run_dir/instructions/template" >"$run_dir/template.log" 2>&1
    ! grep -E 'ERROR|FATAL|PANIC' "$run_dir/template.log" >&2 || die "the template database could not be made"
}

# A script's commands end with a semicolon and an empty line. Further options are in single_user_options.
single_user() { # DATA_DIRECTORY [COMMAND_BEFORE...]
    local data=$1 bin
    shift
    bin=$("$PG_CONFIG" --bindir)
    (cd "$(dirname "$data")" && "${as_server_user[@]}" "$@" "$bin/postgres" --single -j -D "$data" -c fsync=off \
        "${single_user_options[@]+"${single_user_options[@]}"}" postgres)
}

# The instructions of one row's write. With BENCH_PROFILES set callgrind's files are kept in that directory.
instructions_of() { # WORKLOAD GUARD
    local template earlier before open measure dir=$run_dir/instructions/case i
    "workload_$1"
    rm -rf "$dir"
    "${as_server_user[@]}" cp -a "$run_dir/instructions/template" "$dir"
    server_commands "$("attach_$2")" "${earlier[@]+"${earlier[@]}"}" | single_user "$dir" >"$dir.log" 2>&1
    {
        server_commands "${before[@]}" CHECKPOINT
        for i in 0 2; do
            [[ -z $open ]] || server_commands BEGIN "$open"
            server_commands "SELECT counting_begins()" \
                "$(sed "s/:from/${instruction_ranges[i]}/; s/:to/${instruction_ranges[i + 1]}/" <<<"$measure")" \
                "SELECT counting_ends('range $i')"
            [[ -z $open ]] || server_commands ROLLBACK
        done
    } | single_user "$dir" valgrind --tool=callgrind --instr-atstart=no --callgrind-out-file="$dir/callgrind.out" \
        >>"$dir.log" 2>&1
    if grep -E 'ERROR|FATAL|PANIC' "$dir.log" >&2; then
        die "$1 with $2 failed"
    fi
    if [[ -n ${BENCH_PROFILES:-} ]]; then
        mkdir -p "$BENCH_PROFILES"
        cp "$(file_of_count "$dir" 'range 2')" "$BENCH_PROFILES/$1-$2.callgrind"
    fi
    echo $(($(counted_in "$dir" 'range 2') - $(counted_in "$dir" 'range 0'))) |
        awk -v rows=$((instruction_ranges[3] - instruction_ranges[2] - instruction_ranges[1] + instruction_ranges[0])) \
            '{ printf "%.0f\n", $1 / rows }'
}

# As single-user mode reads them; empty ones are left out.
server_commands() { # STATEMENT...
    local statement
    for statement in "$@"; do
        [[ -z $statement ]] || printf '%s;\n\n' "$statement"
    done
}

# The instructions between counting_begins() and the counting_ends() of that name.
counted_in() { # DIRECTORY NAME
    sed -n 's/^totals: //p' "$(file_of_count "$1" "$2")"
}

file_of_count() { grep -lx "desc: Trigger: Client Request: $2" "$1"/callgrind.out.*; } # DIRECTORY NAME
