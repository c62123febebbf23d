# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between these files
# Runs the models. Sourced after run.sh and packages.sh.

model_requirements=(
    'have spin|spin'
    'have gcc|gcc'
)

# A line for each run of the file `runs`, "ok" or "not ok", and one for each model, whether its runs have reached all that
# they should.
run_models() { # DIRECTORY [--long] WORD...
    local source=$1 line number=0 running=0 leave_out=long
    shift
    if [[ ${1:-} == --long ]]; then
        leave_out=nothing
        shift
    fi
    model_dir=$run_dir/models
    mkdir -p "$model_dir"
    printf '     %-8s %-8s %10s %6s %8s  %s\n' model expected states depth 'CPU s' options
    while IFS= read -r line; do
        [[ $line != *"|$leave_out|"* ]] && has_all_words "$line" "$@" || continue
        number=$((number + 1))
        if ((running >= $(nproc))); then
            wait -n || true
            running=$((running - 1))
        fi
        run_model "$source" "$model_dir/$number" "$line" &
        running=$((running + 1))
    done < <(all_runs "$source/runs")
    wait
    ((number > 0)) || die "no run of model/runs has all these words: $*"
    (($# > 0)) || check_witnesses "$source"
    # (One that broke off has told nothing.)
    [[ $(find "$model_dir" -name passed | wc -l) -eq $number && ! -e $model_dir/failed ]]
}

# Those of the file, and for each shortcut the same without it (its name is the first option): that must hold.
all_runs() { # FILE
    sed -E 's/ *\| */|/g; s/ +$//' "$1" | awk -F'|' '
        /^ *(#|$)/ { next }
        $2 == "long" { print; next }
        { print; seen[$1 "|" $3] = 1 }
        $2 == "refuted" { sub(/^-D[A-Z0-9_]+ */, "", $3); without[++count] = $1 "|" $3 }
        END {
            for (i = 1; i <= count; i++)
                if (!seen[without[i]]++) {
                    split(without[i], part, "|")
                    print part[1] "|holds|" part[2] "|without the shortcut"
                }
        }'
}

has_all_words() { # LINE WORD...
    local line=$1 word
    shift
    for word in "$@"; do
        [[ $line == *"$word"* ]] || return 1
    done
}

# One run in a directory of its own; says its result.
run_model() { # SOURCE DIRECTORY LINE
    local source=$1 dir=$2 model expected options about
    IFS='|' read -r model expected options about <<<"$3"
    mkdir -p "$dir"
    cp "$source"/*.pml "$dir/"
    cd "$dir" || return
    echo "$model $expected" >line
    local result word=ok TIMEFORMAT='%U %S'
    { time search_model "$model" "$expected" "$options" 2>&1; } 2>time
    result=$(result_of_model)
    if [[ $result != "$(wanted_result "$expected")" ]]; then
        word='not ok'
    fi
    printf '%-6s %-8s %-8s %10s %6s %8s  %s\n' "$word" "$model" "$expected" \
        "$(sed -nE 's/^ *([0-9]+) states, stored.*/\1/p' pan.log 2>/dev/null)" \
        "$(sed -nE 's/.*depth reached ([0-9]+).*/\1/p' pan.log 2>/dev/null)" "$(awk '{ print $1 + $2 }' time)" \
        "$options ($about)"
    if [[ $word == ok ]]; then
        touch passed
    else
        tail -n 20 build.log pan.log 2>/dev/null
    fi
}

search_model() { # MODEL EXPECTED OPTIONS
    local hash_bits=22
    [[ $2 != refuted && $2 != limit ]] || hash_bits=18
    build_model "$@" >build.log 2>&1 || return 0
    bounded 300 ./pan -m100000 -w"$hash_bits" >pan.log 2>&1 || true
}

# Counterexamples are searched breadth first, so that they are as short as can be.
build_model() { # MODEL EXPECTED OPTIONS
    local options flags='-O1'
    read -ra options <<<"$3"
    [[ $2 == holds || $2 == long ]] || flags='-O0 -DBFS'
    spin -a "${options[@]+"${options[@]}"}" "$1.pml"
    # shellcheck disable=SC2086 # several words
    gcc $flags -w -DSAFETY -DCOLLAPSE -DVECTORSZ=2048 -DMEMLIM=1000 -o pan pan.c
}

# What the search has shown.
result_of_model() {
    if [[ ! -s pan.log ]] || grep -qE '^(out of bounds|error: max search depth too small|pan: out of memory)' pan.log; then
        echo incomplete
    elif grep -q '^pan:1: assertion violated' pan.log; then
        echo broken
    elif grep -q 'errors: 0' pan.log; then
        echo kept
    else
        echo stuck
    fi
}

wanted_result() {
    case $1 in
    holds | long) echo kept ;;
    *) echo broken ;;
    esac
}

# Every witness of a model is reached in some run of it that holds.
check_witnesses() { # SOURCE
    local model missing
    for model in $(all_runs "$1/runs" | cut -d'|' -f1 | sort -u); do
        missing=$(comm -23 <(witnesses_in "$1/$model"*.pml) <(witnesses_reached "$model"))
        if [[ -z $missing ]]; then
            echo "ok - $model: its runs reach all of $(witnesses_in "$1/$model"*.pml | wc -l) places"
        else
            echo "not ok - $model: no run reaches" $missing
            touch "$model_dir/failed"
        fi
    done
}

witnesses_in() { grep -ohE 'witness\([a-z_]+\)' "$@" | sed -E 's/.*\((.*)\)/\1/' | sort -u; }

witnesses_reached() { # MODEL
    local line
    while IFS= read -r line; do
        sed -n 's/^witness: //p' "${line%/line}/pan.log"
    done < <(grep -lxE "$1 (holds|long)" "$model_dir"/*/line) | sort -u
}
