#!/usr/bin/env bash
# Packs @vramwise/core, installs the tarball without a network and runs it as its users would.
set -euo pipefail
npm=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$npm")
tarball=$("$npm/build.sh" | tail -n 1)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
printf '{"name":"consumer","private":true,"type":"module"}\n' >package.json
npm install --offline --no-audit --no-fund --ignore-scripts --loglevel=error "$tarball"
cp "$npm"/tests/*.test.mjs "$npm"/tests/consumer.ts .
log=$root/build/npm/test.log status=0
VRAMWISE="$root/build/release/bin/vramwise" node --test --test-reporter=spec ./*.test.mjs >"$log" 2>&1 || status=$?
cat "$log"
passed=$(sed -n 's/^ℹ pass //p' "$log") failed=$(sed -n 's/^ℹ fail //p' "$log")
# The types, as a program in TypeScript sees them.
if "$root/web/node_modules/.bin/tsc" --noEmit --strict --module nodenext --target es2022 --lib es2023,dom consumer.ts; then
  passed=$((passed + 1))
else
  failed=$((failed + 1))
fi
echo "$passed passed, $failed failed"
((status == 0 && failed == 0))
