#!/usr/bin/env bash
# Many lives with several actors each. LIVES_SEED=N: the first seed, 1000; LIVES=N: how many, 300; LIVES_ROUNDS=N: actors of each, 3.
set -euo pipefail
exec "$(dirname "${BASH_SOURCE[0]}")/run.sh" --seed "${LIVES_SEED:-1000}" --lives "${LIVES:-300}" --rounds "${LIVES_ROUNDS:-3}"
