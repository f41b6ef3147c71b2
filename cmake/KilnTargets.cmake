# SPDX-License-Identifier: Apache-2.0
# How every target of the project is built: language level, warnings, sanitizers.

add_library(kiln_build_flags INTERFACE)
target_compile_features(kiln_build_flags INTERFACE cxx_std_20 c_std_11)
target_compile_options(kiln_build_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  # g++ 12 sees an overlap in operator+(const char*, std::string&&) that is none (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<BOOL:${KILN_DEVELOPER}>:-Werror>)
if(KILN_SANITIZE)
  target_compile_options(kiln_build_flags INTERFACE
    -fsanitize=${KILN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(kiln_build_flags INTERFACE -fsanitize=${KILN_SANITIZE})
elseif(KILN_STATIC_DEPENDENCIES)
  target_link_options(kiln_build_flags INTERFACE -static-libgcc -static-libstdc++)
endif()

# kiln_add_layer(<name> SOURCES … [DEPENDS …] [PRIVATE_DEPENDS …])
# A static, position-independent library kiln_<name> whose headers are included from the source
# root. DEPENDS are the layers that it may include; PRIVATE_DEPENDS are hidden from those above.
function(kiln_add_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 layer "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS")
  add_library(kiln_${name} STATIC ${layer_SOURCES})
  set_target_properties(kiln_${name} PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden C_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_include_directories(kiln_${name} PUBLIC "${PROJECT_SOURCE_DIR}")
  target_link_libraries(kiln_${name}
    PUBLIC ${layer_DEPENDS}
    PRIVATE kiln_build_flags ${layer_PRIVATE_DEPENDS})
endfunction()

# kiln_add_test(<name> LABEL <label> SOURCES … DEPENDS … [ENVIRONMENT …] [ARGUMENTS …])
# One doctest executable, one CTest entry. Exit code 77 means skipped.
function(kiln_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 test "" "LABEL" "SOURCES;DEPENDS;ENVIRONMENT;ARGUMENTS")
  add_executable(${name} ${test_SOURCES})
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF)
  target_link_libraries(${name} PRIVATE kiln_build_flags ${test_DEPENDS})
  add_test(NAME ${name} COMMAND ${name} ${test_ARGUMENTS})
  set_tests_properties(${name} PROPERTIES LABELS "${test_LABEL}" SKIP_RETURN_CODE 77 TIMEOUT 300
    ENVIRONMENT "${test_ENVIRONMENT}")
endfunction()

# kiln_embed(<target> <output.cpp> <function> <base dir> <files…>)
# Adds to <target> a source that defines, in namespace kiln,
#   std::span<const EmbeddedFile> <function>()
# with the files' texts under their paths relative to <base dir>, in the order given.
function(kiln_embed target output function base)
  set(output_path "${CMAKE_CURRENT_BINARY_DIR}/${output}")
  list(JOIN ARGN "|" files)
  add_custom_command(
    OUTPUT "${output_path}"
    COMMAND ${CMAKE_COMMAND} "-DOUTPUT=${output_path}" "-DFUNCTION=${function}" "-DBASE=${base}"
      "-DFILES=${files}" -P "${PROJECT_SOURCE_DIR}/cmake/EmbedFiles.cmake"
    DEPENDS ${ARGN} "${PROJECT_SOURCE_DIR}/cmake/EmbedFiles.cmake"
    VERBATIM)
  target_sources(${target} PRIVATE "${output_path}")
endfunction()
