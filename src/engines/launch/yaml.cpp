#include "engines/launch/yaml.h"

#include <map>
#include <string>

#include "base/text.h"
#include "engines/launch/yaml_text.h"

namespace vramwise::engines::launch {
namespace {

using namespace yaml;

struct Line {
  int indent;
  std::string text;  // without indent and line end
  int number;        // 1-based
  bool blank() const { return text.empty() || text[0] == '#'; }
};

// A flow value is looked through again for each of its lines; hand-written ones stay far below.
constexpr size_t kMaxFlowWork = size_t{16} << 20;

class Parser {
 public:
  Parser(std::string_view source, YamlLimits limits) : source_(source), limits_(limits) {}

  Result<std::vector<json::Value>> run(std::string_view text) {
    if (text.size() > limits_.bytes) {
      return fail(Error(ErrorCode::too_large, "more than a megabyte of YAML").at(source_));
    }
    std::vector<json::Value> documents;
    int number = 0;
    bool any = false;
    for (std::string_view raw : split(text, '\n')) {
      ++number;
      if (!raw.empty() && raw.back() == '\r') raw.remove_suffix(1);
      const bool separator = raw == "---" || starts_with(raw, "--- ");
      if (separator || raw == "...") {
        if (any) TRY(finish(documents));
        any = false;
        if (separator && raw.size() > 4) {
          lines_.push_back({4, std::string(trim(raw.substr(4))), number});
          any = true;
        }
        continue;
      }
      size_t indent = 0;
      while (indent < raw.size() && raw[indent] == ' ') ++indent;
      std::string_view rest = raw.substr(indent);
      while (!rest.empty() && (rest.back() == ' ' || rest.back() == '\t')) rest.remove_suffix(1);
      if (starts_with(rest, "\t")) {
        if (trim(rest).empty()) {
          rest = {};
        } else {
          return fail(error(number, "a tab indents this line; YAML takes only blanks"));
        }
      }
      any = any || !(rest.empty() || rest[0] == '#');
      lines_.push_back({int(indent), std::string(rest), number});
    }
    TRY(finish(documents));
    return documents;
  }

 private:
  Error error(int line, std::string message) const {
    return Error(ErrorCode::invalid_input, std::move(message)).at(Where{source_, "", line});
  }
  Error here(std::string message) const {
    return error(at_ < lines_.size() ? lines_[at_].number
                 : lines_.empty()    ? 0
                                     : lines_.back().number,
                 std::move(message));
  }

  Result<bool> finish(std::vector<json::Value>& documents) {
    at_ = 0;
    json::Value value;
    skip_blank();
    if (at_ < lines_.size()) {
      TRY_ASSIGN(value, block(0, 0));
      skip_blank();
      if (at_ < lines_.size())
        return fail(here("this line fits nothing above it; check its indent"));
    }
    documents.push_back(std::move(value));
    lines_.clear();
    return true;
  }

  void skip_blank() {
    while (at_ < lines_.size() && lines_[at_].blank()) ++at_;
  }

  Result<bool> count() {
    if (++values_ > limits_.values) {
      return fail(Error(ErrorCode::too_large, "more values than a configuration has").at(source_));
    }
    return true;
  }

  Result<json::Value> block(int min_indent, int depth) {
    if (depth > limits_.depth) {
      return fail(Error(ErrorCode::too_large, "nested too deeply").at(source_));
    }
    skip_blank();
    if (at_ >= lines_.size() || lines_[at_].indent < min_indent) return json::Value();
    const int indent = lines_[at_].indent;
    if (is_item(lines_[at_].text)) return list(indent, depth);
    if (key_colon(lines_[at_].text) != kNone) return map(indent, depth);
    std::string text = lines_[at_].text;
    return inline_value(std::move(text), min_indent - 1, depth);
  }

  Result<json::Value> list(int indent, int depth) {
    json::Value out = json::Value::array();
    for (skip_blank();
         at_ < lines_.size() && lines_[at_].indent == indent && is_item(lines_[at_].text);
         skip_blank()) {
      TRY(count());
      Line& line = lines_[at_];
      size_t offset = 1;
      while (offset < line.text.size() && (line.text[offset] == ' ' || line.text[offset] == '\t'))
        ++offset;
      const std::string rest = line.text.substr(offset);
      if (rest.empty() || rest[0] == '#') {
        ++at_;
        TRY_ASSIGN(json::Value item, block(indent + 1, depth + 1));
        out.push(std::move(item));
        continue;
      }
      if (is_item(rest) || (key_colon(rest) != kNone && rest[0] != '&' && rest[0] != '*')) {
        // The item's first line stands as if it were a line of its own, further to the right.
        line.indent = indent + int(offset);
        line.text = rest;
        TRY_ASSIGN(json::Value item, block(indent + 1, depth + 1));
        out.push(std::move(item));
      } else {
        TRY_ASSIGN(json::Value item, inline_value(rest, indent, depth + 1));
        out.push(std::move(item));
      }
    }
    return out;
  }

