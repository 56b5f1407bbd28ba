# The two header-only libraries of the core: nlohmann-json (src/json only) and tl::expected.
# They are reached through links in the build tree: when cross-compiling, naming /usr/include itself
# would mix the host's C library headers with those of the target.
function(vramwise_header_only target header package)
  find_path(VRAMWISE_${target}_DIR ${header} PATHS /usr/include /usr/local/include NO_CMAKE_FIND_ROOT_PATH)
  if(NOT VRAMWISE_${target}_DIR)
    message(FATAL_ERROR "<${header}> is missing: install ${package} (`./dev setup` does it)")
  endif()
  get_filename_component(folder ${header} DIRECTORY)
  set(links ${PROJECT_BINARY_DIR}/third_party)
  file(MAKE_DIRECTORY ${links})
  file(CREATE_LINK ${VRAMWISE_${target}_DIR}/${folder} ${links}/${folder} SYMBOLIC)
  add_library(${target} INTERFACE)
  target_include_directories(${target} SYSTEM INTERFACE $<BUILD_INTERFACE:${links}>)
endfunction()

vramwise_header_only(vramwise_nlohmann_json nlohmann/json.hpp nlohmann-json3-dev)
target_compile_definitions(vramwise_nlohmann_json INTERFACE JSON_NOEXCEPTION JSON_USE_IMPLICIT_CONVERSIONS=0)
vramwise_header_only(vramwise_expected tl/expected.hpp libexpected-dev)
