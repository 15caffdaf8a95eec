#!/usr/bin/env bash
# One word for one thing: those of docs/glossary.md. What was said before them does not come back.
set -euo pipefail
cd "${REDSET_SOURCE_DIR:-$(dirname "${BASH_SOURCE[0]}")/../..}"
bad=0

# gone WORD INSTEAD: no line of the tree, but of the format that is not ours to word, has the old word in it
gone() {
    local found
    found=$(grep -rnIiE "(^|[^[:alpha:]])($1)([^[:alpha:]]|\$)" .ci CMakeLists.txt CONTRIBUTING.md README.md bindings cmake docs encode \
        examples include test tools vfd --exclude=FORMAT.md --exclude=words.sh --exclude-dir=golden \
        --exclude-dir=corpus || true)
    [ -z "$found" ] || { printf 'the word is %s, not this one:\n%s\n\n' "$2" "$found"; bad=1; }
}

gone 'witness(es|ed)?' 'verified re-read'
gone 'muster' 'recovery'
gone 'ways? back' 'rollback, or undo journal'
gone '(take|takes|taken|took) back' 'rolled back'
gone 'brought back' 'rebuilt'
gone 'made anew' 're-encoded, or created over'
gone 'in vain' 'timed out'
gone 'half[- _]changed' 'partially written'
gone 'beyond repair|hopeless' 'unrecoverable'
gone 'stale' 'outdated (older), or dirty (newer and unprotected)'
gone 'litter' 'orphans'
gone 'frozen' 'read-only'
gone 'trusting' 'optimistic'
gone 'sets? (it |them |the communicator )?aside' 'revoke'
gone 'rset_life[a-z_]*|life_[a-z]+|lifecycle' 'session'
gone 'teach(es)?|good-?bye' 'announce, leave'
gone 'meetings?' 'rendezvous'
gone 'seats?' 'member, and its host'
exit "$bad"
