# shellcheck shell=bash disable=SC2016,SC2034,SC2154 # variables are shared between these files
# Builds and runs the fuzzers of tests/fuzz, each with the sources that it runs. Sourced after run.sh,
# packages.sh, servers.sh and build.sh.

fuzz_dir=$build_dir/fuzz

# Fuzzer and sources below the tree; the libraries follow from these.
fuzz_sources() { # NAME
    case $1 in
    redis_url) echo client/src/{redis_url,limits,errors}.cpp ;;
    arguments) echo client/cli/{arguments,command}.cpp ;;
    redis_reply) echo client/src/{redis_reply,redis_fault,errors}.cpp ;;
    conninfo) echo client/src/{conninfo,errors}.cpp ;;
    name_template) echo tests/fuzz/backend.cpp extension/{resource_name,settings}.cpp ;;
    claims_setting) echo tests/fuzz/backend.cpp extension/{resource_name,settings}.cpp ;;
    esac
}
fuzzers=(redis_url arguments redis_reply conninfo name_template claims_setting)

build_fuzzers() {
    mkdir -p "$fuzz_dir"
    local name source
    for name in "${fuzzers[@]}"; do
        echo "tests/fuzz/$name.cpp"
        fuzz_sources "$name" | tr ' ' '\n'
    done | sort -u | xargs -P "$jobs" -I '{}' bash -c '
        object=$2/$(tr / - <<<"$3").o
        exec $1 -c "$0/$3" -o "$object"' "$tree" "clang++ $(fuzz_flags)" "$fuzz_dir" '{}'
    for name in "${fuzzers[@]}"; do
        local objects=()
        # shellcheck disable=SC2046 # several words
        for source in "tests/fuzz/$name.cpp" $(fuzz_sources "$name"); do
            objects+=("$fuzz_dir/$(tr / - <<<"$source").o")
        done
        # shellcheck disable=SC2046
        clang++ -fsanitize=fuzzer,address,undefined "${objects[@]}" $(fuzz_libraries "$name") \
            -o "$fuzz_dir/$name"
    done
}

# (Server headers read what is not aligned by intent.)
fuzz_flags() {
    echo "-std=c++20 -O1 -g1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=alignment" \
        "-fno-sanitize-recover=all $warnings -I$tree/tests/fuzz -I$tree/client/include" \
        "-I$tree/client/src -I$tree/client/cli -I$tree/extension" \
        "-isystem $("$PG_CONFIG" --includedir-server) $(pkg-config --cflags libpq hiredis)"
}

fuzz_libraries() { # NAME
    local server
    server=$(dirname "$(dirname "$(dirname "$(dirname "$("$PG_CONFIG" --pgxs)")")")")
    case $1 in
    redis_reply) pkg-config --libs hiredis ;;
    conninfo) pkg-config --libs libpq ;;
    name_template | claims_setting) echo "$server/libpgcommon.a $server/libpgport.a" ;;
    esac
}

# What is found new goes to a directory of its own; an input that fails is kept beside it, and named.
run_fuzzers() { # SECONDS NAME...
    local seconds=$1 name good=true
    shift
    export fuzz_dir tree seconds
    printf '%s\n' "$@" | xargs -P "$jobs" -I '{}' bash -c '
        name=$0
        mkdir -p "$fuzz_dir/found/$name"
        if "$fuzz_dir/$name" -max_total_time="$seconds" -timeout=60 -verbosity=0 -print_final_stats=1 \
            -artifact_prefix="$fuzz_dir/$name-" "$fuzz_dir/found/$name" \
            "$tree/tests/fuzz/corpus/$name" >"$fuzz_dir/$name.log" 2>&1; then
            echo "fuzz ok: $name, $(sed -n "s/^stat::number_of_executed_units: *//p" "$fuzz_dir/$name.log") inputs"
        else
            tail -n 40 "$fuzz_dir/$name.log"
            echo "fuzz FAILED: $name"
            exit 1
        fi' '{}'
}

run_fuzz_suite() {
    if ! have_fuzzing_compiler; then
        skip_suite "fuzz" "there is no clang with libFuzzer"
        return
    fi
    single_check "fuzz build" build_fuzzers
    ! $suite_ok || counted_suite "fuzz" '^fuzz ok:' '^fuzz FAILED:' '' run_fuzzers 3 "${fuzzers[@]}"
}
