#include "report/table.h"

#include <algorithm>

#include "base/text.h"

namespace vramwise::report {

std::string Table::draw(const Style& style) const {
  constexpr int kGap = 2;
  std::vector<int> widths;
  for (size_t c = 0; c < columns_.size(); ++c) {
    int width = display_width(columns_[c].title);
    for (const auto& row : rows_) width = std::max(width, display_width(row[c]));
    widths.push_back(width);
  }
  std::vector<bool> shown(columns_.size(), true);
  const auto total = [&] {
    int sum = 0;
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (shown[c]) sum += widths[c] + (sum > 0 ? kGap : 0);
    }
    return sum;
  };
  int dropped = 0;
  while (style.width > 0 && total() > style.width) {
    // The least important column still shown; of equals the last.
    int victim = -1;
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (shown[c] && columns_[c].priority > 0 &&
          (victim < 0 || columns_[c].priority >= columns_[size_t(victim)].priority)) {
        victim = int(c);
      }
    }
    if (victim < 0) break;
    shown[size_t(victim)] = false;
    ++dropped;
  }
  // Long names in the first column give way before numbers do.
  if (style.width > 0 && total() > style.width && !widths.empty()) {
    widths[0] = std::max(8, widths[0] - (total() - style.width));
  }
  const auto line = [&](const auto& cell_of) {
    std::string text;
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (!shown[c]) continue;
      if (!text.empty()) text += std::string(kGap, ' ');
      std::string cell = cell_of(c);
      if (c == 0) cell = elide_middle(cell, widths[0], style);
      text += columns_[c].align == Align::right ? pad_left(cell, widths[c])
                                                : pad_right(cell, widths[c]);
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return text + "\n";
  };
  std::string out = paint(style, Ink::dim, line([&](size_t c) { return columns_[c].title; }));
  for (const auto& row : rows_) {
    out += line([&](size_t c) { return row[c]; });
  }
  if (dropped > 0) {
    out += paint(style, Ink::dim,
                 "+" + format_integer(dropped) + (dropped == 1 ? " column" : " columns") +
                     " in a wider terminal") +
           "\n";
  }
  return out;
}

}  // namespace vramwise::report
