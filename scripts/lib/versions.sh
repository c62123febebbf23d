# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between these files
# docs/versions.md, from what scripts/matrix saw. Sourced after chroots.sh.
#
# The result of a run on a release is a file of lines with tabs between their fields:
#   tested DATE | part NAME VERSION | suite NAME PASSED FAILED SKIPPED | why REASON

results_dir=$chroots_dir/results
runs=(gcc clang server)
parts=(
    'g++|g++-[0-9]*[0-9]'
    'clang|clang-[0-9]*[0-9]'
    'CMake|cmake'
    'PostgreSQL|postgresql-[0-9]*[0-9]'
    'libpqxx|libpqxx-dev'
    'hiredis|libhiredis-dev'
    'OpenSSL|libssl-dev'
    'Redis|redis-server'
    'Valkey|valkey-server'
)

# The lines of scripts/lib/suites.sh about suites.
suite_lines() { grep -E '^(ok|FAILED|skipped) +.* +[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped' "$1" || true; }

write_result() { # RELEASE RUN STATUS LOG
    local file=$results_dir/$1.$2 part
    {
        printf 'tested\t%s\n' "$(date -u +%F)"
        for part in "${parts[@]}"; do
            printf 'part\t%s\t%s\n' "${part%%|*}" "$(chroot_version "$1" "${part##*|}")"
        done
        suite_lines "$4" | sed -E \
            's/^[a-zA-Z]+ +(.*[^ ]) +([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped.*/suite\t\1\t\2\t\3\t\4/'
        sed -n 's/^skipped: /why\t/p' "$4"
        # It ended before its summary.
        if (($3 != 0)) && ! grep -qE '^[0-9]+ passed, [0-9]+ failed' "$4"; then
            printf 'suite\t(the rest)\t0\t1\t0\n'
        fi
    } >"$file.new"
    mv "$file.new" "$file"
}

write_versions() {
    local file=docs/versions.md
    versions_page >"$file.new"
    mv "$file.new" "$file"
    echo "written: $file"
}

versions_page() {
    cat <<-'END'
	# Tested versions

	Written by `scripts/matrix`, which runs the tests on these releases of Debian: do not edit.
	END
    local run part
    table_begin
    for part in "${parts[@]}"; do
        table_row "${part%%|*}" version_of "${part%%|*}"
    done
    for run in "${runs[@]}"; do
        echo
        case $run in
        gcc) echo "How many tests passed, built by g++, on Redis:" ;;
        clang) echo "Built by clang, on Valkey where the release has it:" ;;
        server) echo "PostgreSQL's own regression tests, with fencelock preloaded and created:" ;;
        esac
        table_begin
        suite_rows "$run"
        table_row "tested on" tested_on "$run"
    done
    skip_notes
}

table_begin() {
    local release header='| |' rule='| --- |'
    for release in "${releases[@]}"; do
        header+=" $(release_title "$release") |"
        rule+=' --- |'
    done
    printf '\n%s\n%s\n' "$header" "$rule"
}

# A cell for each release: what FUNCTION says of it and the arguments; a dash where that is nothing.
table_row() { # TITLE FUNCTION ARGUMENT...
    local line="| $1 |" function=$2 release cell
    shift 2
    for release in "${releases[@]}"; do
        cell=$("$function" "$release" "$@")
        line+=" ${cell:--} |"
    done
    echo "$line"
}

# Of a release, the result of a run or, without one, of the latest.
fields_of() { # RELEASE [RUN]
    local file
    file=$(find "$results_dir" -name "$1.${2:-*}" ! -name '*.new' -printf '%T@ %p\n' | sort -rn | sed -n '1s/^[^ ]* //p')
    [[ -z $file ]] || cat "$file"
}

version_of() { fields_of "$1" | awk -F '\t' -v part="$2" '$1 == "part" && $2 == part { print $3 }'; }
tested_on() { fields_of "$1" "$2" | awk -F '\t' '$1 == "tested" { print $2 }'; }

suite_rows() { # RUN
    local run=$1 suite
    while read -r suite; do
        table_row "$suite" suite_cell "$run" "$suite"
    done < <(for release in "${releases[@]}"; do fields_of "$release" "$run"; done |
        awk -F '\t' '$1 == "suite" && !($2 in seen) { seen[$2]; print $2 }')
}

suite_cell() { # RELEASE RUN SUITE
    fields_of "$1" "$2" | awk -F '\t' -v suite="$3" '
        $1 == "suite" && $2 == suite {
            text = $3 + $4 > 0 ? $3 : ""
            if ($4 > 0) text = text ", **" $4 " failed**"
            if ($5 > 0) text = (text == "" ? "" : text ", ") $5 " skipped"
            print text
        }'
}

skip_notes() {
    local release run
    for release in "${releases[@]}"; do
        for run in "${runs[@]}"; do
            fields_of "$release" "$run"
        done | awk -F '\t' -v release="$(release_title "$release")" \
            '$1 == "why" && !($2 in seen) { seen[$2]; print "- " release ": " $2 }'
    done | sed '1s/^/\nLeft out:\n\n/'
}
