// What the distributions' libraries for wasm32 ask for and do not define themselves.

#include <cstddef>
#include <cstdint>

extern "C" {

// libclang-rt-19-dev-wasm32 was built with the stack protector; its 128-bit helpers need these two.
// Any value that is unlikely to be written by accident; a module has no secrets to guard.
std::uintptr_t __stack_chk_guard = 0x5bd1e995U;

[[noreturn]] void __stack_chk_fail() { __builtin_trap(); }

// The module has one thread, which never ends: what lives as long as it need not be destroyed.
int __cxa_thread_atexit(void (*)(void*), void*, void*) { return 0; }

// Ubuntu 24.04 builds libc++ with exceptions (Debian 12 does not) but has no unwinder for the
// target. Only running out of memory gets here: operator new and std::string's length check.
[[noreturn]] void* __cxa_allocate_exception(std::size_t) { __builtin_trap(); }

[[noreturn]] void __cxa_throw(void*, void*, void (*)(void*)) { __builtin_trap(); }

}  // extern "C"
