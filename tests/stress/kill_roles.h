// SPDX-License-Identifier: Apache-2.0
#pragma once

// What processes do to one store until they are killed. Each role goes on for ever, ends with 0
// when it has nothing left to do, and with another status when it meets what must not be: a call
// that fails, or an image that is not the one that was put.

#include "cache/entry.h"
#include "jit/target.h"
#include "support/environment.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace kiln {
class Engine;
class Store;
}  // namespace kiln

namespace kiln::test {

// So small that every few puts evict.
constexpr std::int64_t kKillLimitBytes = 2 << 20;
constexpr std::uint32_t kKept = 40;
constexpr std::uint32_t kCompiled = 6;

// What the numbers mean that a role tells.
enum class Told : std::uint32_t {
  kept = 0,           // + seed: the entry is stored and pinned, and so must stay
  compiled = 1000,    // + number: likewise
  compiling = 2000,   // + number: asks for it now
  disposable = 3000,  // an entry was put that may be evicted and pruned
  pruned = 4000,
};

// Both made from the seed alone.
EntryFacts kept_facts(std::uint32_t seed);
std::string kept_image(std::uint32_t seed);
EntryFacts disposable_facts(std::uint32_t seed);
std::string disposable_image(std::uint32_t seed);

// Of the template that the compiling role compiles: a real one, and cheap.
void write_compiled_template(const std::string& directory);
std::string compiled_spec(std::uint32_t number);
std::shared_ptr<Engine> open_compiling_engine(const std::string& directory,
                                              const std::string& templates,
                                              bool use_store);
const Target& compiled_target();

// keep: puts and pins. fill: puts what then gets evicted. prune: prunes. compile: has the engine
// compile, and pins. Returns the exit status.
int play_role(std::string_view role,
              const std::string& directory,
              const std::string& templates,
              std::uint32_t seed);

}  // namespace kiln::test
