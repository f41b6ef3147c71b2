// SPDX-License-Identifier: Apache-2.0
// A library with NVRTC's entry points for tests of what a real one cannot be made to do: be of any
// version, lack its builtins, fail at any step. The source text orders the result of the compile:
// "result 6" fails with code 6 and "image X" gives X as the image; "log X" (to the end of the text)
// is the log. The lowered name is the name expression.

#include <nvrtc.h>

#include <cstdlib>
#include <cstring>
#include <string>

#define KILN_FAKE extern "C" __attribute__((visibility("default")))

namespace {

struct Program {
  std::string text;
  std::string name_expression;

  std::string value_of(const char* key) const {
    const auto at = text.find(key);
    if (at == std::string::npos) return {};
    const auto begin = at + std::strlen(key);
    return key == std::string("log ") ? text.substr(begin)
                                      : text.substr(begin, text.find('\n', begin) - begin);
  }
};

Program& of(nvrtcProgram program) {
  return *reinterpret_cast<Program*>(program);
}

}  // namespace

KILN_FAKE nvrtcResult nvrtcVersion(int* major, int* minor) {
  *major = KILN_FAKE_MAJOR;
  *minor = KILN_FAKE_MINOR;
  return NVRTC_SUCCESS;
}
KILN_FAKE const char* nvrtcGetErrorString(nvrtcResult) {
  return "NVRTC_ERROR_FAKE";
}
KILN_FAKE nvrtcResult nvrtcGetNumSupportedArchs(int* count) {
  *count = 2;
  return NVRTC_SUCCESS;
}
KILN_FAKE nvrtcResult nvrtcGetSupportedArchs(int* architectures) {
  architectures[0] = 90;
  architectures[1] = 100;
  return NVRTC_SUCCESS;
}
KILN_FAKE nvrtcResult nvrtcCreateProgram(nvrtcProgram* program,
                                         const char* source,
                                         const char*,
                                         int,
                                         const char* const*,
                                         const char* const*) {
  *program = reinterpret_cast<nvrtcProgram>(new Program{source, {}});
  return NVRTC_SUCCESS;
}
KILN_FAKE nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  delete &of(*program);
  *program = nullptr;
  return NVRTC_SUCCESS;
}
KILN_FAKE nvrtcResult nvrtcAddNameExpression(nvrtcProgram program, const char* name_expression) {
  of(program).name_expression = name_expression;
  return NVRTC_SUCCESS;
}
KILN_FAKE nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int, const char* const*) {
  return static_cast<nvrtcResult>(std::atoi(of(program).value_of("result ").c_str()));
}
KILN_FAKE nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t* size) {
  *size = of(program).value_of("log ").size() + 1;
  return NVRTC_SUCCESS;
}
KILN_FAKE nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* log) {
  std::strcpy(log, of(program).value_of("log ").c_str());
  return NVRTC_SUCCESS;
}
KILN_FAKE nvrtcResult nvrtcGetLoweredName(nvrtcProgram program, const char*, const char** name) {
  *name = of(program).name_expression.c_str();
  return NVRTC_SUCCESS;
}
KILN_FAKE nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t* size) {
  *size = of(program).value_of("image ").size();
  return NVRTC_SUCCESS;
}
KILN_FAKE nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* image) {
  const std::string value = of(program).value_of("image ");
  // NOLINTNEXTLINE(bugprone-not-null-terminated-result): an image is no text
  std::memcpy(image, value.data(), value.size());
  return NVRTC_SUCCESS;
}
