# Installed: the program, the shared library with the C interface, its header, a CMake package and a
# pkg-config file. The static libraries of the parts are inner structure and stay here.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

if(TARGET vramwise)
  install(TARGETS vramwise)
  # Completions and manual pages are written by the program itself; built with `all`.
  set(shell_files ${PROJECT_BINARY_DIR}/generated/share)
  add_custom_command(
    OUTPUT ${shell_files}/stamp
    COMMAND ${CMAKE_COMMAND} -DVRAMWISE=$<TARGET_FILE:vramwise> -DFOLDER=${shell_files}
            -P ${PROJECT_SOURCE_DIR}/cmake/ShellFiles.cmake
    DEPENDS vramwise ${PROJECT_SOURCE_DIR}/cmake/ShellFiles.cmake
    COMMENT "Writing completions and manual pages"
    VERBATIM)
  add_custom_target(vramwise_shell_files ALL DEPENDS ${shell_files}/stamp)
  install(FILES ${shell_files}/vramwise.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
          RENAME vramwise)
  install(FILES ${shell_files}/vramwise.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions
          RENAME _vramwise)
  install(FILES ${shell_files}/vramwise.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  install(DIRECTORY ${shell_files}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
endif()

# The page, where it was built (./dev web --build): `vramwise web` opens it. It is made by Node, which
# the build of the program does without.
install(FILES ${PROJECT_SOURCE_DIR}/build/web/vramwise.html DESTINATION ${CMAKE_INSTALL_DATADIR}/vramwise
        OPTIONAL)

get_target_property(api_type vramwise_api TYPE)
if(api_type STREQUAL "INTERFACE_LIBRARY")
  return() # nothing to make a library of yet
endif()

# Built with `all` or by name; `./dev build` asks for the program only. The C interface is compiled in
# directly: nothing inside refers to it, so it would not be taken out of the static library.
add_library(vramwise_shared SHARED src/api/c_abi.cpp)
target_link_libraries(vramwise_shared PRIVATE vramwise_api vramwise_core_flags)
target_link_options(vramwise_shared PRIVATE LINKER:--no-undefined
                    LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/exports.map)
set_property(TARGET vramwise_shared APPEND PROPERTY LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/exports.map)
target_include_directories(vramwise_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(
  vramwise_shared
  PROPERTIES OUTPUT_NAME vramwise
             EXPORT_NAME vramwise
             CXX_VISIBILITY_PRESET hidden
             VISIBILITY_INLINES_HIDDEN ON
             VERSION ${PROJECT_VERSION}
             SOVERSION ${PROJECT_VERSION_MAJOR}
             LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

install(TARGETS vramwise_shared EXPORT vramwise LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/vramwise DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/vramwise)
install(EXPORT vramwise NAMESPACE vramwise:: FILE vramwiseConfig.cmake DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/vramwiseConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/vramwiseConfigVersion.cmake DESTINATION ${package_dir})

set(pc_dir /${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH pc_to_include ${pc_dir} /${CMAKE_INSTALL_INCLUDEDIR})
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/vramwise.pc @ONLY CONTENT
"# Relative to this file, so that the tree can be moved.
libdir=\${pcfiledir}/..
includedir=\${pcfiledir}/@pc_to_include@

Name: vramwise
Description: Predicts where GPU memory goes when serving a language model
Version: @PROJECT_VERSION@
Libs: -L\${libdir} -lvramwise
Cflags: -I\${includedir}
")
install(FILES ${PROJECT_BINARY_DIR}/vramwise.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
