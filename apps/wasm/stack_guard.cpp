// Debian's compiler runtime for wasm32 (libclang-rt-19-dev-wasm32) was built with the stack
// protector: its 128-bit helpers ask for these two symbols, and wasi-libc does not define them.

#include <cstdint>

extern "C" {

// Any value that is unlikely to be written by accident; a module has no secrets to guard.
std::uintptr_t __stack_chk_guard = 0x5bd1e995U;

[[noreturn]] void __stack_chk_fail() { __builtin_trap(); }

}  // extern "C"
