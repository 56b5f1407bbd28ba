#!/usr/bin/env bash
# build/npm: the package @vramwise/core as a folder and as the tarball that `npm publish` would send.
set -euo pipefail
npm=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$npm")
wasm=${VRAMWISE_WASM:-$root/build/wasm/bin/vramwise.wasm}
out=$root/build/npm
[[ -f $wasm ]] || { echo "npm: $wasm is missing (./dev wasm builds it)" >&2; exit 70; }
"$root/web/build.sh" --install # the compiler is one of the page's tools

rm -rf "$out"
mkdir -p "$out/src" "$out/core"
# How the module is called and what it answers is written once, for the page.
cp "$npm"/src/*.ts "$root"/web/src/core/{bytes,module,types}.ts "$npm/tsconfig.json" "$out/src/"
printf '{"type":"module"}\n' >"$out/src/package.json"
"$root/web/node_modules/.bin/tsc" -p "$out/src" --outDir "$out/core/dist"
cp -r "$npm/README.md" "$npm/examples" "$root/LICENSE" "$wasm" "$out/core/"
sed "s/\"version\": \"0.0.0\"/\"version\": \"$(tr -d '\n' <"$root/VERSION")\"/" "$npm/package.json" >"$out/core/package.json"
(cd "$out/core" && npm pack --silent --pack-destination "$out" >/dev/null)
ls "$out"/*.tgz
