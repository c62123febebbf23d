# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between these files
# Builds the extension and the client from a copy of the working tree, so that neither the developer's
# own objects nor this build disturb each other. Sourced after run.sh and servers.sh; the current
# directory is the checkout's top.

build_dir=$PWD/build/${build_name:-${0##*/}}
tree=$build_dir/tree
prefix=$build_dir/prefix # where the client is installed for its consumers
jobs=$(nproc)
warnings='-Wall -Wextra' # scripts/check adds -Werror: a newer compiler must not keep anybody from a demo
# PGXS hands on the options of the compiler that PostgreSQL was built with; clang does not know all of g++'s.
[[ ${CXX:-g++} != *clang* ]] || warnings+=' -Wno-unknown-warning-option -Wno-ignored-optimization-argument'

# One run at a time in one checkout; others wait.
lock_build() {
    mkdir -p "$build_dir"
    exec {build_lock}>"$build_dir/lock"
    flock "$build_lock"
}

# What is in the working tree now, committed or not, less what is built.
copy_tree() {
    rm -rf "$tree"
    mkdir -p "$tree"
    # mtimes are kept, so that what is built outside the copy is built again only where it changed
    tar -cf - --exclude=./build --exclude=./.git --exclude='*.o' --exclude='*.so' --exclude='*.bc' \
        --exclude=./results --exclude=./output_iso --exclude='./tmp_check*' . | tar -xf - -C "$tree"
}

build_extension() {
    make -C "$tree" -j"$jobs" PG_CONFIG="$PG_CONFIG" CXX="${CXX:-g++} $warnings"
}

install_extension() {
    make -C "$tree" PG_CONFIG="$PG_CONFIG" CXX="${CXX:-g++} $warnings" install
}

# Compiled anew with these flags, whatever is built already, and installed.
install_extension_with() { # COMPILER_FLAGS MAKE_ARGUMENT...
    local with="${CXX:-g++} $warnings $1"
    make -C "$tree" -B -j"$jobs" PG_CONFIG="$PG_CONFIG" CXX="$with" "${@:2}" all &&
        make -C "$tree" PG_CONFIG="$PG_CONFIG" CXX="$with" "${@:2}" install
}

# With the tests where TESTS is ON. (Chained by &&: a caller's condition switches `set -e` off.)
build_client() { # TESTS
    cmake -S "$tree/client" -B "$build_dir/client" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DCMAKE_CXX_FLAGS="$warnings" -DFENCELOCK_BUILD_TESTS="$1" \
        -DCMAKE_INSTALL_PREFIX="$prefix" &&
        cmake --build "$build_dir/client" -j "$jobs"
}

install_client() {
    rm -rf "$prefix"
    cmake --install "$build_dir/client"
}

# One step of the way to what a script is for: quiet where it works, else the script's end.
build_step() { # WHAT COMMAND...
    local log=$build_dir/build.log
    echo "$1 ..."
    run_logged "$log" "${@:2}"
    if ((run_status != 0)); then
        tail -n 60 "$log" >&2
        die "$1: failed"
    fi
}

build_step_extension() {
    build_step "building the extension" build_extension
    build_step "installing it into a private copy of PostgreSQL" install_extension
}

build_step_client() {
    build_step "building the client" build_client OFF
    build_step "installing it into a private directory" install_client
}

# The demonstration's holder, a consumer of the installed client like any other.
build_demo() {
    cmake -S "$tree/demo" -B "$build_dir/demo" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DCMAKE_CXX_FLAGS="$warnings" -DCMAKE_PREFIX_PATH="$prefix" &&
        cmake --build "$build_dir/demo" -j "$jobs"
}
