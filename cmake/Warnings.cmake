# vramwise_flags: what every one of our targets is compiled with. An INTERFACE library, no global flags.
add_library(vramwise_flags INTERFACE)
target_compile_features(vramwise_flags INTERFACE cxx_std_20)
target_compile_options(
  vramwise_flags
  INTERFACE -Wall -Wextra
            # Members have their defaults where they are declared; a shorter initialiser is meant.
            -Wno-missing-field-initializers
            # g++ 12 finds overlapping copies in std::string::insert that are not there (its bug 105329).
            $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
            # libstdc++'s own stable_sort uses what it has deprecated itself.
            $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>
            # a*b+c is never fused: every compiler and the WebAssembly module give the same doubles.
            -ffp-contract=off
            $<$<BOOL:${VRAMWISE_WERROR}>:-Werror>)
# Checked operator[] and front() of the standard library while developing.
target_compile_definitions(vramwise_flags INTERFACE $<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)

# vramwise_core_flags: the core also does without exceptions and run-time type information.
# Doors, tests and host/ keep both: CLI11 and rapidcheck need them.
add_library(vramwise_core_flags INTERFACE)
target_compile_options(vramwise_core_flags INTERFACE -fno-exceptions -fno-rtti)

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
  message(FATAL_ERROR "vramwise needs g++ 12 or newer, this is ${CMAKE_CXX_COMPILER_VERSION}")
endif()
