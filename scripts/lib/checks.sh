# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between these files
# Suites that several scripts run, scripts/check first. Sourced after suites.sh and build.sh. A check_ function fails where
# the check does.

check_shell_syntax() {
    local file
    while read -r file; do
        bash -n "$file"
    done < <(cd "$tree" && grep -rlE '^#!/bin/(ba)?sh|^# shellcheck shell=' . | sed "s|^|$tree/|")
}

# Other versions of clang-format format otherwise.
check_format() {
    local formatter
    if formatter=$(find_clang_format_14); then
        single_check "format" files_are_formatted "$formatter"
    else
        skip_suite "format" "clang-format 14 is not to be had on this release"
    fi
}

find_clang_format_14() {
    local candidate
    for candidate in clang-format-14 clang-format; do
        if have "$candidate" && [[ $("$candidate" --version) == *'version 14.'* ]]; then
            echo "$candidate"
            return
        fi
    done
    return 1
}

files_are_formatted() { # FORMATTER
    local file good=true
    while read -r file; do
        if ! "$1" --dry-run -Werror "$tree/$file" 2>/dev/null; then
            echo "not formatted (clang-format-14 -i): $file"
            good=false
        fi
    done < <(cd "$tree" && find . \( -name '*.cpp' -o -name '*.hpp' \) | sort)
    $good
}

# Other versions find other things.
check_by_cppcheck() {
    if have cppcheck && [[ $(cppcheck --version) == 'Cppcheck 2.10'* ]]; then
        single_check "cppcheck" cppcheck_finds_nothing
    else
        skip_suite "cppcheck" "cppcheck 2.10 is not to be had on this release"
    fi
}

cppcheck_finds_nothing() (
    cd "$tree" || exit
    cppcheck -q -j "$jobs" --enable=warning,performance,portability --inline-suppr --std=c++20 \
        --language=c++ --library=googletest --suppressions-list=.cppcheck-suppressions \
        --error-exitcode=1 --template='{file}:{line}: {id}: {message}' \
        -Iclient/include -Iclient/src -Iclient/cli -Iclient/tests -Iextension \
        client extension demo tests scripts/consumer
)

# The backend must not be made to load a C++ runtime.
check_needed_libraries() {
    local needed
    needed=$(objdump -p "$tree/fencelock.so" | awk '$1 == "NEEDED" { print $2 }')
    echo "needed: $needed"
    [[ $needed == libc.so.6 ]]
}

