# shellcheck shell=bash disable=SC2154 # variables are shared between these files
# The recipes of examples/, each a suite with a log of its own. Sourced by scripts/check and
# examples/check after the other parts; needs the extension and the client installed ($PG_CONFIG,
# $prefix), and a running private server (PGHOST, PGPORT, PGUSER a superuser).

all_recipes() { (cd "$tree/examples" && ls -d ./*/check) | sed 's|^\./\(.*\)/check$|\1|'; }

# The packages of a recipe are those of the line "apt-get install ..." in its README.
packages_of() { # RECIPE
    sed -n 's/^apt-get install //p' "$tree/examples/$1/README.md" | tr -s ' ' '\n'
}

# Installs what recipes lack and this release has.
wish_for_recipes() { # RECIPE...
    local recipe package requirements=()
    for recipe in "$@"; do
        for package in $(packages_of "$recipe"); do
            package_is_unpacked "$package" || requirements+=("package_is_installed $package|$package")
        done
    done
    wish "${requirements[@]+"${requirements[@]}"}"
    for recipe in "$@"; do
        unpack_node_packages "$recipe"
    done
}

# Debian's packages for Node.js want its own Node.js. Beside another one they serve without being installed:
# unpacked, with what they depend on.
unpacked_packages=$build_dir/unpacked

unpack_node_packages() { # RECIPE
    local package
    for package in $(missing_of_recipe "$1" | grep '^node-'); do
        echo "unpacking: $package"
        unpack_package "$package" >>"$run_dir/apt.log" 2>&1 || echo "goes on without: $package"
    done
}

unpack_package() { # PACKAGE
    local names
    mapfile -t names < <(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts \
        --no-breaks --no-replaces --no-enhances "$1" | grep '^node-')
    ((${#names[@]})) && unpack_packages "$unpacked_packages/$1" "${names[@]}"
}

package_is_unpacked() { [[ -d $unpacked_packages/$1 ]]; }

# Not to be called in a condition.
run_recipes() { # RECIPE...
    local recipe
    REDIS_PORT=
    start_redis recipes-redis
    make_application_role
    for recipe in "$@"; do
        run_recipe "$recipe"
    done
}

make_application_role() {
    "$("$PG_CONFIG" --bindir)/psql" -Xq -d postgres -c "CREATE ROLE shop LOGIN"
}

# A recipe whose packages can't be had is skipped. One that passes has shown the three things that all
# of them show.
run_recipe() { # RECIPE
    local name="recipe $1" missing
    missing=$(missing_of_recipe "$1")
    if [[ -n $missing ]]; then
        skip_suite "$name" "not to be had here: ${missing//$'\n'/ }"
        return
    fi
    recipe_log=$(log_of "$name")
    counted_suite "$name" '^ok - ' '^not ok - ' '' check_recipe "$1"
}

missing_of_recipe() { # RECIPE
    local package
    for package in $(packages_of "$1"); do
        package_is_installed "$package" || package_is_unpacked "$package" || echo "$package"
    done
}

check_recipe() { # RECIPE
    make_recipe_database
    run_in_recipe_environment "$tree/examples/$1/check"
    has_shown "the good write is accepted"
    has_shown "the stale write is refused: LF001"
    has_shown "the forgotten token is refused: LF002"
}

# Its own database; and Redis has forgotten the last recipe's locks.
make_recipe_database() {
    local bin
    bin=$("$PG_CONFIG" --bindir)
    redis FLUSHALL
    "$bin/psql" -Xq -d postgres -c "DROP DATABASE IF EXISTS recipe WITH (FORCE)" -c "CREATE DATABASE recipe"
    "$bin/psql" -Xq -v ON_ERROR_STOP=1 -o /dev/null -d recipe -f "$tree/examples/lib/shop.sql"
}

# What a recipe's check finds: the servers, the installed client, and where unpacked packages are.
run_in_recipe_environment() { # COMMAND...
    local libraries
    libraries=$(client_libdir)
    bounded 300 env PGUSER=shop PGDATABASE=recipe REDIS_URL="redis://127.0.0.1:$REDIS_PORT" \
        PATH="$prefix/bin:$("$PG_CONFIG" --bindir):$PATH" LD_LIBRARY_PATH="$libraries" \
        PKG_CONFIG_PATH="$libraries/pkgconfig" UNPACKED="$unpacked_packages" \
        PYTHONPATH="$tree/examples/lib" PYTHONDONTWRITEBYTECODE=1 "$@"
}

# (The log is this function's own output.)
has_shown() { # WHAT
    grep -qxF "ok - $1" "$recipe_log" || echo "not ok - nothing shows that $1"
}
