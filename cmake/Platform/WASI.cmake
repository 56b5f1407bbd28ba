# CMake 3.25 does not know WASI; without this file it warns. Static archives only, no shared objects.
set(CMAKE_EXECUTABLE_SUFFIX "")
set_property(GLOBAL PROPERTY TARGET_SUPPORTS_SHARED_LIBS FALSE)
