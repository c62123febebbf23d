# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between these files
# What the documents show is run, their links are followed, and the reference is compared with the code.
# Sourced by scripts/check.

# Those whose blocks are run; all others are shown only.
documents=(
    README.md
    docs/{start,how-it-works,failures,choosing,roll-out,operations,security,effects-outside,issuers,recipes,developing}.md
    docs/reference/{sql,errors,client,redis,command-line}.md
)

# Against the running private PostgreSQL and a Redis of their own.
run_documents() {
    install_document_programs
    REDIS_PORT=
    start_redis documents-redis
    counted_suite "documents" '^ok ' '^not ok ' '' run_blocks
    counted_suite "links" '^ok ' '^not ok ' '' /usr/bin/python3 "$tree/scripts/documents/links.py" "$tree"
    counted_suite "reference" '^ok ' '^not ok ' '' compare_reference
}

# The programs that the documents name, by those names.
install_document_programs() {
    document_programs=$run_dir/documents
    mkdir -p "$document_programs"
    ln -sf "$("$PG_CONFIG" --bindir)"/* "$document_programs/"
    # shellcheck disable=SC2016 # for the programs that are written
    {
        printf '#!/bin/sh\nexec "$DOCUMENTS_REDIS_CLI" -s "$DOCUMENTS_REDIS_SOCKET" "$@"\n' \
            >"$document_programs/redis-cli"
        printf '#!/bin/sh\nexec %s/bin/fencelock "$@"\n' "$prefix" >"$document_programs/fencelock"
    }
    chmod 755 "$document_programs/redis-cli" "$document_programs/fencelock"
}

run_blocks() {
    local libdir
    libdir=$(client_libdir)
    use_document_programs
    export DOCUMENTS_REDIS=127.0.0.1:$REDIS_PORT DOCUMENTS_REDIS_SOCKET=$redis_socket
    export DOCUMENTS_REDIS_CLI=$redis_cli PKG_CONFIG_PATH=$libdir/pkgconfig
    DOCUMENTS_CXX="${CXX:-g++} -std=c++20 $warnings $(pkg-config --cflags fencelock)"
    export DOCUMENTS_CXX
    /usr/bin/python3 scripts/documents/blocks.py "${documents[@]}"
}

compare_reference() {
    use_document_programs
    /usr/bin/python3 scripts/documents/reference.py "$tree" "$prefix/bin/fencelock"
}

use_document_programs() {
    cd "$tree"
    PATH=$document_programs:$PATH
    LD_LIBRARY_PATH=$(client_libdir)
    export PATH LD_LIBRARY_PATH
}
