# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between these files
# How the demonstration talks: a timeline of time, who, what; and what was proved. Sourced.

if [[ -t 1 && -z ${NO_COLOR:-} && ${TERM:-dumb} != dumb ]]; then
    bold=$'\e[1m' plain=$'\e[0m' good=$'\e[32m' bad=$'\e[31m'
    declare -A colour_of=([A]=$'\e[36m' [B]=$'\e[35m' [Redis]=$'\e[33m' [PostgreSQL]=$'\e[34m')
else
    bold='' plain='' good='' bad=''
    declare -A colour_of=()
fi

proofs=0
disproofs=0
lessons=()

# Tenths of a second since the start.
start_clock() { clock_start=$(date +%s%N); }

chapter() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }

say() { # WHO TEXT
    local tenths=$((($(date +%s%N) - clock_start) / 100000000))
    printf '%4d.%d s  %s%-10s%s  %s\n' $((tenths / 10)) $((tenths % 10)) \
        "${colour_of[$1]:-}" "$1" "$plain" "$2"
}

# A claim holds where what was found, from the servers' real content, is what it must be.
prove() { # CLAIM FOUND EXPECTED
    if [[ $2 == "$3" ]]; then
        ((++proofs))
        printf '  %sproved:%s %s\n' "$good" "$plain" "$1"
    else
        ((++disproofs))
        printf '  %sNOT proved:%s %s (expected "%s", found "%s")\n' "$bad" "$plain" "$1" "$3" "$2"
    fi
}

prove_rises() { # CLAIM LOWER HIGHER
    local verdict=falls
    ((10#$3 > 10#$2)) && verdict=rises
    prove "$1" "$verdict" rises
}

# A server's answer of several lines, joined by "|": the first beside who says it, the rest below.
say_error() { # WHO TEXT
    local lines line
    IFS='|' read -ra lines <<<"${2#refused }"
    say "$1" "$bad${lines[0]:-no error}$plain"
    for line in "${lines[@]:1}"; do
        printf '%22s%s\n' '' "$line"
    done
}

# What a chapter has shown, for the end.
lesson() { lessons+=("$*"); }

# The story's end: what was shown, and the status.
conclude() {
    ((disproofs == 0)) || die "$disproofs of $((proofs + disproofs)) claims did NOT hold"
    local number
    chapter "What was shown ($proofs claims, each checked against the servers' real content)"
    for number in "${!lessons[@]}"; do
        printf '  %d. %s\n' $((number + 1)) "${lessons[number]}"
    done
}
