#!/usr/bin/env bash
# Builds and runs the tests.
#   test.sh all         both of the following: what make test and CI run
#   test.sh release     the release build
#   test.sh sanitizers  AddressSanitizer + UndefinedBehaviorSanitizer, then ThreadSanitizer
# The last lines say how many models ran and "N passed, N failed, N skipped"; the exit code is 1 when
# anything failed. Models beyond those of tests/models come from $TREADLE_MODELS (../shared/models).
set -uo pipefail
cd "$(dirname "$0")/.."
# A sanitizer is not begun after this many minutes and then counts as skipped: CI has an hour.
latest_asan=${TREADLE_ASAN_LATEST_START:-35}
latest_tsan=${TREADLE_TSAN_LATEST_START:-47}
mode=${1:-all}
case $mode in
  all | release | sanitizers) ;;
  *) echo "usage: $0 all|release|sanitizers" >&2; exit 2 ;;
esac

jobs=${JOBS:-$(nproc)}
passed=0 failed=0 skipped=0
failures=()
mkdir -p build

stage() { printf '== %s (%d min %02d s)\n' "$1" $((SECONDS / 60)) $((SECONDS % 60)); }

# starts NAME MINUTES: false, counted as skipped, when more minutes are gone.
starts() {
  ((SECONDS < $2 * 60)) && return 0
  echo "skipped: the tests under $1, since $((SECONDS / 60)) minutes are gone"
  skipped=$((skipped + 1))
  return 1
}

# build PRESET TARGET...: false, counted as one failure, when it does not build.
build() {
  local preset=$1 log=build/test-$1-build.log
  shift
  stage "build $preset"
  # Precompiled headers make a build from nothing a third faster; a build folder keeps its choice.
  local options=()
  [[ -f build/$preset/build.ninja ]] || options=(-DTREADLE_PCH=ON)
  if ! { cmake --preset "$preset" "${options[@]+"${options[@]}"}" && ninja -C "build/$preset" -j"$jobs" "$@"; } >"$log" 2>&1; then
    grep -E -A3 'error|FAILED' "$log" | head -40
    echo "building $preset failed; the whole log is $log"
    failed=$((failed + 1))
    failures+=("build of $preset")
    return 1
  fi
}

# check PRESET CTEST-ARGUMENT...
check() {
  local preset=$1 report=$PWD/build/test-$1.xml
  shift
  stage "test $preset"
  rm -f "$report"
  local code=0
  ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j"$jobs" \
    --output-junit "$report" "$@" || code=$?
  if [[ ! -s $report ]]; then
    failed=$((failed + 1))
    failures+=("$preset: no report of tests")
    return
  fi
  # ctest puts each attribute of <testsuite> on a line of its own.
  local head total bad missed
  head=$(tr '\n' ' ' <"$report" | grep -o '<testsuite [^>]*>' | head -1)
  number() { sed -E "s/.*[[:space:]]$1=\"([0-9]+)\".*/\1/" <<<"$head"; }
  total=$(number tests) bad=$(number failures) missed=$(($(number skipped) + $(number disabled)))
  if [[ $code -ne 0 && $bad -eq 0 ]]; then
    # Tests whose program is missing count as not run.
    bad=1 missed=$((missed > 0 ? missed - 1 : 0))
    failures+=("$preset: ctest ended with code $code")
  fi
  passed=$((passed + total - bad - missed))
  failed=$((failed + bad))
  skipped=$((skipped + missed))
  while read -r name; do failures+=("$preset: $name"); done < <(
    grep -o '<testcase name="[^"]*"[^>]*status="fail"' "$report" | sed -E 's/.*name="([^"]*)".*/\1/')
}

if [[ $mode != sanitizers ]]; then
  build release all && check release
fi

if [[ $mode != release ]]; then
  export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1:strict_string_checks=1
  export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
  export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
  if starts "AddressSanitizer" "$latest_asan"; then
    build asan suite && check asan -LE full
  fi
  if starts "ThreadSanitizer" "$latest_tsan"; then
    build tsan threads_test gpu_test && check tsan -R '^(threads|gpu_races)$'
  fi
fi

stage "done"
[[ $mode != sanitizers ]] && grep -h '^models:' build/release/Testing/Temporary/LastTest.log 2>/dev/null
for f in "${failures[@]+"${failures[@]}"}"; do echo "failed: $f"; done
echo "$passed passed, $failed failed, $skipped skipped"
[[ $failed -eq 0 && $passed -gt 0 ]]
