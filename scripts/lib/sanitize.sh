# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between these files
# The client and its tests under sanitizers. Sourced after suites.sh, build.sh and checks.sh.

sanitizers_of() { # KIND
    case $1 in
    thread) echo thread ;;
    address) echo address,undefined ;;
    esac
}

# Not optimized: the compiler is most of the cost.
build_sanitized_client() { # KIND [TARGET]
    cmake -S "$tree/client" -B "$build_dir/client-$1" -DCMAKE_BUILD_TYPE=None \
        -DCMAKE_CXX_FLAGS="$warnings -O0 -g1" -DFENCELOCK_SANITIZE="$(sanitizers_of "$1")" \
        -DFENCELOCK_BUILD_TESTS=ON &&
        cmake --build "$build_dir/client-$1" -j "$jobs" --target "${2:-all}"
}

run_sanitized_client_tests() { # KIND CTEST ARGUMENT...
    local kind=$1
    shift
    client_suite "client, $kind" "$build_dir/client-$kind" "$@"
}

# What scripts/check has time for: the suites in which threads meet.
run_thread_sanitizer() {
    single_check "thread sanitizer build" build_sanitized_client thread integration_test
    ! $suite_ok || run_sanitized_client_tests thread -R '^integration'
}
