#!/usr/bin/env bash
# Installs the release build into an empty folder and uses it the three ways a person would:
# the program, find_package, pkg-config.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$root/build/install_test
rm -rf "$work"
prefix=$work/moved
DESTDIR='' cmake --install "$root/build/release" --prefix "$work/first" >/dev/null
mv "$work/first" "$prefix" # nothing may depend on where it was installed first
passed=0

"$prefix/bin/vramwise" --version
passed=$((passed + 1))

# Completions and manual pages, the latter one for each command.
for file in share/bash-completion/completions/vramwise share/zsh/site-functions/_vramwise \
  share/fish/vendor_completions.d/vramwise.fish share/man/man1/vramwise.1 share/man/man1/vramwise-plan.1; do
  [[ -s $prefix/$file ]] || { echo "not installed: $file"; exit 1; }
done
bash -n "$prefix/share/bash-completion/completions/vramwise"
passed=$((passed + 1))

# The page goes with the program where it was built.
if [[ -f $root/build/web/vramwise.html ]]; then
  [[ $("$prefix/bin/vramwise" web --path) == "$prefix/share/vramwise/vramwise.html" ]]
  passed=$((passed + 1))
fi

cmake -S "$root/tests/install/consumer" -B "$work/consumer" -G Ninja "-DCMAKE_PREFIX_PATH=$prefix" >/dev/null
cmake --build "$work/consumer" >/dev/null
"$work/consumer/consumer"
passed=$((passed + 1))

pc=$(find "$prefix" -name vramwise.pc)
# shellcheck disable=SC2046
cc -Werror -o "$work/by_pkg_config" "$root/tests/install/consumer/main.c" \
  $(PKG_CONFIG_PATH=${pc%/*} pkg-config --cflags --libs vramwise) "-Wl,-rpath,$(dirname "${pc%/*}")"
"$work/by_pkg_config"
passed=$((passed + 1))

# Only the C interface is visible from outside.
exported=$(nm -D --defined-only "$(find "$prefix" -name libvramwise.so)" | awk '{print $3}' | grep -v '^vramwise_' || true)
[[ -z $exported ]] || { printf 'also exported:\n%s\n' "$exported"; exit 1; }
passed=$((passed + 1))
echo "$passed passed, 0 failed"
