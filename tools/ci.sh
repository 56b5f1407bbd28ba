# Sourced by ./dev: the stages of `./dev test`, which is all that CI runs. One line of result a stage;
# the whole output of stage NAME is in build/ci/NAME.log.

stages=(versions style dev release cli asan wasm install npm web)
# A failure in one of these ends the run: what follows would only repeat it.
fail_fast=" versions style dev "

stage_versions() {
  need_native; need_tests; need_clang; need_format; need_wasm; need_node
  g++ --version | head -n 1
  clang++-19 --version | head -n 1
  cmake --version | head -n 1
  echo "ninja $(ninja --version)"
  echo "node $(node --version)"
  "$python" --version
  # Another version of clang-format formats differently.
  clang-format-19 --version | grep 'version 19\.'
}

stage_style() {
  format --check
  "$python" "$root/tools/check_layers.py"
  "$python" "$root/tools/check_tests.py"
  "$python" "$root/tools/check_docs.py"
  "$python" "$root/tools/option_tables.py" --check
  if [[ -f $root/tools/check_catalog.py ]]; then "$python" "$root/tools/check_catalog.py"; fi
}

stage_dev() { build dev; ctest_of dev; }
# Every figure and transcript of the README and of docs/ is what the program prints.
stage_release() { build_release; counted "$python" "$root/tools/transcripts.py" --check; }
stage_cli() { ctest_of release; }
# clang-19 with warnings as errors: also the second compiler's opinion. The preset `clang` is the same
# without the sanitizers and would cost minutes more for nothing new.
stage_asan() { build asan; ctest_of asan; }
stage_wasm() { build_wasm; (cd "$root" && cmake --preset wasm >/dev/null); ctest_of wasm; }
stage_install() {
  need_bench
  build release all bench # run by hand, compiled here so that they keep up with what they measure
  counted bash "$root/tests/install/run.sh"
}
stage_npm() { need_node; build_wasm; build_release; counted bash "$root/npm/test.sh"; }
stage_web() {
  need_node; need_browser
  build_wasm; build_release
  counted bash "$root/web/test.sh"
}

# ctest_of PRESET: adds what ran to the sum. ctest cuts long output unless told otherwise, and the
# number of cases stands at its end.
ctest_of() {
  local report=$ci/$stage.junit.xml status=0
  rm -f "$report"
  (cd "$root" && ctest --preset "$1" --no-tests=ignore "-j$jobs" --output-junit "$report" \
    --test-output-size-passed 1000000 --test-output-size-failed 1000000) || status=$?
  if [[ -f $report ]]; then "$python" "$root/tools/count_tests.py" "$report" >>"$ci/$stage.count"; fi
  return $status
}

# counted COMMAND…: a test that ctest does not know; one passed or one failed, unless the last line
# of its output says "N passed, N failed".
counted() {
  local output status=0
  output=$("$@" 2>&1) || status=$?
  printf '%s\n' "$output"
  if [[ $output =~ ([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    echo "${BASH_REMATCH[1]} ${BASH_REMATCH[2]}" >>"$ci/$stage.count"
  else
    echo "$((status == 0)) $((status != 0))" >>"$ci/$stage.count"
  fi
  return $status
}

# What to look at first in a log: the compiler's or the tests' own complaints, else its end.
explain() {
  local complaints
  # gtest says what went wrong below the line that says where.
  complaints=$(grep -nA6 ': Failure$' "$1" | cut -c1-200 | head -n 40) || true
  if [[ $complaints ]]; then printf '%s\n' "$complaints"; return; fi
  # ctest names what failed, timed out or was killed below the line that says so.
  complaints=$(grep -nE -A12 'The following tests FAILED' "$1" | cut -c1-200) || true
  complaints+=$'\n'$(grep -nE 'error:|ERROR:|Error[: ]|Failure|Traceback|\*\*\*|^dev: |undefined reference' "$1" | cut -c1-200 | head -n 25) || true
  complaints=${complaints#$'\n'}
  if [[ $complaints ]]; then printf '%s\n' "$complaints"; else tail -n 30 "$1"; fi
}

run_stages() {
  if [[ ${1-} == list ]]; then printf '%s\n' "${stages[@]}"; return; fi
  local chosen=("$@") passed=0 failed=0 broken=() stage
  (($#)) || chosen=("${stages[@]}")
  ci=$root/build/ci
  mkdir -p "$ci"
  need_native; need_tests; need_clang; need_format; need_wasm; need_node
  for stage in "${chosen[@]}"; do
    [[ $(type -t "stage_$stage") == function ]] || die "no stage $stage (./dev test list)"
    local log=$ci/$stage.log count=$ci/$stage.count started=$SECONDS status=0 p=0 f=0 note=
    rm -f "$count"
    # A subshell with errexit of its own; `|| status=$?` around it would switch errexit off inside.
    set +e
    (set -e; "stage_$stage") >"$log" 2>&1
    status=$?
    set -e
    if [[ -f $count ]]; then
      read -r p f < <(awk '{p += $1; f += $2} END {print p + 0, f + 0}' "$count")
      note="  $p passed, $f failed"
    fi
    # A stage that broke without a failing test (a build, a style check) is one failure.
    ((status == 0 || f > 0)) || f=1
    passed=$((passed + p)) failed=$((failed + f))
    if ((status == 0)); then
      printf 'ok    %-9s %4d s%s\n' "$stage" $((SECONDS - started)) "$note"
      [[ $stage != versions ]] || sed 's/^/        /' "$log"
    else
      printf 'FAIL  %-9s %4d s%s\n' "$stage" $((SECONDS - started)) "$note"
      broken+=("$stage")
      explain "$log" | sed 's/^/        /'
      [[ $fail_fast != *" $stage "* ]] || break
    fi
  done
  ((${#broken[@]} == 0)) || printf 'failed: %s (logs: build/ci/)\n' "${broken[*]}"
  # Alone on the last line: read by CI.
  printf '%d passed, %d failed\n' "$passed" "$failed"
  ((failed == 0))
}
