# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between these files
# What the parts do with the private PostgreSQL. Sourced by scripts/bench.

psql_quiet() { "$("$PG_CONFIG" --bindir)/psql" -qXAt -v ON_ERROR_STOP=1 -d "${database:-postgres}" "$@"; }

# Compiles bench/NAME.c into the private installation.
build_module() { # NAME
    "${CC:-cc}" -O2 -fPIC -shared -I"$("$PG_CONFIG" --includedir-server)" \
        -o "$("$PG_CONFIG" --pkglibdir)/$1.so" "bench/$1.c"
}

have_pgbench() { [[ -x $("$(find_pg_config)" --bindir)/pgbench ]]; }
