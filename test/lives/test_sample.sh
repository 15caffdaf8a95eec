#!/usr/bin/env bash
# A life with each actor but those of the night, and the judge itself with outcomes that it must notice.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
command -v python3 >/dev/null || { echo 'SKIP: no python3'; exit 77; }
PYTHONDONTWRITEBYTECODE=1 python3 "$here/judge_tried.py"
exec "$here/run.sh" --sample --seed "${LIVES_SEED:-1}"
