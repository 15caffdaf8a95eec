# bash completion for h5redset

_h5redset() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} options=''
    case $before in
        --color) mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$word"); return ;;
        --scheme) mapfile -t COMPREPLY < <(compgen -W 'SINGLE PARTNER XOR RS' -- "$word"); return ;;
        --search | --to) mapfile -t COMPREPLY < <(compgen -d -- "$word"); return ;;
        --generation | --rank | --set-size | --timeout) return ;;
        --owner) mapfile -t COMPREPLY < <(compgen -u -- "$word"); return ;;
    esac
    if [ "$COMP_CWORD" = 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W 'status map rebuild scavenge protect unprotect rm gc mv list drop restore --help --version' -- "$word")
        return
    fi
    case ${COMP_WORDS[1]} in
        status) options='--verify --problems --json --search' ;;
        map) options='--verify --problems --svg --color --search' ;;
        rebuild) options='--dry-run --deleted --search --rank --wait' ;;
        scavenge) options='--to --dry-run --force --owner --search --wait' ;;
        protect) options='--scheme --set-size --force --wait' ;;
        unprotect) options='--dry-run --force --wait' ;;
        rm) options='--dry-run --force --wait' ;;
        gc) options='--dry-run --wait' ;;
        mv) options='--dry-run --wait' ;;
        list) options='--verify --json --search' ;;
        drop) options='--generation --changed --dry-run --force --wait' ;;
        restore) options='--generation --dry-run --wait' ;;
    esac
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options --timeout --help --version" -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}
complete -o filenames -F _h5redset h5redset
