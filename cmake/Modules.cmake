# SPDX-License-Identifier: Apache-2.0
# Parts that few runs need and that take long to build or to load. The program opens them by base/module.h.
add_custom_target(spyre_module_interfaces) # the headers that carry their symbols

# spyre_module(NAME FOLDER folder TO folder... LINK lib... SOURCES file... INTERFACE file... [LINKED] [COLD]): a module of all
# .cc files of the folder, and SOURCES. TO: as of spyre_folder, but linked only if LINKED is said: then the module has
# its own copy of these libraries. COLD: as of spyre_folder. INTERFACE: headers that program and module
# both compile; the symbol that the module exports carries their digest (<modules/NAME.h>), so that a module of other
# sources is refused instead of misunderstood. The target NAME_interface makes that header.
function(spyre_module name)
  cmake_parse_arguments(M "LINKED;COLD" "FOLDER" "TO;LINK;SOURCES;INTERFACE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${M_FOLDER}/*.cc)
  set(libraries ${M_LINK})
  if(M_LINKED)
    foreach(folder ${M_TO})
      string(REPLACE "/" "_" library spyre_${folder})
      list(APPEND libraries ${library})
    endforeach()
  else()
    list(APPEND M_SOURCES ${PROJECT_SOURCE_DIR}/base/error.cc)
  endif()
  add_library(${name} MODULE ${sources} ${M_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_BINARY_DIR}/generated)
  add_dependencies(${name} spyre_contract_generated)
  if(M_INTERFACE)
    set(header ${PROJECT_BINARY_DIR}/generated/modules/${name}.h)
    set(script ${PROJECT_SOURCE_DIR}/cmake/InterfaceDigest.cmake)
    list(SORT M_INTERFACE)
    string(REPLACE ";" "," files "${M_INTERFACE}")
    add_custom_command(OUTPUT ${header}
      COMMAND ${CMAKE_COMMAND} -DNAME=${name} -DOUTPUT=${header} -DFILES=${files} -P ${script}
      DEPENDS ${M_INTERFACE} ${script} COMMENT "Naming the interface of ${name}" VERBATIM)
    add_custom_target(${name}_interface DEPENDS ${header})
    add_dependencies(spyre_module_interfaces ${name}_interface)
    add_dependencies(${name} ${name}_interface)
  endif()
  target_link_libraries(${name} PRIVATE spyre_options fmt::fmt ${libraries})
  if(M_COLD)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-Og>)
  endif()
  # Nothing of a module is for others but that symbol.
  target_link_options(${name} PRIVATE LINKER:--no-undefined LINKER:--exclude-libs,ALL)
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR} INSTALL_RPATH_USE_LINK_PATH ON)
  if(SPYRE_SANITIZE)
    target_link_options(${name} PRIVATE LINKER:-z,undefs) # sanitizer run times come with the program
    target_link_libraries(${name} PRIVATE $<$<CXX_COMPILER_ID:Clang>:atomic>) # GCC inlines what Verilator's library asks
    # The check of dynamic types wants the type information of every interface that the module is given, which is in the
    # program only if the program happens to use it.
    if(SPYRE_SANITIZE MATCHES "undefined")
      target_compile_options(${name} PRIVATE -fno-sanitize=vptr)
    endif()
  endif()
  if(M_TO) # of the product
    install(TARGETS ${name} LIBRARY DESTINATION ${SPYRE_INSTALL_LIBRARIES} COMPONENT program)
    string(REPLACE ";" " " arrows "${M_TO}")
    set_property(GLOBAL APPEND_STRING PROPERTY SPYRE_FOLDERS "${M_FOLDER}: ${arrows}\n")
  endif()
endfunction()
