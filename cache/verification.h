// SPDX-License-Identifier: Apache-2.0
#pragma once

// Looks at everything that a store holds, in steps, so that neither its lock nor a transaction is
// held for long. Not thread-safe: each step runs under the store's lock. All it does about damage
// is to drop rows, and to let the database move itself away.

#include "cache/database.h"
#include "cache/store.h"
#include "support/status.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace kiln {

class Verifier {
 public:
  // `database` is borrowed.
  Verifier(Database& database, bool repair)
      : database_(database), repair_(repair), quarantined_before_(database.quarantined()) {}

  // Does the next part; true when nothing is left. The first reads the whole database.
  Result<bool> step();

  const Store::Verification& result() const { return result_; }
  // Entries that these steps dropped, and databases that they moved away.
  std::int64_t lost() const {
    return lost_entries_ + database_.quarantined() - quarantined_before_;
  }

 private:
  enum class Phase { database, entries, images, usage, verdicts, done };
  // What one step found; begun anew when the step has to start over.
  struct Found {
    std::int64_t checked = 0;
    std::int64_t next_row = std::numeric_limits<std::int64_t>::min();
    bool is_last = true;  // the phase is over
    std::vector<Store::Damage> damage = {};
    std::int64_t unlisted = 0;  // more damage, for which there is no room
  };
  using Search = std::function<Status(Connection&, Found&)>;
  // Looks again, drops what is still damaged, and leaves that alone in the list.
  using Drop = std::function<Status(Connection&, std::vector<Store::Damage>&)>;

  Result<Found> find(const Search& search);
  Status run(const Search& search, const Drop& drop);
  Status find_damaged_entries(Connection& connection, Found& found) const;
  Status find_orphans(Connection& connection, Found& found) const;
  Status go_on_after(std::int64_t row, Found& found) const;
  void note_database_damage(const Status& reason);

  Database& database_;
  const bool repair_;
  const std::int64_t quarantined_before_;
  Phase phase_ = Phase::database;
  std::int64_t next_row_ = std::numeric_limits<std::int64_t>::min();  // of entries and images
  std::int64_t lost_entries_ = 0;
  Store::Verification result_;
};

}  // namespace kiln
