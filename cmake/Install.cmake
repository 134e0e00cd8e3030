# SPDX-License-Identifier: Apache-2.0
# What other builds get: the package `spyre-cosim` of find_package and pkg-config, and the Debian packages. All paths below
# the prefix are relative, so that the installation may be moved.
#
#   include/spyre-cosim   headers, and contract/ with what is generated
#   lib/spyre-cosim       static libraries, one for a folder or for several small ones, and the modules that programs load
#   lib/cmake/spyre-cosim, lib/pkgconfig
#   lib/python3/dist-packages/spyre_cosim   the Python package
#   share/spyre-cosim     configs, examples, rtl (sources)
set(SPYRE_INSTALL_INCLUDE include/spyre-cosim)
set(SPYRE_INSTALL_RTL share/spyre-cosim/rtl)
set(SPYRE_INSTALL_LIBRARIES lib/spyre-cosim)
set(SPYRE_INSTALL_PACKAGE lib/cmake/spyre-cosim)

# spyre_export(TARGET): the library spyre_a_b is spyre::a_b for others, installed or by add_subdirectory.
function(spyre_export target)
  string(REGEX REPLACE "^spyre_" "" name ${target})
  add_library(spyre::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  install(TARGETS ${target} EXPORT spyre-cosim ARCHIVE DESTINATION ${SPYRE_INSTALL_LIBRARIES} COMPONENT development)
endfunction()

# spyre_closure(LIBRARIES EXTERNAL target...): the libraries of ours that the targets need, and the names of all others.
function(spyre_closure libraries external)
  set(waiting ${ARGN})
  set(seen "")
  set(others "")
  while(waiting)
    list(POP_FRONT waiting target)
    if(target IN_LIST seen)
      continue()
    endif()
    list(APPEND seen ${target})
    get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
    foreach(link ${links})
      if(link MATCHES "^spyre_")
        list(APPEND waiting ${link})
      elseif(TARGET ${link})
        list(APPEND others ${link})
      endif()
    endforeach()
  endwhile()
  list(REMOVE_DUPLICATES others)
  set(${libraries} ${seen} PARENT_SCOPE)
  set(${external} ${others} PARENT_SCOPE)
endfunction()

# The pkg-config file of spyre::NAME. What it requires are the packages of Debian, by the names of their .pc files.
function(spyre_pkg_config name description)
  set(package_fmt::fmt fmt)
  set(package_nlohmann_json::nlohmann_json nlohmann_json)
  set(package_tomlplusplus::tomlplusplus tomlplusplus)
  set(package_SystemC::systemc systemc)
  set(package_GTest::gtest gtest)
  set(package_GTest::gmock gmock)
  set(package_XxHash::xxhash libxxhash)
  set(package_Zstd::zstd libzstd)
  set(package_ZLIB::ZLIB zlib)
  set(package_SQLite::SQLite3 sqlite3)
  spyre_closure(libraries external spyre_${name})
  set(PC_LIBS "-Wl,--start-group")
  set(PC_CFLAGS "")
  set(PC_REQUIRES "")
  foreach(library ${libraries})
    get_target_property(type ${library} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      string(APPEND PC_LIBS " -l${library}")
    endif()
  endforeach()
  string(APPEND PC_LIBS " -Wl,--end-group")
  if(spyre_model_sc_main IN_LIST libraries)
    string(APPEND PC_LIBS " -Wl,-u,sc_main")
  endif()
  foreach(other ${external})
    if(NOT DEFINED package_${other})
      message(FATAL_ERROR "spyre_pkg_config: which package has ${other}?")
    endif()
    string(APPEND PC_REQUIRES " ${package_${other}}")
  endforeach()
  if(SystemC::systemc IN_LIST external)
    set(PC_CFLAGS "-DSC_INCLUDE_DYNAMIC_PROCESSES")
  endif()
  set(PC_NAME spyre-${name})
  set(PC_DESCRIPTION ${description})
  set(file ${PROJECT_BINARY_DIR}/package/spyre-${name}.pc)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/package/package.pc.in ${file} @ONLY)
  install(FILES ${file} DESTINATION lib/pkgconfig COMPONENT development)
endfunction()

# Once, when all libraries are there.
function(spyre_install_package)
  add_library(spyre_runtime INTERFACE) # an application: streams, tensors, launches, the task graph
  target_link_libraries(spyre_runtime INTERFACE spyre_runtime_spyre spyre_runtime_spyre_issue spyre_runtime_collectives)
  add_library(spyre_model INTERFACE) # the card as a component of a SystemC simulation
  target_link_libraries(spyre_model INTERFACE spyre_model_card spyre_model_root_port spyre_model_pcie_switch)
  add_library(spyre_cosim INTERFACE) # card, driver, runtime and compiler in one process
  target_link_libraries(spyre_cosim INTERFACE spyre_model spyre_runtime spyre_cosim_report)
  add_library(spyre_bringup INTERFACE) # the bring-up ladder, for a program with rungs of its own
  target_link_libraries(spyre_bringup INTERFACE spyre_bringup_cli)
  foreach(library spyre_runtime spyre_model spyre_cosim spyre_bringup)
    spyre_export(${library})
  endforeach()
  spyre_pkg_config(driver "Registers, rings and services of a Spyre card, through a Transport")
  spyre_pkg_config(runtime "Streams, tensors and launches on a Spyre card")
  spyre_pkg_config(model "A Spyre card as a SystemC module")
  spyre_pkg_config(cosim "A simulated Spyre card in the process, with driver and runtime")
  spyre_pkg_config(bringup "Bring-up tests for a Spyre card, and a fixture for more of them")

  include(CMakePackageConfigHelpers)
  set(dir ${PROJECT_BINARY_DIR}/package)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/package/spyre-cosim-config.cmake.in
    ${dir}/spyre-cosim-config.cmake INSTALL_DESTINATION ${SPYRE_INSTALL_PACKAGE})
  write_basic_package_version_file(${dir}/spyre-cosim-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${dir}/spyre-cosim-config.cmake ${dir}/spyre-cosim-config-version.cmake
    ${PROJECT_SOURCE_DIR}/cmake/FindSystemC.cmake ${PROJECT_SOURCE_DIR}/cmake/FindXxHash.cmake
    ${PROJECT_SOURCE_DIR}/cmake/FindZstd.cmake DESTINATION ${SPYRE_INSTALL_PACKAGE} COMPONENT development)
  install(EXPORT spyre-cosim NAMESPACE spyre:: FILE spyre-cosim-targets.cmake
    DESTINATION ${SPYRE_INSTALL_PACKAGE} COMPONENT development)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs DESTINATION share/spyre-cosim COMPONENT program)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION share/spyre-cosim COMPONENT development)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/CHANGELOG.md
    DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR}-dev COMPONENT development)
endfunction()

# `cpack` in the build directory: two Debian packages. What the program needs of shared libraries is asked of
# dpkg-shlibdeps; the static libraries need the development packages of theirs, and have no program that would be asked
# (CPack starts two processes for each file to find that out).
if(PROJECT_IS_TOP_LEVEL)
  set(CPACK_GENERATOR DEB)
  set(CPACK_PACKAGE_VENDOR "spyre-cosim")
  set(CPACK_PACKAGE_CONTACT "spyre-cosim <spyre-cosim@localhost>")
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Co-simulation of the IBM Spyre AI accelerator card")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_STRIP_FILES ON)
  set(CPACK_COMPONENTS_ALL program development)
  set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME spyre-cosim)
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "python3, python3-numpy") # of its Python package
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME spyre-cosim-dev)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "spyre-cosim (= ${PROJECT_VERSION}), libsystemc-dev, libfmt-dev, \
nlohmann-json3-dev, libtomlplusplus-dev, libxxhash-dev, libzstd-dev, zlib1g-dev, libsqlite3-dev, libgmock-dev")
  include(CPack)
endif()
