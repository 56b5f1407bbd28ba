#!/usr/bin/env bash
# Tests of the page: types, units, then the built page in Chromium. The last line says "N passed, N failed".
set -euo pipefail
web=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$web")
"$web/build.sh"
cd "$web"
passed=0 failed=0

# tally STATUS PASSED FAILED: a tool that broke without counting is one failure.
tally() {
  passed=$((passed + $2)) failed=$((failed + $3))
  if (($1 != 0 && $3 == 0)); then failed=$((failed + 1)); fi
}

status=0; npx --no-install tsc --noEmit || status=$?
tally $status $((status == 0)) 0
status=0; npx --no-install vitest run --reporter=json --outputFile="$root/build/web/unit.json" >"$root/build/web/unit.log" 2>&1 || status=$?
((status == 0)) || cat "$root/build/web/unit.log"
read -r p f < <(node -e 'const r = JSON.parse(require("fs").readFileSync(process.argv[1])); console.log(r.numPassedTests, r.numFailedTests)' "$root/build/web/unit.json" || echo 0 1)
tally $status "$p" "$f"

if [[ -z ${CHROMIUM-} ]] && ! command -v chromium chromium-browser google-chrome >/dev/null; then
  echo "no Chromium here: the tests in the browser were left out (CHROMIUM=PATH names one)"
else
  log=$root/build/web/browser.log status=0
  timeout 2400 node --test --test-concurrency=1 --test-reporter=spec ${VRAMWISE_WEB_TESTS-tests/*.test.mjs} >"$log" 2>&1 || status=$?
  cat "$log"
  p=$(sed -n 's/^ℹ pass //p' "$log") f=$(sed -n 's/^ℹ fail //p' "$log")
  tally $status "${p:-0}" "${f:-1}"
fi
echo "$passed passed, $failed failed"
((failed == 0))
