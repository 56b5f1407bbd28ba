#include "host/shared_library.h"

#include <dlfcn.h>

namespace vramwise::host {

bool SharedLibrary::open(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    handle_ = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) return true;
    if (const char* why = ::dlerror(); why != nullptr) problem_ = why;
  }
  return false;
}

void* SharedLibrary::symbol(const char* name) const {
  return handle_ == nullptr ? nullptr : ::dlsym(handle_, name);
}

}  // namespace vramwise::host
