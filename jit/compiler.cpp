// SPDX-License-Identifier: Apache-2.0
#include "jit/compiler.h"

#include "jit/compile_report.h"
#include "jit/cubin.h"
#include "jit/nvrtc_status.h"
#include "jit/options.h"
#include "support/log.h"
#include "support/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <clocale>
#include <utility>

namespace kiln {
namespace {

// This thread's locale only: setlocale would change the host's.
class CLocale {
 public:
  CLocale() : previous_(::uselocale(c_locale())) {}
  ~CLocale() { ::uselocale(previous_); }
  CLocale(const CLocale&) = delete;
  CLocale& operator=(const CLocale&) = delete;

 private:
  static locale_t c_locale() {
    static const locale_t locale = ::newlocale(LC_ALL_MASK, "C", nullptr);
    return locale;
  }
  locale_t previous_;
};

class Program {
 public:
  explicit Program(const NvrtcApi& api) : api_(api) {}
  ~Program() {
    if (handle_ == nullptr) return;
    if (const nvrtcResult result = api_.nvrtcDestroyProgram(&handle_); result != NVRTC_SUCCESS) {
      log(LogLevel::warning, "nvrtcDestroyProgram: {}", api_.nvrtcGetErrorString(result));
    }
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  nvrtcProgram get() const { return handle_; }
  nvrtcProgram* out() { return &handle_; }

 private:
  const NvrtcApi& api_;
  nvrtcProgram handle_ = nullptr;
};

// One compile in progress: what every step and every failure needs.
class Compilation {
 public:
  Compilation(const Nvrtc& nvrtc, const CompileRequest& request)
      : nvrtc_(nvrtc), api_(nvrtc.api()), request_(request), program_(nvrtc.api()) {}

  Status create();
  Status compile();
  Result<std::string> lowered_name() const;
  Result<std::string> image() const;
  Result<Artifact> artifact(std::string lowered_name, std::string image) const;

 private:
  Status fail(nvrtcResult result, std::string message) const;
  Status fail(std::string message) const {
    return fail(NVRTC_ERROR_COMPILATION, std::move(message));
  }
  Status read_log();
  std::string detail() const;

