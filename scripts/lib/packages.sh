# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between these files
# Installs what is missing on Debian and Ubuntu. Sourced after run.sh.

# What each feature needs: a command that shows that it is there, and the package that brings it.
# Packages whose name depends on the release are resolved in package_for.
build_requirements=(
    'compiler_is_new_enough|g++'
    'have make|make'
    'have cmake|cmake'
    'have pkg-config|pkg-config'
    'have_module libpq|libpq-dev'
    'have_module libpqxx|libpqxx-dev'
    'have_module hiredis|libhiredis-dev'
    'have_module libssl|libssl-dev'
    'have_redis|REDIS'
    'have_postgresql|POSTGRESQL'
    'have_postgresql_development|POSTGRESQL-DEV'
)
test_requirements=(
    'have_module gtest|libgtest-dev'
    'have objdump|binutils'
    'have openssl|openssl'
    'have_perl_module IPC::Run|libipc-run-perl'
    'have_python_module redis|python3-redis'
)
# Used where the release has them, never a reason to fail.
optional_requirements=(
    'have clang-format-14|clang-format-14'
    'have cppcheck|cppcheck'
    'have clang++|clang'
    'have_fuzzing_compiler|FUZZER'
)
# What builds and judges Debian's packages.
package_requirements=(
    'package_is_installed build-essential|build-essential'
    'package_is_installed cmake|cmake'
    'have dh|debhelper'
    'have dpkg-buildpackage|dpkg-dev'
    'have lintian|lintian'
    'have mount|mount'
    'package_is_installed postgresql-server-dev-all|postgresql-server-dev-all'
)
# What the same checks can be run with instead, and PostgreSQL's own suite.
variant_requirements=(
    'have clang++|clang'
    'have redis-server|redis-server'
    'have valkey-server|valkey-server'
    'have dpkg-source|dpkg-dev'
)

have() { command -v "$1" >/dev/null 2>&1; }
have_module() { have pkg-config && pkg-config --exists "$1"; }
have_perl_module() { have perl && perl -M"$1" -e1 2>/dev/null; }
# Of the system's own Python: packages do not serve another one.
have_python_module() { have /usr/bin/python3 && /usr/bin/python3 -c "import $1" 2>/dev/null; }
have_redis() { have redis-server || have valkey-server; }
have_postgresql() { find_pg_config >/dev/null; }
have_postgresql_development() {
    local pg_config
    pg_config=$(find_pg_config) || return 1
    [[ -f $("$pg_config" --includedir-server)/postgres.h && -f $("$pg_config" --pgxs) ]]
}
have_fuzzing_compiler() { # clang with libFuzzer
    have clang++ && clang++ -x c++ -fsanitize=fuzzer,address - -o /dev/null 2>/dev/null <<<\
        'extern "C" int LLVMFuzzerTestOneInput(unsigned char const*, unsigned long) { return 0; }'
}
compiler_is_new_enough() { # the first with enough of C++20
    local major
    have "${CXX:-g++}" && major=$("${CXX:-g++}" -dumpversion) && ((${major%%.*} >= 10))
}

