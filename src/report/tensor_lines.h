// One tensor as a line of text.
#pragma once

#include <string>

#include "report/fields.h"

namespace vramwise::report {

inline std::string shape_text(const json::Value& shape) {
  std::vector<std::string> extents;
  for (const json::Value& extent : shape.as_array())
    extents.push_back(format_integer(extent.as_integer()));
  return "[" + join(extents, ", ") + "]";
}

inline std::string tensor_line(const json::Value& tensor, const Style& style) {
  std::string line = pad_left(size_text(style, integer(tensor, "bytes")), 14) + "  " +
                     pad_right(text(tensor, "type"), 10) + " " + text(tensor, "name") + " " +
                     shape_text(member(tensor, "shape"));
  if (integer(tensor, "copies") > 1) line += " x " + format_integer(integer(tensor, "copies"));
  return line + "\n";
}

}  // namespace vramwise::report
