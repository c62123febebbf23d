# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between these files
# Counts what suites report, and says it. Sourced after run.sh.

suites_passed=0
suites_failed=0
suites_skipped=0
suite_started=$SECONDS
log_dir=
suite_ok=true
failures=() # what failed, for the end: the middle of a long output is what readers and CI cut away

# Lines of pg_regress and pg_isolation_regress: "... ok" up to PostgreSQL 15, TAP from 16 on.
regress_good='(\.\.\. ok( |$))|(^ok [0-9]+ )'
regress_bad='(\.\.\. FAILED)|(^not ok [0-9]+ )'

# One suite's result, said and counted; sets $suite_ok. A failed one shows the end of its log; one that
# ran nothing has failed.
suite_result() { # NAME PASSED FAILED SKIPPED LOG
    local name=$1 passed=$2 failed=$3 skipped=$4 log=$5 word=ok
    if ((passed + failed + skipped == 0)); then
        echo "(the suite ran nothing)" >>"$log"
        failed=1
    fi
    ((passed + failed > 0)) || word=skipped
    suite_ok=true
    if ((failed > 0)); then
        word=FAILED
        suite_ok=false
    fi
    printf '%-8s %-22s %4d passed, %d failed, %d skipped  (%d s)  %s\n' "$word" "$name" \
        "$passed" "$failed" "$skipped" $((SECONDS - suite_started)) "${log#"$PWD/"}"
    if ((failed > 0)); then
        show_log "$log"
        failures+=("FAILED   $name  ${log#"$PWD/"}" "$(tail -n 10 "$log" | cut -c 1-240)")
    fi
    ((suites_passed += passed, suites_failed += failed, suites_skipped += skipped)) || true
    suite_started=$SECONDS
}

show_log() { # LOG
    echo "---- the end of $1"
    tail -n 60 "$1" | cut -c 1-240
    echo "----"
}

# A check that is one command: passes where it succeeds. Sets $suite_ok; not to be called in a
# condition.
single_check() { # NAME COMMAND...
    local name=$1 log
    log=$(log_of "$name")
    shift
    run_logged "$log" "$@"
    suite_result "$name" $((run_status == 0)) $((run_status != 0)) 0 "$log"
}

log_of() { echo "$log_dir/$(tr -cs 'a-z0-9\n' '-' <<<"$1").log"; }

skip_suite() { # NAME REASON
    local log
    log=$(log_of "$1")
    echo "skipped: $2" | tee "$log"
    suite_result "$1" 0 0 1 "$log"
}

# A suite of many tests: runs the command, then counts the result lines of its log by patterns
# (extended regular expressions). A command that fails with no test counted as failed is a failure.
# Sets $suite_ok; not to be called in a condition.
counted_suite() { # NAME PASSED_PATTERN FAILED_PATTERN SKIPPED_PATTERN COMMAND...
    local name=$1 good=$2 bad=$3 left_out=$4 log
    log=$(log_of "$name")
    shift 4
    run_logged "$log" "$@"
    local passed failed skipped
    passed=$(lines_of "$log" "$good")
    failed=$(lines_of "$log" "$bad")
    skipped=$(lines_of "$log" "$left_out")
    if ((run_status != 0 && failed == 0)); then
        echo "(ended with status $run_status)" >>"$log"
        failed=1
    fi
    suite_result "$name" "$passed" "$failed" "$skipped" "$log"
    $suite_ok || [[ -z $bad ]] || failures+=("$(grep -E "$bad" "$log" | head -n 20 | cut -c 1-240 || true)")
}

lines_of() { # LOG PATTERN: how many match; an empty pattern matches none
    [[ -z $2 ]] && echo 0 || grep -cE "$2" "$1" || true
}

# What failed, then the last line in the form that test runners agree on; the status for the script's end.
suites_summary() {
    ((${#failures[@]} == 0)) || printf '%s\n' "${failures[@]}"
    if ((suites_skipped > 0)); then
        echo "$suites_passed passed, $suites_failed failed, $suites_skipped skipped"
    else
        echo "$suites_passed passed, $suites_failed failed"
    fi
    ((suites_failed == 0 && suites_passed > 0))
}
