// SPDX-License-Identifier: Apache-2.0
#pragma once

// Standard output for data, standard error for everything else, and at the bottom of a terminal one
// line that is redrawn. Thread-safe. A reader that goes away is no error.

#include "support/log.h"
#include "support/status.h"

#include <mutex>
#include <string>
#include <string_view>

namespace kiln {

class Console {
 public:
  Console();

  // Data. io if they could not be written, but not if nobody reads them any more.
  Status write_output(std::string_view text);
  // Whole lines to standard error, above the status line.
  void write_message(std::string_view text);
  // "kiln: <message>", then the indented detail.
  void write_failure(const Status& status);
  // "kiln: warning: <message>"
  void write_log(LogLevel level, std::string_view message);

  // Whether standard error is a terminal. Elsewhere there is no status line.
  bool is_terminal() const { return is_terminal_; }
  int width() const;  // columns of that terminal; 80 if that is not known
  // Replaces the status line; an empty one removes it.
  void set_status_line(std::string line);

 private:
  std::mutex mutex_;
  bool is_terminal_;
  std::string status_line_;
};

}  // namespace kiln
