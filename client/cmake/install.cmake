# What `cmake --install` puts where.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/fencelock)

install(TARGETS fencelock fencelock_static EXPORT fencelock_targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/fencelock DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
install(EXPORT fencelock_targets NAMESPACE fencelock:: DESTINATION ${package_dir})

configure_package_config_file(cmake/fencelock-config.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/fencelock-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/fencelock-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/fencelock-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/fencelock-config-version.cmake
  DESTINATION ${package_dir})

# Found from where the file lies, so that the tree can be installed anywhere, unless a distribution names
# absolute directories.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
  set(pc_libdir ${CMAKE_INSTALL_FULL_LIBDIR})
  set(pc_includedir ${CMAKE_INSTALL_FULL_INCLUDEDIR})
else()
  file(RELATIVE_PATH up "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
  set(pc_prefix "\${pcfiledir}/${up}")
  set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
configure_file(cmake/fencelock.pc.in ${CMAKE_CURRENT_BINARY_DIR}/fencelock.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/fencelock.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
