# vramwise_part(NAME [USES…]): src/NAME/**.cpp without *_test.cpp becomes the static library
# vramwise_NAME, alias vramwise::NAME. A part without sources yet is an INTERFACE library.
# A new file needs no line here: the globs are looked at again by every build.
function(vramwise_part name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  set(target vramwise_${name})
  # The catalog's only source may be the generated one.
  if(sources OR (name STREQUAL "catalog" AND EXISTS ${PROJECT_SOURCE_DIR}/tools/embed_catalog.py))
    add_library(${target} STATIC ${sources})
    set(scope PUBLIC)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:vramwise_core_flags>)
    set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden
                                               VISIBILITY_INLINES_HIDDEN ON)
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(vramwise::${name} ALIAS ${target})
  list(TRANSFORM ARGN PREPEND vramwise_)
  target_link_libraries(${target} ${scope} ${ARGN})

  if(name STREQUAL "base")
    target_include_directories(${target} ${scope} $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
                               $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
    target_compile_definitions(${target} ${scope} $<BUILD_INTERFACE:VRAMWISE_VERSION="${PROJECT_VERSION}">)
    target_link_libraries(${target} ${scope} $<BUILD_INTERFACE:vramwise_flags>
                          $<BUILD_INTERFACE:vramwise_expected>)
  elseif(name STREQUAL "json" AND scope STREQUAL "PUBLIC")
    # PRIVATE: nobody else can include it, which also keeps compile times down.
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:vramwise_nlohmann_json>)
  endif()
endfunction()
