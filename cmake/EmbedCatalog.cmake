# catalog/**/*.json is compiled in: tools/embed_catalog.py turns it into one generated source of
# vramwise_catalog. Nothing is read from disk at run time.
function(vramwise_embed_catalog)
  set(tool ${PROJECT_SOURCE_DIR}/tools/embed_catalog.py)
  if(NOT EXISTS ${tool})
    return()
  endif()
  file(GLOB_RECURSE entries CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/catalog/*.json)
  # Rewritten only when the set of files changes: makes a removed entry rebuild too.
  set(listing ${PROJECT_BINARY_DIR}/generated/catalog/entries.txt)
  list(JOIN entries "\n" entry_lines)
  file(CONFIGURE OUTPUT ${listing} CONTENT "@entry_lines@\n" @ONLY)
  set(output ${PROJECT_BINARY_DIR}/generated/catalog/catalog_data.gen.cpp)
  # A page downloads every byte: what no answer says stays out of the module.
  set(slim)
  if(CMAKE_SYSTEM_NAME STREQUAL "WASI")
    set(slim --slim)
  endif()
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${VRAMWISE_PYTHON} ${tool} --catalog ${PROJECT_SOURCE_DIR}/catalog --out ${output} ${slim}
    DEPENDS ${tool} ${listing} ${entries}
    COMMENT "Embedding the catalog"
    VERBATIM)
  target_sources(vramwise_catalog PRIVATE ${output})
  set_source_files_properties(${output} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
