# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between these files
# How results are kept and shown. Sourced by scripts/bench; $results is the directory.

# Puts lines from stdin between the marks <!-- NAME --> and <!-- /NAME --> of the README, and shows them.
report_section() { # NAME
    local name=$1 readme=$results/README.md text=$run_dir/section
    cat >"$text"
    cat "$text"
    [[ -f $readme ]] || printf '<!-- %s -->\n<!-- /%s -->\n' "$name" "$name" >"$readme"
    grep -qF "<!-- $name -->" "$readme" || printf '\n<!-- %s -->\n<!-- /%s -->\n' "$name" "$name" >>"$readme"
    awk -v begin="<!-- $name -->" -v end="<!-- /$name -->" -v file="$text" '
        $0 == end { inside = 0 }
        !inside { print }
        $0 == begin { inside = 1; while ((getline line < file) > 0) print line }
    ' "$readme" >"$readme.new"
    mv "$readme.new" "$readme"
}

# What the figures were measured on.
report_machine() {
    {
        echo
        echo "- $("$PG_CONFIG" --version), built by Debian; the extension by ${CXX:-g++} $(${CXX:-g++} -dumpfullversion)"
        echo "- $(uname -sr), $(nproc) processors ($(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)), $(awk '/^MemTotal/ { printf "%.0f GB", $2 / 1048576 }' /proc/meminfo) of memory"
        echo "- measured $(date -u +%Y-%m-%d) at commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
        echo
    } | report_section machine
}

# A table in Markdown from lines of fields separated by tabs; the first line is its head.
markdown_table() {
    awk -F '\t' '
        { printf "|"; for (i = 1; i <= NF; i++) printf " %s |", $i; print "" }
        NR == 1 { printf "| --- |"; for (i = 2; i <= NF; i++) printf " ---: |"; print "" }'
}

# The median, the lowest and the highest of numbers, one a line, as three fields.
spread() {
    sort -g | awk '
        { value[NR] = $1 }
        END {
            middle = NR % 2 ? value[(NR + 1) / 2] : (value[NR / 2] + value[NR / 2 + 1]) / 2
            printf "%.10g\t%.10g\t%.10g\n", middle, value[1], value[NR]
        }'
}

# Each round's figure of a variant over that of the first one in the same round.
paired_ratios() { # BASE VARIANT, lines of round, variant, figure on stdin
    awk -F '\t' -v base="$1" -v variant="$2" '
        $2 == base { of_base[$1] = $3 }
        $2 == variant { own[$1] = $3 }
        END { for (round in own) if (of_base[round] > 0) print own[round] / of_base[round] }'
}

plot() { # NAME, a program for gnuplot on stdin
    {
        echo "set terminal svg size 760,420 font 'sans-serif,13' background 'white'"
        echo "set output '$results/$1.svg'"
        echo "set datafile separator '\t'"
        echo "set grid"
        cat
    } | gnuplot
}
