// SPDX-License-Identifier: Apache-2.0
#include "kiln/version.h"

#include "runtime/build_info.h"

int32_t kiln_version_number(void) {
  return KILN_VERSION_NUMBER;
}

const char* kiln_build_info(void) {
  static const std::string& text = *new std::string(kiln::build_info());
  return text.c_str();
}