# Only what PostgreSQL looks up: the magic block, _PG_init, and each SQL function with its info
# record. Any other name could meet one of the server's or of another extension.
check_exports() {
    local unexpected
    unexpected=$(nm -D --defined-only "$tree/fencelock.so" | awk '
        { name = $NF; sub(/@.*/, "", name); exported[name] = 1 }
        END {
            for (name in exported) {
                if (name == "Pg_magic_func" || name == "_PG_init") continue
                if (name ~ /^pg_finfo_/ && substr(name, 10) in exported) continue
                if (("pg_finfo_" name) in exported) continue
                print name
            }
            if (!("Pg_magic_func" in exported)) print "(no Pg_magic_func)"
        }')
    echo "unexpected: ${unexpected:-none}"
    [[ -z $unexpected ]]
}

# The builds and installations of both halves, for suites that need no more than these.
run_builds() {
    single_check "extension build" build_extension
    ! $suite_ok || single_check "extension install" install_extension
    ! $suite_ok || single_check "client build" build_client OFF
    ! $suite_ok || single_check "client install" install_client
}

# Both against the running private server.
run_sql_suites() {
    counted_suite "regress" "$regress_good" "$regress_bad" "" installcheck ISOLATION= TAP_TESTS=
    $suite_ok || show_differences "$tree/regression.diffs"
    if [[ -x $(dirname "$("$PG_CONFIG" --pgxs)")/../test/isolation/pg_isolation_regress ]]; then
        counted_suite "isolation" "$regress_good" "$regress_bad" "" installcheck REGRESS= TAP_TESTS=
        $suite_ok || show_differences "$tree/output_iso/regression.diffs"
    else
        skip_suite "isolation" "this PostgreSQL comes without pg_isolation_regress"
    fi
}

installcheck() { # what to leave out, as empty make variables
    PGISOLATIONTIMEOUT=120 bounded 900 make -C "$tree" PG_CONFIG="$PG_CONFIG" installcheck "$@"
}

# The regression tests once more, on a build that traps on undefined behaviour; and the module proper again after that.
# (Server headers read what is not aligned by intent.)
run_sanitized_suite() {
    local plain=$tree flags='-fsanitize=undefined -fno-sanitize=alignment -fsanitize-undefined-trap-on-error'
    tree=$run_dir/sanitized
    cp -a "$plain" "$tree"
    single_check "sanitized build" install_extension_with "$flags"
    ! $suite_ok || counted_suite "regress, sanitized" "$regress_good" "$regress_bad" "" \
        installcheck ISOLATION= TAP_TESTS=
    tree=$plain
    single_check "install again" install_extension
}

# Tests in Perl that make servers of their own, as the user postgres where this is root (the servers refuse
# it). That user may not be able to read the checkout: it gets a copy.
run_tap_suite() {
    local missing
    missing=$(missing_for_tap)
    if [[ -n $missing ]]; then
        skip_suite "tap" "$missing"
        return
    fi
    mkdir -p "$run_dir/tap"
    cp -a "$tree/Makefile" "$tree/fencelock.control" "$tree/t" "$run_dir/tap/"
    [[ $EUID -ne 0 ]] || chown -R postgres "$run_dir/tap"
    counted_suite "tap" '^ok [0-9]+ - ' '^not ok [0-9]+ ' '^ok [0-9]+ # skip' run_prove
    $suite_ok || show_tap_failures
}

missing_for_tap() {
    local modules
    modules=$(dirname "$("$PG_CONFIG" --pgxs)")/../test/perl
    have prove || echo "there is no prove"
    have_perl_module IPC::Run || echo "perl has no IPC::Run"
    [[ -f $modules/PostgreSQL/Test/Cluster.pm ]] || echo "this PostgreSQL comes without its perl modules"
}

run_prove() {
    bounded 1800 "${as_server_user[@]}" env -u PGHOST -u PGPORT -u PGUSER HOME="$run_dir/tap" \
        make -C "$run_dir/tap" PG_CONFIG="$PG_CONFIG" PROVE_FLAGS="--verbose --timer --jobs=$jobs" \
        prove_installcheck
}

show_tap_failures() {
    rm -rf "$log_dir/tap"
    cp -r "$run_dir/tap/tmp_check/log" "$log_dir/tap" || true
    grep -E -A 6 '^# +Failed test' "$log_dir/tap.log" | head -n 200 || true
}

show_differences() { # FILE...
    local file
    for file in "$@"; do
        if [[ -s $file ]]; then
            cp "$file" "$log_dir/$(basename "$(dirname "$file")")-regression.diffs"
            head -n 200 "$file"
        fi
    done
}

run_client_tests() { client_suite "client" "$build_dir/client"; }

# Each GoogleTest case counts, and each program that ended before its cases did.
client_suite() { # NAME BUILD CTEST ARGUMENT...
    local name=$1 case_line='^[0-9]+: \[ +(%s) +\] .* \([0-9]+ ms\)$'
    # shellcheck disable=SC2059 # a pattern with a place for the word
    counted_suite "$name" "$(printf "$case_line" OK)" \
        "$(printf "$case_line" FAILED)|^ *[0-9]+/[0-9]+ Test +#[0-9]+: .*(\\*\\*\\*(Timeout|Exception)|Not Run)" \
        "$(printf "$case_line" SKIPPED)" run_ctest "${@:2}"
    $suite_ok || failures+=("$(sed -n -e '/: Failure$/,/\[  FAILED  \]/p' \
        -e '/WARNING: ThreadSanitizer/,/SUMMARY/p' "$(log_of "$name")" | head -n 100 || true)")
}

run_ctest() { # BUILD ARGUMENT...
    cd "$1" || return
    bounded 1800 ctest --verbose --timeout 600 -j "$jobs" "${@:2}"
}

check_cmake_consumer() {
    cmake -S "$tree/scripts/consumer" -B "$run_dir/consumer" \
        -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_FLAGS="$warnings"
    cmake --build "$run_dir/consumer"
    LD_LIBRARY_PATH=$(client_libdir) "$run_dir/consumer/consumer"
    "$run_dir/consumer/consumer_static"
}

# Of its own the library exports the namespace, and is named by its binary interface. (What was instantiated of the
# standard library's templates is weak, and stays exported: some of it has to be one for the whole process.)
check_client_exports() {
    local library unexpected abi
    library=$(client_libdir)/libfencelock.so
    abi=$(sed -n 's/^set(fencelock_abi \(.*\))/\1/p' "$tree/client/CMakeLists.txt")
    unexpected=$(nm -DC --defined-only "$library" | awk '
        $2 ~ /^[TDRB]$/ {
            strong++
            sub(/^[^ ]+ . ((typeinfo|typeinfo name|vtable) for )?/, "") # some compilers make these strong
            if (!/^fencelock::/) print
        }
        END { if (!strong) print "(nothing is exported)" }')
    echo "unexpected: ${unexpected:-none}"
    [[ -z $unexpected ]]
    objdump -p "$library" | grep -E "^ *SONAME +libfencelock\.so\.$abi\$"
}

check_pkg_config_consumer() {
    local flags
    flags=$(PKG_CONFIG_PATH=$(client_libdir)/pkgconfig pkg-config --cflags --libs fencelock)
    # shellcheck disable=SC2086 # several words
    "${CXX:-g++}" -std=c++20 $warnings "$tree/scripts/consumer/consumer.cpp" $flags \
        -o "$run_dir/pkg_config_consumer"
    LD_LIBRARY_PATH=$(client_libdir) "$run_dir/pkg_config_consumer"
}

# Where libfencelock.so went: lib, lib64, or lib/<triplet>.
client_libdir() { dirname "$(find "${1:-$prefix}" -name 'libfencelock.so' -print -quit)"; } # [PREFIX]

# make install-client with DESTDIR writes below it, under PREFIX.
check_staged_install() {
    local stage=$run_dir/stage
    make -C "$tree" CLIENT_BUILD="$build_dir/client" PREFIX=/opt/fencelock DESTDIR="$stage" install-client
    [[ -n $(find "$stage/opt/fencelock" -name 'libfencelock.so*') ]]
    [[ -d $stage/opt/fencelock/include/fencelock && $(find "$stage" -mindepth 1 -maxdepth 1) == "$stage/opt" ]]
    # Nothing that is installed points to where it was built or staged.
    ! grep -rF -e "$stage" -e "$build_dir" --include='*.pc' --include='*.cmake' "$stage"
}

# make install-client renews the loader's cache where that covers PREFIX, never anywhere else. With an ldconfig that
# notes its calls, and covers $covered.
check_loader_cache() {
    local dir=$run_dir/loader library_dir
    mkdir -p "$dir/bin"
    # shellcheck disable=SC2016 # expanded by the script
    printf '#!/bin/sh\necho "called $*" >>%q\necho "$covered: (from x:1)"\n' "$dir/calls" >"$dir/bin/ldconfig"
    chmod +x "$dir/bin/ldconfig"
    install_beside_loader "$dir/covered"
    library_dir=$(client_libdir "$dir/covered")
    covered=$library_dir install_beside_loader "$dir/covered"
    [[ $(tail -n 1 "$dir/calls") == "called " ]]
    : >"$dir/calls"
    covered=$library_dir install_beside_loader "$dir/elsewhere" | grep 'does not look into'
    covered=$library_dir install_beside_loader "$dir/covered" DESTDIR="$dir/stage"
    ! grep -x 'called ' "$dir/calls"
}

install_beside_loader() { # PREFIX VARIABLE...
    PATH=$run_dir/loader/bin:$PATH make -C "$tree" CLIENT_BUILD="$build_dir/client" PREFIX="$1" "${@:2}" install-client
}

run_demo() {
    counted_suite "demo" '^ *proved:' '^ *NOT proved:' '' \
        env HOLDER="$build_dir/demo/order_holder" setpriv --pdeathsig TERM "$tree/demo/story"
}

# A short run of all faults, forged histories of it, and a run without enforcement.
run_torture() {
    counted_suite "torture" '^ok ' '^not ok ' '' torture --self-test --seed 2
    $suite_ok || grep -A 12 '^VIOLATION' "$log_dir/torture.log" | head -n 200 || true
}
