#!/usr/bin/env bash
# The command for `treadle bench report --rerun`: measures the entries that it names once more, with
# base and change in turns.
#   bench_rerun.sh BASE_TREADLE NEW_TREADLE SUITE.toml [more options of `treadle bench suite`]
set -euo pipefail
if (($# < 3)); then
  echo "usage: $0 BASE_TREADLE NEW_TREADLE SUITE.toml [OPTION...]" >&2
  exit 2
fi
base=$1 new=$2 suite=$3
shift 3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
while IFS= read -r entry; do
  "$new" bench suite "$suite" --only "$entry" --program "$base" --program "$new" \
    --out "$folder/base" --out "$folder/new" "$@"
  cat "$folder/base" >> "$TREADLE_RERUN_BASE"
  cat "$folder/new" >> "$TREADLE_RERUN_NEW"
done <<< "$TREADLE_RERUN_ENTRIES"
