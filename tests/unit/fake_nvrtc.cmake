# Stand-ins for libnvrtc: one complete, one without its builtins, one too old. Each has a directory
# of its own below fake_nvrtc/.
function(kiln_add_fake_nvrtc name major minor)
  set(directory "${CMAKE_CURRENT_BINARY_DIR}/fake_nvrtc/${name}")
  add_library(fake_nvrtc_${name} MODULE fake_nvrtc.cpp)
  set_target_properties(fake_nvrtc_${name} PROPERTIES
    PREFIX "" SUFFIX "" OUTPUT_NAME libnvrtc.so.13 LIBRARY_OUTPUT_DIRECTORY "${directory}"
    CXX_VISIBILITY_PRESET hidden)
  target_compile_definitions(fake_nvrtc_${name} PRIVATE
    KILN_FAKE_MAJOR=${major} KILN_FAKE_MINOR=${minor})
  target_link_libraries(fake_nvrtc_${name} PRIVATE kiln_build_flags kiln_cuda_headers)
endfunction()

kiln_add_fake_nvrtc(complete 77 3)
kiln_add_fake_nvrtc(lonely 77 4)
kiln_add_fake_nvrtc(old 12 2)
# Any shared library serves as builtins.
add_library(fake_nvrtc_builtins MODULE fake_nvrtc.cpp)
set_target_properties(fake_nvrtc_builtins PROPERTIES
  PREFIX "" SUFFIX "" OUTPUT_NAME libnvrtc-builtins.so.77.3
  LIBRARY_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/fake_nvrtc/complete")
target_compile_definitions(fake_nvrtc_builtins PRIVATE KILN_FAKE_MAJOR=0 KILN_FAKE_MINOR=0)
target_link_libraries(fake_nvrtc_builtins PRIVATE kiln_build_flags kiln_cuda_headers)
add_dependencies(test_jit
  fake_nvrtc_complete fake_nvrtc_lonely fake_nvrtc_old fake_nvrtc_builtins)
target_compile_definitions(test_jit PRIVATE
  KILN_TEST_FAKE_NVRTC="${CMAKE_CURRENT_BINARY_DIR}/fake_nvrtc")
