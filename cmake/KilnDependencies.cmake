# SPDX-License-Identifier: Apache-2.0
# Third-party libraries as imported targets. Nothing is downloaded.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)

# NVRTC and the driver are loaded at run time; only their headers are needed here.
file(GLOB toolkits LIST_DIRECTORIES true /usr/local/cuda-*)
find_path(KILN_CUDA_INCLUDE_DIR nvrtc.h
  HINTS ENV CUDA_HOME ENV CUDA_PATH
  PATHS /usr/local/cuda ${toolkits}
  PATH_SUFFIXES include REQUIRED)
add_library(kiln_cuda_headers INTERFACE)
target_include_directories(kiln_cuda_headers SYSTEM INTERFACE "${KILN_CUDA_INCLUDE_DIR}")

# kiln_find_c_library(<name> <header> <library>): imported target kiln_<name>, static if asked.
function(kiln_find_c_library name header library)
  string(TOUPPER ${name} upper)
  set(names ${library})
  if(KILN_STATIC_DEPENDENCIES)
    set(names lib${library}.a)
  endif()
  find_path(KILN_${upper}_INCLUDE_DIR ${header} REQUIRED)
  find_library(KILN_${upper}_LIBRARY NAMES ${names} REQUIRED)
  add_library(kiln_${name} INTERFACE)
  target_include_directories(kiln_${name} SYSTEM INTERFACE "${KILN_${upper}_INCLUDE_DIR}")
  target_link_libraries(kiln_${name} INTERFACE "${KILN_${upper}_LIBRARY}")
endfunction()
kiln_find_c_library(sqlite sqlite3.h sqlite3)
kiln_find_c_library(zstd zstd.h zstd)
kiln_find_c_library(crypto openssl/sha.h crypto)
if(KILN_STATIC_DEPENDENCIES)
  target_link_libraries(kiln_sqlite INTERFACE m ${CMAKE_DL_LIBS} Threads::Threads)
  target_link_libraries(kiln_crypto INTERFACE ${CMAKE_DL_LIBS} Threads::Threads)
endif()
