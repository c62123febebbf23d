# bash completion for fencelock                                            -*- shell-script -*-

_fencelock() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command='' i
    local global='--redis --db --keys --json --help --version'

    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        --redis | --db | --keys | --resource | -r | --ttl | --wait | --owner | --token) ((i++)) || true ;;
        --)
            # The program that runs under the lock completes as it does by itself.
            if [[ $command == run ]] && declare -F _command_offset >/dev/null; then
                _command_offset $((i + 1))
            fi
            return
            ;;
        -*) ;;
        *) command=${command:-${COMP_WORDS[i]}} ;;
        esac
    done

    case $prev in
    --keys)
        mapfile -t COMPREPLY < <(compgen -W 'tagged plain' -- "$cur")
        return
        ;;
    --redis | --db | --resource | -r | --ttl | --wait | --owner | --token)
        COMPREPLY=()
        return
        ;;
    esac

    local words
    case $command in
    '') words="run acquire renew release show doctor $global" ;;
    run) words="--resource --ttl --wait --no-confirm $global --" ;;
    acquire) words="--resource --ttl --wait --owner --no-confirm $global" ;;
    renew) words="--resource --owner --token --ttl $global" ;;
    release) words="--resource --owner --token $global" ;;
    show) words="--resource $global" ;;
    *) words=$global ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -F _fencelock fencelock
