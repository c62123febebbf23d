# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between these files
# README.md's code blocks are run, so that they stay true. Sourced by scripts/check.

# The blocks of one language, joined.
readme_blocks() { # LANGUAGE
    awk -v start="\`\`\`$1" '$0 == start { inside = 1; next } /^```/ { inside = 0 } inside' "$tree/README.md"
}

# Runs the SQL in a database "shop" of the running server. The errors that it gets must be those that its
# comments announce ("-- ERROR:  ..."), in their order.
check_readme_sql() {
    local bin announced found
    bin=$("$PG_CONFIG" --bindir)
    "$bin/createdb" shop
    readme_blocks sql >"$run_dir/readme.sql"
    announced=$(sed -n 's/^-- \(ERROR: .*\)/\1/p' "$run_dir/readme.sql")
    found=$("$bin/psql" -Xq -v VERBOSITY=terse -d shop -f "$run_dir/readme.sql" 2>&1 |
        tee /dev/stderr | sed -n 's/^.*\(ERROR: .*\)/\1/p')
    [[ -n $announced && $found == "$announced" ]]
    [[ $("$bin/psql" -XAtc "SELECT status, fence_token FROM orders" -d shop) == "packed|2" ]]
}

# Builds the C++ program by the command that the README gives, and runs it on that database.
check_readme_cpp() {
    local dir=$run_dir/readme command token
    mkdir -p "$dir"
    readme_blocks cpp >"$dir/ship.cpp"
    command=$(readme_blocks sh | grep '^g++ ')
    (cd "$dir" && PKG_CONFIG_PATH=$(client_libdir)/pkgconfig bash -c "$command")
    REDIS_PORT=
    start_redis readme-redis
    LD_LIBRARY_PATH=$(client_libdir) "$dir/ship" "redis://127.0.0.1:$REDIS_PORT" | tee "$dir/said"
    token=$(sed -n 's/^shipped with token //p' "$dir/said")
    [[ $("$("$PG_CONFIG" --bindir)/psql" -XAtc "SELECT status, fence_token FROM orders" -d shop) == "shipped|$token" ]]
}
