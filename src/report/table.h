// A table that drops its least important columns where the terminal is narrow. Numbers are never
// wrapped or cut.
#pragma once

#include <string>
#include <vector>

#include "report/style.h"

namespace vramwise::report {

enum class Align { left, right };

struct Column {
  std::string title;
  Align align = Align::left;
  int priority = 0;  // 0 stays always; higher numbers go first
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // Lines with a header; says in a last line how many columns were left out.
  std::string draw(const Style& style) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace vramwise::report