  const Nvrtc& nvrtc_;
  const NvrtcApi& api_;
  const CompileRequest& request_;
  Program program_;
  std::string log_;
};

std::string detail_with(std::string_view log, std::string_view facts) {
  const bool needs_newline = !log.empty() && !log.ends_with('\n');
  return fmt::format("{}{}{}", log, needs_newline ? "\n" : "", facts);
}

std::string Compilation::detail() const {
  std::string facts =
      fmt::format("options: {}\ntarget: {}\nname expression: {}\nNVRTC: {}.{} ({})\n",
                  fmt::join(request_.options, " "), request_.target.text(),
                  request_.name_expression, nvrtc_.major(), nvrtc_.minor(), nvrtc_.path());
  if (const std::string remedy = remedy_for(log_); !remedy.empty()) {
    facts += fmt::format("remedy: {}\n", remedy);
  }
  return detail_with(log_, facts);
}

Status Compilation::fail(nvrtcResult result, std::string message) const {
  return nvrtc_failure(result, std::move(message), detail());
}

Status Compilation::create() {
  const SourceSet& sources = *request_.sources;
  std::vector<const char*> texts;
  std::vector<const char*> names;
  for (const SourceText& include : sources.includes) {
    texts.push_back(include.text.c_str());
    names.push_back(include.name.c_str());
  }
  nvrtcResult result =
      api_.nvrtcCreateProgram(program_.out(), sources.main.text.c_str(), sources.main.name.c_str(),
                              static_cast<int>(texts.size()), texts.data(), names.data());
  if (result != NVRTC_SUCCESS) {
    return fail(result, fmt::format("nvrtcCreateProgram: {}", api_.nvrtcGetErrorString(result)));
  }
  result = api_.nvrtcAddNameExpression(program_.get(), request_.name_expression.c_str());
  if (result != NVRTC_SUCCESS) {
    return fail(result, fmt::format("name expression {}: {}", in_quotes(request_.name_expression),
                                    api_.nvrtcGetErrorString(result)));
  }
  return {};
}

Status Compilation::compile() {
  std::vector<const char*> options;
  for (const std::string& option : request_.options)
    options.push_back(option.c_str());
  const nvrtcResult result =
      api_.nvrtcCompileProgram(program_.get(), static_cast<int>(options.size()), options.data());
  Status log_status = read_log();
  if (result == NVRTC_SUCCESS) return log_status;
  std::string message = first_error(log_);
  if (message.empty()) message = api_.nvrtcGetErrorString(result);
  return fail(result, std::move(message));
}

Status Compilation::read_log() {
  std::size_t size = 0;
  nvrtcResult result = api_.nvrtcGetProgramLogSize(program_.get(), &size);
  if (result == NVRTC_SUCCESS && size > 1) {
    log_.resize(size);
    result = api_.nvrtcGetProgramLog(program_.get(), log_.data());
  }
  log_.resize(std::min(log_.find('\0'), log_.size()));
  if (result == NVRTC_SUCCESS) return {};
  return fail(result, fmt::format("nvrtcGetProgramLog: {}", api_.nvrtcGetErrorString(result)));
}

Result<std::string> Compilation::lowered_name() const {
  const char* name = nullptr;
  const nvrtcResult result =
      api_.nvrtcGetLoweredName(program_.get(), request_.name_expression.c_str(), &name);
  if (result != NVRTC_SUCCESS || name == nullptr) {
    return fail(
        result == NVRTC_SUCCESS ? NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID : result,
        fmt::format("name expression {} names no kernel", in_quotes(request_.name_expression)));
  }
  return std::string(name);
}

Result<std::string> Compilation::image() const {
  std::size_t size = 0;
  nvrtcResult result = api_.nvrtcGetCUBINSize(program_.get(), &size);
  std::string image;
  if (result == NVRTC_SUCCESS && size > 0) {
    image.resize(size);
    result = api_.nvrtcGetCUBIN(program_.get(), image.data());
  }
  if (result != NVRTC_SUCCESS) {
    return fail(result, fmt::format("nvrtcGetCUBIN: {}", api_.nvrtcGetErrorString(result)));
  }
  if (image.empty()) return fail("NVRTC made an empty image");
  return image;
}

Result<Artifact> Compilation::artifact(std::string lowered_name, std::string image) const {
  auto facts = read_cubin(image, lowered_name);
  if (!facts.is_ok()) {
    return fail(fmt::format("name expression {}: {}", in_quotes(request_.name_expression),
                            facts.status().message()));
  }
  if (facts->capability != request_.target.capability) {
    return fail(fmt::format("NVRTC made an image for compute capability {} instead of {}",
                            facts->capability.text(), request_.target.text()));
  }
  const auto spills = read_spills(log_, lowered_name);
  if (!spills) {
    if (!request_.allow_spills) {
      return fail("spills are not allowed, and NVRTC did not report whether there are any");
    }
    log(LogLevel::warning, "{}: NVRTC {}.{} did not report spills", request_.name_expression,
        nvrtc_.major(), nvrtc_.minor());
  }
  Artifact artifact;
  artifact.resources.registers = facts->registers;
  artifact.resources.shared_bytes = facts->shared_bytes;
  artifact.resources.local_bytes = facts->local_bytes;
  if (spills) {
    artifact.resources.spill_store_bytes = spills->store_bytes;
    artifact.resources.spill_load_bytes = spills->load_bytes;
  }
  if (const auto bytes = artifact.resources.spill_bytes(); bytes > 0 && !request_.allow_spills) {
    return fail(
        fmt::format("{} spills {} bytes per thread ({} stored, {} loaded) with {} "
                    "registers; this template allows none",
                    request_.name_expression, bytes, spills->store_bytes, spills->load_bytes,
                    facts->registers));
  }
  artifact.image = std::move(image);
  artifact.target = request_.target;
  artifact.lowered_name = std::move(lowered_name);
  artifact.layout = std::move(facts->layout);
  artifact.toolchain = nvrtc_.toolchain().text();
  artifact.log = without_report(log_);
  return artifact;
}

bool has_nul(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

// The compiler sees C strings: past a NUL the key would cover text that was never compiled.
Status check_text(const SourceText& source) {
  if (source.name.empty()) return failure(Code::invalid_argument, "a source has no name");
  if (!has_nul(source.name) && !has_nul(source.text)) return {};
  return failure(Code::invalid_argument, "source {} has a NUL byte", in_quotes(source.name));
}

Status check(const Nvrtc& nvrtc, const CompileRequest& request) {
  if (request.sources == nullptr) return failure(Code::invalid_argument, "there are no sources");
  KILN_TRY(check_text(request.sources->main));
  for (const SourceText& include : request.sources->includes)
    KILN_TRY(check_text(include));
  if (request.name_expression.empty() || has_nul(request.name_expression)) {
    return failure(Code::invalid_argument, "name expression {} is empty or has a NUL byte",
                   in_quotes(request.name_expression));
  }
  const std::vector<Target> targets = nvrtc.targets();
  if (std::find(targets.begin(), targets.end(), request.target) == targets.end()) {
    std::vector<std::string> names;
    names.reserve(targets.size());
    for (const Target& target : targets)
      names.push_back(target.text());
    return failure(Code::unsupported,
                   "NVRTC {}.{} cannot compile for {}; it knows {}; install the NVRTC of a CUDA "
                   "release that supports the target",
                   nvrtc.major(), nvrtc.minor(), request.target.text(), fmt::join(names, ", "));
  }
  return check_options(request.options, request.target);
}

}  // namespace

Result<Artifact> compile(const Nvrtc& nvrtc, const CompileRequest& request) {
  KILN_TRY(check(nvrtc, request));
  const CLocale locale;
  const auto begin = std::chrono::steady_clock::now();
  Compilation compilation(nvrtc, request);
  KILN_TRY(compilation.create());
  KILN_TRY(compilation.compile());
  KILN_TRY_ASSIGN(std::string lowered_name, compilation.lowered_name());
  KILN_TRY_ASSIGN(std::string image, compilation.image());
  const auto elapsed = std::chrono::steady_clock::now() - begin;
  KILN_TRY_ASSIGN(Artifact artifact,
                  compilation.artifact(std::move(lowered_name), std::move(image)));
  artifact.compile_us = std::chrono::duration_cast<std::chrono::microseconds>(elapsed).count();
  return artifact;
}

}  // namespace kiln
