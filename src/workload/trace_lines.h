// The lines and fields of a recorded trace: what tables of all origins have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace vramwise::workload {

struct Line {
  std::string_view text;
  int64_t number = 0;
};

// Lines of a text without their ends (of Unix, Windows or old Macs); blank ones are passed over, a
// byte-order mark is no part of the first.
class Lines {
 public:
  explicit Lines(std::string_view text);
  std::optional<Line> next();

 private:
  std::string_view text_;
  char end_ = '\n';
  int64_t number_ = 0;
};

// What stands between the fields of a table with this header: a comma, else a semicolon or a tab
// (spreadsheets of other countries).
char separator_of(std::string_view header);

// Fields of a line; quotes may surround a field, separators inside them do not split.
void split_fields(std::string_view line, char separator, std::vector<std::string_view>& fields);

// Seconds of "2023-11-16 18:15:46.6805900", with or without a zone "+00:00" or "Z".
std::optional<double> clock_time(std::string_view text);

}  // namespace vramwise::workload