  Result<json::Value> map(int indent, int depth) {
    json::Value out = json::Value::object();
    for (skip_blank(); at_ < lines_.size() && lines_[at_].indent == indent; skip_blank()) {
      TRY(count());
      const std::string text = lines_[at_].text;
      const size_t colon = key_colon(text);
      if (colon == kNone || is_item(text)) return fail(here("expected \"key: value\""));
      const std::string_view raw_key = trim(std::string_view(text).substr(0, colon));
      const std::string key = !raw_key.empty() && (raw_key[0] == '"' || raw_key[0] == '\'')
                                  ? unquote(raw_key)
                                  : std::string(raw_key);
      std::string rest(trim(std::string_view(text).substr(colon + 1)));
      const std::string anchor = take_properties(rest);
      json::Value value;
      if (rest.empty() || rest[0] == '#') {
        ++at_;
        skip_blank();
        // A list may stand at the indent of its key.
        const bool list_here =
            at_ < lines_.size() && lines_[at_].indent == indent && is_item(lines_[at_].text);
        TRY_ASSIGN(value, list_here ? list(indent, depth + 1) : block(indent + 1, depth + 1));
      } else {
        TRY_ASSIGN(value, inline_value(rest, indent, depth + 1));
      }
      if (!anchor.empty()) anchors_[anchor] = value;
      if (key == "<<") {
        TRY(merge(out, value));
      } else {
        out.set(key, std::move(value));
      }
    }
    if (at_ < lines_.size() && lines_[at_].indent > indent) {
      return fail(here("this line is indented more than its neighbours"));
    }
    return out;
  }

  Result<bool> merge(json::Value& into, const json::Value& from) {
    if (from.is_array()) {
      for (const json::Value& item : from.as_array()) TRY(merge(into, item));
      return true;
    }
    if (!from.is_object()) return true;
    for (const json::Member& member : from.as_object()) {
      TRY(count());
      if (into.find(member.key) == nullptr) into.set(member.key, member.value);
    }
    return true;
  }

  // Takes "&anchor" and "!tag" off; answers the anchor.
  std::string take_properties(std::string& rest) {
    std::string anchor;
    while (!rest.empty() && (rest[0] == '&' || rest[0] == '!')) {
      const size_t end = std::min(rest.find(' '), rest.size());
      if (rest[0] == '&') anchor = rest.substr(1, end - 1);
      rest = std::string(trim(std::string_view(rest).substr(end)));
    }
    return anchor;
  }

  // A value that begins on the current line as `rest`; consumes the lines it takes. Lines indented
  // more than `indent` continue it.
  Result<json::Value> inline_value(std::string rest, int indent, int depth) {
    TRY(count());
    const std::string anchor = take_properties(rest);
    json::Value value;
    const char first = rest.empty() ? '\0' : rest[0];
    if (first == '|' || first == '>') {
      value = block_scalar(rest, indent);
    } else if (first == '*') {
      ++at_;
      const auto known = anchors_.find(std::string(without_comment(rest.substr(1))));
      if (known == anchors_.end()) {
        --at_;
        return fail(here("an alias without an anchor above it"));
      }
      TRY(charge(known->second));
      value = known->second;
    } else if (first == '{' || first == '[' || first == '"' || first == '\'') {
      TRY_ASSIGN(value, flow_lines(rest, indent, depth));
    } else {
      std::string text(without_comment(rest));
      ++at_;
      bool continued = false;
      while (at_ < lines_.size() && (lines_[at_].text.empty() || lines_[at_].indent > indent)) {
        if (lines_[at_].text.empty()) {  // a blank line inside of it, or behind it
          size_t next = at_;
          while (next < lines_.size() && lines_[next].text.empty()) ++next;
          if (next >= lines_.size() || lines_[next].indent <= indent) break;
          at_ = next;
          continue;
        }
        if (lines_[at_].text[0] == '#' || key_colon(lines_[at_].text) != kNone) break;
        text += " " + std::string(without_comment(lines_[at_].text));
        continued = true;
        ++at_;
      }
      value = continued ? json::Value(text) : yaml_scalar(text);
    }
    if (!anchor.empty()) anchors_[anchor] = value;
    return value;
  }

  // Aliases of aliases grow fast, so a copy costs what it holds.
  Result<bool> charge(const json::Value& value) {
    TRY(count());
    if (value.is_array()) {
      for (const json::Value& item : value.as_array()) TRY(charge(item));
    } else if (value.is_object()) {
      for (const json::Member& member : value.as_object()) TRY(charge(member.value));
    } else if (value.is_string()) {
      values_ += int(value.as_string().size() / 64);
    }
    return true;
  }

