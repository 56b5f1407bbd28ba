# Adding an architecture or an engine is adding a file. The tables that list them are written here from
# what lies on disk: no list to keep by hand, and no static initialisers, which linkers drop from
# static libraries. See docs/adr/0002-registry-generated-by-cmake.md.

# Writes one registry.gen.cpp and adds it to its part. PREFIX_<name>() is what each listed file defines.
function(vramwise_registry part header item prefix names)
  list(SORT names)
  set(item_lower "")
  set(declarations "")
  set(entries "")
  foreach(name IN LISTS names)
    string(APPEND declarations "const ${item}& ${prefix}_${name}();\n")
    string(APPEND entries "    &${prefix}_${name},\n")
  endforeach()
  string(REGEX REPLACE "Rule$" "" factory "${item}")
  string(APPEND factory "Factory")
  set(function ${prefix}_factories)
  if(names)
    set(body "namespace {\nconstexpr ${factory} kFactories[] = {\n${entries}};\n}  // namespace\n
std::span<const ${factory}> ${function}() { return kFactories; }\n")
  else()
    set(body "std::span<const ${factory}> ${function}() { return {}; }\n")
  endif()
  set(output ${PROJECT_BINARY_DIR}/generated/${part}/registry.gen.cpp)
  # file(CONFIGURE) leaves an unchanged file alone, so a re-run of CMake recompiles nothing.
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT
"// Written by cmake/Registry.cmake from the files on disk, sorted by name.
#include <span>

#include \"@header@\"

namespace vramwise::@part@ {

@declarations@
@body@
}  // namespace vramwise::@part@
")
  target_sources(vramwise_${part} PRIVATE ${output})
endfunction()

function(vramwise_generate_registries)
  if(EXISTS ${PROJECT_SOURCE_DIR}/src/model/arch_rule.h)
    file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/model/archs/*.cpp)
    set(names "")
    foreach(file IN LISTS files)
      get_filename_component(name ${file} NAME_WE)
      if(NOT name MATCHES "^_|_test$")
        list(APPEND names ${name})
      endif()
    endforeach()
    vramwise_registry(model model/arch_rule.h ArchRule arch "${names}")
  endif()
  if(EXISTS ${PROJECT_SOURCE_DIR}/src/engines/engine.h)
    file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/engines/*/engine.cpp)
    set(names "")
    foreach(file IN LISTS files)
      get_filename_component(folder ${file} DIRECTORY)
      get_filename_component(name ${folder} NAME)
      list(APPEND names ${name})
    endforeach()
    vramwise_registry(engines engines/engine.h Engine engine "${names}")
  endif()
endfunction()
