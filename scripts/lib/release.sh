# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between these files
# What a release consists of: one version in all places, PGXN's archive, Debian's packages. Sourced after build.sh and
# checks.sh.

package_dir=$build_dir/packages

# Packages are built without their tests, which are suites of their own here.
run_package_suites() {
    local missing reason
    counted_suite "versions agree" '^ok ' '^not ok ' '' /usr/bin/python3 scripts/release/agreement.py .
    if git rev-parse --verify -q HEAD >/dev/null 2>&1; then
        single_check "archive" check_archive
    else
        skip_suite "archive" "this is no checkout of git's"
    fi
    missing=$(missing_of "${package_requirements[@]}" | tr '\n' ' ')
    if [[ -n $missing ]]; then
        skip_suite "packages" "not installed: $missing"
        return
    fi
    single_check "packages" build_packages
    $suite_ok || return 0
    single_check "lintian" lintian_finds_nothing
    if [[ $EUID -ne 0 ]]; then
        skip_suite "installed packages" "only root can install them"
    elif reason=$(scripts/packages/in_private_root --possible 2>&1); then
        counted_suite "installed packages" '^ok - ' '^not ok - ' '' install_and_purge
    else
        skip_suite "installed packages" "no overlay can be mounted here: $reason"
    fi
}

# The archive is complete: the extension builds from it alone.
check_archive() {
    local dir=$run_dir/archive name stage=$run_dir/archive-stage
    mkdir -p "$dir"
    make dist DIST_DIR="$dir" PG_CONFIG="$PG_CONFIG"
    (cd "$dir" && /usr/bin/python3 -m zipfile -e ./*.zip .)
    name=$(basename "$dir"/*.zip .zip)
    [[ $(ls "$dir") == "$name"$'\n'"$name.zip" ]]
    [[ -f $dir/$name/META.json && -f $dir/$name/README.md && -f $dir/$name/LICENSE ]]
    make -C "$dir/$name" -j"$jobs" PG_CONFIG="$PG_CONFIG" CXX="${CXX:-g++} $warnings"
    make -C "$dir/$name" PG_CONFIG="$PG_CONFIG" DESTDIR="$stage" install
    [[ -n $(find "$stage" -name fencelock.so) && -n $(find "$stage" -name fencelock.control) ]]
}

# In a directory that stays the same, so that a compiler's cache knows it again.
build_packages() {
    local tree=$package_dir/fencelock
    ! [[ -d /usr/lib/ccache ]] || export PATH=/usr/lib/ccache:$PATH
    rm -rf "$package_dir"
    copy_tree
    cd "$tree" || return
    # Other releases have other versions of PostgreSQL than the one that debian/control names.
    PG_UPDATECONTROL=yes DEB_BUILD_OPTIONS="nocheck parallel=$jobs" DEB_BUILD_PROFILES=nocheck \
        env -u CXX -u PG_CONFIG dpkg-buildpackage -us -uc
}

# (Older releases do not know the standards that were followed.)
lintian_finds_nothing() {
    lintian --allow-root --suppress-tags newer-standards-version --display-info --fail-on error,warning \
        "$package_dir"/*.changes
}

install_and_purge() {
    bounded 1200 scripts/packages/in_private_root "$package_dir" /mnt/fencelock/scripts/packages/install_and_purge /mnt
}
