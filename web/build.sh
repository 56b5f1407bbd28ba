#!/usr/bin/env bash
# build/web/vramwise.html from web/, catalog/ and build/wasm/bin/vramwise.wasm. `./dev web` builds the latter first.
set -euo pipefail
web=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$web")
wasm=${VRAMWISE_WASM:-$root/build/wasm/bin/vramwise.wasm}
out=$root/build/web
parts=$out/parts
[[ -f $wasm ]] || { echo "web: $wasm is missing (./dev wasm builds it)" >&2; exit 70; }
mkdir -p "$parts"

# The lock file decides; installed again only when it has changed.
if ! cmp -s "$web/package-lock.json" "$web/node_modules/.installed-lock"; then
  (cd "$web" && npm ci --no-audit --no-fund --loglevel=error)
  cp "$web/package-lock.json" "$web/node_modules/.installed-lock"
fi
[[ ${1-} != --install ]] || exit 0

# The index asks the core about every model of the catalog: only when either has changed.
cd "$web"
VRAMWISE_ENTRY=questions npx --no-install vite build
if [[ ! -f $parts/index.json || -n $(find "$root/catalog" "$wasm" "$web/scripts/index_data.mjs" "$web/src/state" -newer "$parts/index.json" -print -quit) ]]; then
  node --no-warnings "$web/scripts/index_data.mjs" "$wasm" "$parts/questions.js" "$parts/index.json"
fi
for entry in worker unpack main streams; do VRAMWISE_ENTRY=$entry npx --no-install vite build; done
node scripts/pack.mjs "$parts" "$wasm" "$(tr -d '\n' <"$root/VERSION")" "$out/vramwise.html"
