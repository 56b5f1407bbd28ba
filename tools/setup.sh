# Sourced by ./dev: finds what a command needs and installs what is missing. Debian 12 and Ubuntu 24.04.
# Each need is "package probe": the probe is a program, or a header below an include directory.

jobs=${VRAMWISE_JOBS:-$(nproc)}
# The distribution's Python before one of the user's: it sees the distribution's packages.
python=/usr/bin/python3
[[ -x $python ]] || python=python3

need_native() {
  need "to build" "g++ g++" "cmake cmake" "ninja-build ninja" "python3 python3" \
    "nlohmann-json3-dev nlohmann/json.hpp" "libexpected-dev tl/expected.hpp" "libcli11-dev CLI/CLI.hpp" \
    "libcurl4-openssl-dev curl-config"
}
need_tests() {
  need "to test" "libgtest-dev gtest/gtest.h" "libgmock-dev gmock/gmock.h" \
    "librapidcheck-dev rapidcheck.h" "python3-jsonschema @/usr/lib/python3/dist-packages/jsonschema" \
    "python3-yaml @/usr/lib/python3/dist-packages/yaml" "groff-base groff" "zsh zsh" "fish fish" \
    "pkg-config pkg-config"
}
need_clang() {
  need "for the sanitizers" "clang-19 clang++-19" "llvm-19 llvm-symbolizer-19" \
    "libclang-rt-19-dev @/usr/lib/llvm-19/lib/clang/19/lib/linux"
}
need_wasm() {
  need_native
  need "for WebAssembly" "clang-19 clang++-19" "llvm-19 llvm-ar-19" "lld-19 wasm-ld-19" "binaryen wasm-opt" \
    "wasi-libc @/usr/include/wasm32-wasi/stdio.h" \
    "libc++-19-dev-wasm32 @/usr/lib/llvm-19/include/wasm32-wasi/c++" \
    "libc++abi-19-dev-wasm32 @/usr/lib/wasm32-wasi/libc++abi.a" \
    "libclang-rt-19-dev-wasm32 @/usr/lib/llvm-19/lib/clang/19/lib/wasi"
}
need_format() { need "to check the format" "clang-format-19 clang-format-19"; }
need_tidy() { need "for clang-tidy" "clang-tidy-19 clang-tidy-19"; }
need_bench() { need "for the benchmarks" "libbenchmark-dev benchmark/benchmark.h"; }

# Ubuntu's package is a stub for a snap, which a container cannot run: the tests there go without.
need_browser() {
  if present chromium || present google-chrome || ! grep -q '^ID=debian' /etc/os-release; then return; fi
  need "to test the page" "chromium chromium"
}

present() {
  case $1 in
    @*) [[ -e ${1#@} ]] ;;
    *.h | *.hpp) [[ -e /usr/include/$1 || -e /usr/local/include/$1 ]] ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

# need WHY "package probe"…
need() {
  local why=$1 entry missing=()
  shift
  for entry in "$@"; do
    present "${entry#* }" || missing+=("${entry%% *}")
  done
  ((${#missing[@]} == 0)) || install_packages "$why" "${missing[@]}"
}

install_packages() {
  local why=$1 log
  shift
  if ! command -v apt-get >/dev/null; then
    die "missing $why: $* (names of Debian packages; there is no apt-get here, so please install them)"
  fi
  local as_root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null || die "missing $why: $* (install them as root: apt-get install $*)"
    as_root=(sudo)
  fi
  say "installing $why: $*"
  log=$(mktemp)
  as_root+=(env DEBIAN_FRONTEND=noninteractive)
  # The lists may be old or absent (fresh container); they are fetched once a call.
  if [[ -z ${apt_updated-} ]]; then
    "${as_root[@]}" apt-get -qq update >"$log" 2>&1 || say "apt-get update failed, trying with the lists at hand"
    apt_updated=1
  fi
  if ! "${as_root[@]}" apt-get -qq -y --no-install-recommends install "$@" >>"$log" 2>&1; then
    tail -n 15 "$log" >&2
    die "apt-get could not install: $* (whole output: $log)"
  fi
  rm -f "$log"
}

# need_node: puts a Node of at least 20.19 first in PATH; from the npm registry if the system's is older.
need_node() {
  local own=$root/.cache/node/node_modules/node/bin
  if node_is_new node; then return; fi
  if ! node_is_new "$own/node"; then
    need "to get a newer Node" "nodejs node" "npm npm"
    if node_is_new node; then return; fi
    say "installing Node 20 from the npm registry into .cache/node"
    mkdir -p "$root/.cache/node"
    npm install --prefix "$root/.cache/node" --no-audit --no-fund --loglevel=error node@20 >&2 ||
      die "npm could not install node@20"
    node_is_new "$own/node" || die "the Node that npm installed does not run: $own/node"
  fi
  PATH=$own:$PATH
}

node_is_new() {
  command -v "$1" >/dev/null || return 1
  "$1" -e 'const [a, b] = process.versions.node.split(".").map(Number);
           process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' 2>/dev/null
}
