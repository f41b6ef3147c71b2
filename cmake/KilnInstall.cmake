# SPDX-License-Identifier: Apache-2.0
# Installs the shared library, its headers, the kiln program, and what find_package(kiln) and
# pkg-config need. The library has no public dependencies, so consumers have nothing to find.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/kiln")
install(TARGETS kiln EXPORT kilnTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(TARGETS kiln_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(EXPORT kilnTargets NAMESPACE kiln:: DESTINATION "${package_dir}")

configure_package_config_file(cmake/kilnConfig.cmake.in kilnConfig.cmake
  INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file(kilnConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  "${CMAKE_CURRENT_BINARY_DIR}/kilnConfig.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/kilnConfigVersion.cmake"
  DESTINATION "${package_dir}")

# Relative install directories follow the file, wherever the prefix ends up; absolute ones stay.
set(KILN_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  string(REGEX REPLACE "/$" "" up "${up}")
  set(KILN_PC_PREFIX "\${pcfiledir}/${up}")
endif()
foreach(name LIBDIR INCLUDEDIR)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${name}}")
    set(KILN_PC_${name} "${CMAKE_INSTALL_${name}}")
  else()
    set(KILN_PC_${name} "\${prefix}/${CMAKE_INSTALL_${name}}")
  endif()
endforeach()
configure_file(cmake/kiln.pc.in kiln.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/kiln.pc"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
install(FILES LICENSE NOTICE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
