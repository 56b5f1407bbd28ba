# vramwise.wasm: a reactor module (no main) that exports the C interface of include/vramwise/vramwise.h.
add_executable(vramwise_wasm apps/wasm/runtime.cpp)
target_link_libraries(vramwise_wasm PRIVATE vramwise::api vramwise_core_flags)
set_target_properties(vramwise_wasm PROPERTIES OUTPUT_NAME vramwise SUFFIX .wasm)
# With -flto the linker sees the whole program; the compiler's driver then runs wasm-opt over it when it finds one.
# Together they take a quarter off the code, so a build without it is told, not silently larger.
find_program(VRAMWISE_WASM_OPT wasm-opt NO_CMAKE_FIND_ROOT_PATH)
if(NOT VRAMWISE_WASM_OPT)
  message(WARNING "wasm-opt is missing (Debian package binaryen): the module will be larger than the page allows")
endif()
target_link_options(
  vramwise_wasm
  PRIVATE
  -mexec-model=reactor
  LINKER:--export=vramwise_alloc
  LINKER:--export=vramwise_free
  LINKER:--export=vramwise_handle
  LINKER:--export=vramwise_handle_parts
  # The stack lies below the data: an overflow traps instead of overwriting the data.
  LINKER:-z,stack-size=1048576
  LINKER:--stack-first
  LINKER:--gc-sections
  # What -Oz still takes for small enough to copy costs the page 2 % (docs/page.md): only what gets smaller is copied.
  LINKER:-mllvm,-inline-threshold=-50
  # What `./dev wasm --sizes` reads.
  LINKER:--Map=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/vramwise.map
  LINKER:--strip-all)

enable_testing()
find_program(VRAMWISE_NODE node NO_CMAKE_FIND_ROOT_PATH)
set(VRAMWISE_NATIVE ${PROJECT_SOURCE_DIR}/build/release/bin/vramwise
    CACHE FILEPATH "Native binary whose answers the module must repeat")
if(VRAMWISE_NODE)
  foreach(script module_test golden)
    add_test(NAME wasm_${script} COMMAND ${VRAMWISE_NODE} --no-warnings
                                         ${PROJECT_SOURCE_DIR}/tests/wasm/${script}.mjs
                                         $<TARGET_FILE:vramwise_wasm> ${VRAMWISE_NATIVE})
  endforeach()
endif()