  json::Value block_scalar(const std::string& header, int indent) {
    const bool folded = header[0] == '>';
    char chomp = ' ';
    int given = 0;
    for (size_t i = 1; i < header.size() && header[i] != ' '; ++i) {
      if (header[i] == '-' || header[i] == '+') chomp = header[i];
      if (header[i] >= '1' && header[i] <= '9') given = header[i] - '0';
    }
    ++at_;
    int body_indent = given > 0 ? std::max(indent, 0) + given : -1;
    std::string out;
    bool last_was_text = false;
    int blank_lines = 0;
    for (; at_ < lines_.size(); ++at_) {
      const Line& line = lines_[at_];
      if (line.text.empty()) {
        ++blank_lines;
        continue;
      }
      if (body_indent < 0 && line.indent > indent) body_indent = line.indent;
      if (body_indent < 0 || line.indent < body_indent) break;
      const bool more_indented = line.indent > body_indent;
      if (folded && last_was_text && !more_indented) {
        // One line end is a blank; of several the first goes.
        out.pop_back();
        if (blank_lines == 0) out += ' ';
      }
      out.append(size_t(blank_lines), '\n');
      blank_lines = 0;
      out.append(size_t(line.indent - body_indent), ' ');
      out += line.text + "\n";
      last_was_text = !more_indented;
    }
    if (chomp == '-')
      while (!out.empty() && out.back() == '\n') out.pop_back();
    if (chomp == '+') out.append(size_t(blank_lines), '\n');
    return out;
  }

  // A flow collection or quoted scalar, which may run over several lines.
  Result<json::Value> flow_lines(const std::string& rest, int indent, int depth) {
    const int line = lines_[at_].number;
    flow_.text = rest;
    flow_.at = 0;
    ++at_;
    while (!FlowText::is_complete(flow_.text)) {
      flow_work_ += flow_.text.size();
      if (flow_work_ > kMaxFlowWork)
        return fail(Error(ErrorCode::too_large, "a value over too many lines").at(source_));
      if (at_ >= lines_.size() || (lines_[at_].indent <= indent && !lines_[at_].text.empty() &&
                                   lines_[at_].text[0] != ']' && lines_[at_].text[0] != '}')) {
        return fail(error(line, "a bracket or quote is not closed"));
      }
      flow_.text += "\n" + lines_[at_].text;
      ++at_;
    }
    TRY_ASSIGN(json::Value value, flow(depth, line));
    flow_.skip_blank();
    if (flow_.at < flow_.text.size()) return fail(error(line, "something stands behind the value"));
    return value;
  }

  Result<json::Value> flow(int depth, int line) {
    if (depth > limits_.depth)
      return fail(Error(ErrorCode::too_large, "nested too deeply").at(source_));
    TRY(count());
    flow_.skip_blank();
    const char open = flow_.current();
    if (open == '*') {
      const json::Value name = flow_.scalar(true);
      const auto known = anchors_.find(name.as_string().substr(1));
      if (known == anchors_.end()) return fail(error(line, "an alias without an anchor above it"));
      TRY(charge(known->second));
      return known->second;
    }
    if (open != '[' && open != '{') return flow_.scalar(false);
    ++flow_.at;
    json::Value out = open == '[' ? json::Value::array() : json::Value::object();
    const char close = open == '[' ? ']' : '}';
    for (flow_.skip_blank(); flow_.current() != close; flow_.skip_blank()) {
      if (flow_.at >= flow_.text.size()) return fail(error(line, "a bracket is not closed"));
      const size_t before = flow_.at;
      if (open == '[') {
        TRY_ASSIGN(json::Value item, flow(depth + 1, line));
        flow_.skip_blank();
        if (flow_.current() == ':') {  // [a: 1] is a list of one-key maps
          ++flow_.at;
          TRY_ASSIGN(json::Value inner, flow(depth + 1, line));
          json::Value pair = json::Value::object();
          pair.set(yaml_word(item), std::move(inner));
          item = std::move(pair);
        }
        out.push(std::move(item));
      } else {
        const json::Value key = flow_.scalar(true);
        flow_.skip_blank();
        json::Value value;
        if (flow_.current() == ':') {
          ++flow_.at;
          flow_.skip_blank();
          if (flow_.current() != ',' && flow_.current() != '}') {
            TRY_ASSIGN(value, flow(depth + 1, line));
          }
        }
        out.set(key.as_string(), std::move(value));
      }
      flow_.skip_blank();
      if (flow_.current() == ',')
        ++flow_.at;
      else if (flow_.current() != close)
        return fail(error(line, "expected , or a closing bracket"));
      if (flow_.at == before) return fail(error(line, "expected a value"));
    }
    ++flow_.at;
    return out;
  }

  std::string source_;
  YamlLimits limits_;
  std::vector<Line> lines_;
  size_t at_ = 0;
  int values_ = 0;
  std::map<std::string, json::Value> anchors_;
  FlowText flow_;
  size_t flow_work_ = 0;
};

}  // namespace

Result<std::vector<json::Value>> parse_yaml(std::string_view text, std::string_view source,
                                            YamlLimits limits) {
  return Parser(source, limits).run(text);
}

}  // namespace vramwise::engines::launch
