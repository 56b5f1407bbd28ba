// Functions of libraries that may or may not be installed.
#pragma once

#include <initializer_list>
#include <string>

namespace vramwise::host {

class SharedLibrary {
 public:
  SharedLibrary() = default;
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;

  // Opens the first of the names that can be. Stays open for the life of the process: drivers'
  // libraries do not like to be unloaded.
  bool open(std::initializer_list<const char*> names);
  bool open(const std::string& name) { return open({name.c_str()}); }
  explicit operator bool() const { return handle_ != nullptr; }
  // Why the last name could not be opened.
  const std::string& problem() const { return problem_; }

  // False and nullptr when the library has no such function.
  template <class Function>
  bool find(const char* name, Function& function) const {
    function = reinterpret_cast<Function>(symbol(name));
    return function != nullptr;
  }

 private:
  void* symbol(const char* name) const;

  void* handle_ = nullptr;
  std::string problem_;
};

}  // namespace vramwise::host
