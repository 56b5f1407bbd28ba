// What the distributions' libraries for wasm32 ask for and do not define themselves, or define by
// way of a printf and a strtod with 128-bit floats that nothing else in the module needs.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/text.h"

// libc++ leaves this one to programs: the message of a broken precondition, which nobody would see.
[[noreturn]] void std::__libcpp_verbose_abort(const char*, ...) { __builtin_trap(); }

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

[[noreturn]] void abort_message(const char*, ...) { __builtin_trap(); }

// The JSON library alone calls the ones below, strtod of its three. It shows a control character of
// the last token in a message whose end src/json/parse.cpp cuts off, and takes a number too large
// for a double as an infinite one.
int snprintf(char* text, std::size_t size, const char*, ...) {
  if (size > 0) *text = '\0';
  return 0;
}

double strtod(const char* text, char** end) {
  const std::size_t length = std::strlen(text);
  if (end != nullptr) *end = const_cast<char*>(text) + length;
  return vramwise::parse_number({text, length}).value_or(HUGE_VAL);
}

float strtof(const char*, char**) { __builtin_trap(); }

long double strtold(const char*, char**) { __builtin_trap(); }

}  // extern "C"
