# One gtest program a part and one ctest entry a program: starting thousands of processes would cost
# more than the tests. `./dev test` counts the cases inside.

# Tests of the finished binary need no package: they are there in every build that has the binary.
# Run them with `ctest -L cli`. VRAMWISE names the binary.
if(TARGET vramwise)
  file(GLOB cli_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/cli/*_test.py
       ${PROJECT_SOURCE_DIR}/tests/cli/*_test.sh)
  foreach(script IN LISTS cli_tests)
    get_filename_component(name ${script} NAME_WE)
    if(script MATCHES "\\.py$")
      set(interpreter ${VRAMWISE_PYTHON} -B)
    else()
      set(interpreter bash)
    endif()
    add_test(NAME cli_${name} COMMAND ${interpreter} ${script})
    set_tests_properties(cli_${name} PROPERTIES LABELS cli ENVIRONMENT "VRAMWISE=$<TARGET_FILE:vramwise>")
  endforeach()
endif()

if(NOT VRAMWISE_BUILD_TESTS)
  return()
endif()

find_package(GTest REQUIRED)
find_package(rapidcheck REQUIRED)

# Helpers shared by tests: #include "support/….h", made from tests/support/.
file(GLOB_RECURSE support CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/support/*.cpp)
list(FILTER support EXCLUDE REGEX "_test\\.cpp$")
add_library(vramwise_test_support INTERFACE)
if(support)
  add_library(vramwise_test_support_objects STATIC ${support})
  target_link_libraries(vramwise_test_support_objects PUBLIC vramwise::host GTest::gmock rapidcheck)
  target_include_directories(vramwise_test_support_objects PUBLIC ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(vramwise_test_support INTERFACE vramwise_test_support_objects)
endif()
target_include_directories(vramwise_test_support INTERFACE ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(vramwise_test_support INTERFACE GTest::gmock GTest::gtest_main rapidcheck)
target_compile_definitions(
  vramwise_test_support
  INTERFACE VRAMWISE_GOLDEN_DIR="${PROJECT_SOURCE_DIR}/tests/golden"
            VRAMWISE_TESTS_DIR="${PROJECT_SOURCE_DIR}/tests"
            VRAMWISE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")

# vramwise_gtest(NAME FILES LIBRARIES…)
function(vramwise_gtest name files)
  if(NOT files)
    return()
  endif()
  add_executable(${name} ${files})
  target_link_libraries(${name} PRIVATE ${ARGN} vramwise_test_support)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name})
  # Brief: only failures and the closing count reach the log.
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "GTEST_BRIEF=1" TIMEOUT 1200)
endfunction()

foreach(part base json formats catalog model weights engines plan workload verify report api)
  file(GLOB_RECURSE tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${part}/*_test.cpp)
  vramwise_gtest(${part}_test "${tests}" vramwise::${part})
endforeach()
file(GLOB_RECURSE tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/host/*_test.cpp)
vramwise_gtest(host_test "${tests}" vramwise::host)
file(GLOB_RECURSE tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/apps/cli/*_test.cpp)
vramwise_gtest(cli_test "${tests}" vramwise_cli)

# tests/x_test.cpp is a program of its own; tests/<folder>/**/x_test.cpp are one program a folder.
file(GLOB singles CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/*_test.cpp)
foreach(file IN LISTS singles)
  get_filename_component(name ${file} NAME_WE)
  vramwise_gtest(${name} ${file} vramwise::host)
endforeach()
file(GLOB_RECURSE nested CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/*_test.cpp)
set(folders "")
foreach(file IN LISTS nested)
  file(RELATIVE_PATH relative ${PROJECT_SOURCE_DIR}/tests ${file})
  if(relative MATCHES "^([^/]+)/")
    list(APPEND folders ${CMAKE_MATCH_1})
    list(APPEND files_of_${CMAKE_MATCH_1} ${file})
  endif()
endforeach()
list(REMOVE_DUPLICATES folders)
foreach(folder IN LISTS folders)
  vramwise_gtest(tests_${folder}_test "${files_of_${folder}}" vramwise::host)
endforeach()
# The longest first: started last it would run on alone.
set_tests_properties(tests_property_test PROPERTIES COST 1000)

# Misuse that must not compile: each file has to compile as it stands and to fail with
# -DVRAMWISE_MISUSE, so a typo cannot pass for the error that is meant.
file(GLOB misuses CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/compile_fail/*.cpp)
foreach(file IN LISTS misuses)
  get_filename_component(name ${file} NAME_WE)
  add_test(NAME compile_fail_${name}
           COMMAND ${VRAMWISE_PYTHON} ${PROJECT_SOURCE_DIR}/tests/compile_fail/check.py ${file} --
                   ${CMAKE_CXX_COMPILER} -std=c++20 -fsyntax-only -I${PROJECT_SOURCE_DIR}/src
                   -I${PROJECT_BINARY_DIR}/third_party)
endforeach()