# Installs what REQUIREMENTS lack; ends the script with the reason where it can't.
require() { # REQUIREMENT...
    local missing
    mapfile -t missing < <(missing_of "$@")
    ((${#missing[@]})) || return 0
    [[ $EUID -eq 0 ]] || die "not installed: ${missing[*]}; install them, or run this as root"
    have apt-get || die "not installed: ${missing[*]}; this is no Debian or Ubuntu (no apt-get):" \
        "install what brings them here"
    install_packages "${missing[@]}"
    # Once more: the development package of a server that has only just come.
    mapfile -t missing < <(missing_of "$@")
    ((${#missing[@]} == 0)) || install_packages "${missing[@]}"
    mapfile -t missing < <(missing_of "$@")
    ((${#missing[@]} == 0)) || die "still missing after the installation: ${missing[*]}" \
        "(needed: g++ 10, PostgreSQL 13 or newer)"
}

# The same for what can be done without: whoever needs one of them looks again whether it is there.
wish() { # REQUIREMENT...
    local missing package wanted=()
    mapfile -t missing < <(missing_of "$@" | sort -u)
    ((${#missing[@]})) && [[ $EUID -eq 0 ]] && have apt-get || return 0
    package_exists postgresql || update_package_lists || return 0
    for package in "${missing[@]}"; do
        ! package_is_installable "$package" || wanted+=("$package")
    done
    ((${#wanted[@]})) || return 0
    # (In a subshell, which may end without the script.)
    (install_packages "${wanted[@]}") || echo "goes on without: ${wanted[*]}"
}

missing_of() { # REQUIREMENT...
    local requirement
    for requirement in "$@"; do
        # shellcheck disable=SC2086 # a command with its argument
        ${requirement%%|*} || echo "${requirement##*|}"
    done
}

install_packages() { # NAME...
    take_packages_lock
    package_exists postgresql || update_package_lists
    local names
    mapfile -t names < <(resolved_packages "$@")
    echo "installing: ${names[*]}"
    no_service_starts
    if ! apt_install "${names[@]}"; then
        # Old lists, or an earlier installation that was interrupted.
        update_package_lists
        dpkg --configure -a </dev/null >>"$run_dir/apt.log" 2>&1 || true
        apt_install "${names[@]}" || {
            tail -n 40 "$run_dir/apt.log" >&2
            die "apt-get could not install: ${names[*]}"
        }
    fi
    services_may_start
    exec {packages_lock}>&-
    packages_lock=
}

# One installation at a time on a machine; others wait, or with --nonblock fail.
packages_lock=

take_packages_lock() { # [--nonblock]
    local lock
    mkdir -p /run/lock
    exec {lock}>/run/lock/fencelock-packages.lock
    flock "$@" "$lock" || return 1
    packages_lock=$lock
}

# Unpacks packages into a directory, without installing them: their services and users do not come to be.
# Fails where one is not to be had; DIR is whole or not there.
unpack_packages() { # DIR NAME...
    local dir=$1 archive
    shift
    rm -rf "$dir.part"
    mkdir -p "$dir.part"
    (cd "$dir.part" && apt-get -qq download "$@") || return 1
    for archive in "$dir.part"/*.deb; do
        dpkg -x "$archive" "$dir.part" || return 1
        rm "$archive"
    done
    rm -rf "$dir"
    mv "$dir.part" "$dir"
}

resolved_packages() { # NAME...
    local name
    for name in "$@"; do
        case $name in
        REDIS) if package_exists redis-server; then echo redis-server; else echo valkey-server; fi ;;
        FUZZER) if package_exists libclang-rt-dev; then echo libclang-rt-dev; else echo clang; fi ;;
        POSTGRESQL) echo postgresql ;;
        POSTGRESQL-DEV) echo "postgresql-server-dev-$(server_version)" ;;
        *) echo "$name" ;;
        esac
    done
}

# Of the installed server, else of the one that the package postgresql brings.
server_version() {
    local pg_config
    if pg_config=$(find_pg_config); then
        "$pg_config" --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/'
    else
        apt-cache show postgresql | awk '
            /^Depends:/ && !found && match($0, /postgresql-[0-9]+/) {
                print substr($0, RSTART + 11, RLENGTH - 11)
                found = 1
            }'
    fi
}

# (No pipe into something that stops reading early: with pipefail the writer's SIGPIPE would count as a no.)
package_exists() { [[ -n $(apt-cache show "$1" 2>/dev/null) ]]; }

package_is_installable() { apt-get -qq -s --no-install-recommends install "$1" >/dev/null 2>&1; }
package_is_installed() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

update_package_lists() { apt-get -qq -o DPkg::Lock::Timeout=600 update </dev/null; }

apt_install() {
    DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends \
        -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 install "$@" </dev/null >>"$run_dir/apt.log" 2>&1
}

# Debian's packages start their services; a policy that forbids it stands while this installs. Who has the lock may write
# and remove it, nobody else: another run that ends must not take it from one that installs.
policy_file=/usr/sbin/policy-rc.d
policy_mark='# temporary: fencelock installs its build requirements'

run_hooks+=(end_installation)

# One that broke off, here or in an earlier run.
end_installation() {
    [[ $EUID -eq 0 && -e $policy_file ]] || return 0
    [[ -n $packages_lock ]] || take_packages_lock --nonblock || return 0
    services_may_start
}

no_service_starts() {
    [[ ! -e $policy_file ]] || return 0
    printf '#!/bin/sh\n%s\nexit 101\n' "$policy_mark" >"$policy_file"
    chmod 755 "$policy_file"
}

services_may_start() {
    if grep -qsF "$policy_mark" "$policy_file"; then
        rm -f "$policy_file"
    fi
}
