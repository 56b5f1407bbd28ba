# fuzz/<entry>_fuzz.cpp defines LLVMFuzzerTestOneInput. Two programs can be made of it:
#   <entry>_replay  runs files it is given, needs no fuzzer, is a test (seeds and past crashes);
#   <entry>_fuzz    searches, with libFuzzer (`./dev fuzz <entry>`).
file(GLOB entries CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/fuzz/*_fuzz.cpp)
foreach(source IN LISTS entries)
  get_filename_component(entry ${source} NAME_WE)
  string(REGEX REPLACE "_fuzz$" "" entry ${entry})
  if(VRAMWISE_BUILD_REPLAY)
    add_executable(${entry}_replay ${source} fuzz/replay_main.cpp)
    target_link_libraries(${entry}_replay PRIVATE vramwise::api)
    set_target_properties(${entry}_replay PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
    add_test(NAME fuzz_replay_${entry}
             COMMAND ${entry}_replay ${PROJECT_SOURCE_DIR}/fuzz/seeds/${entry}
                     ${PROJECT_SOURCE_DIR}/fuzz/crashes/${entry})
    set_tests_properties(fuzz_replay_${entry} PROPERTIES LABELS fuzz TIMEOUT 300)
  endif()
  if(VRAMWISE_BUILD_FUZZERS)
    add_executable(${entry}_fuzz ${source})
    target_link_libraries(${entry}_fuzz PRIVATE vramwise::api)
    target_link_options(${entry}_fuzz PRIVATE -fsanitize=fuzzer)
    set_target_properties(${entry}_fuzz PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
  endif()
endforeach()
