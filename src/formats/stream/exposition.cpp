#include "formats/stream/exposition.h"

#include <algorithm>
#include <limits>

#include "base/sort.h"
#include "base/text.h"

namespace vramwise::formats {
namespace {

constexpr size_t kMostSamples = 100'000;
constexpr size_t kMostLabels = 64;

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == ':';
}

std::string_view take_name(std::string_view& text) {
  size_t n = 0;
  while (n < text.size() && is_name_char(text[n])) ++n;
  const std::string_view name = text.substr(0, n);
  text.remove_prefix(n);
  return name;
}

void skip_blanks(std::string_view& text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
}

// {a="b",c="d"} with \\, \" and \n escaped.
bool take_labels(std::string_view& text, MetricSample& sample) {
  text.remove_prefix(1);
  while (true) {
    skip_blanks(text);
    if (text.empty()) return false;
    if (text.front() == '}') {
      text.remove_prefix(1);
      return true;
    }
    const std::string_view key = take_name(text);
    skip_blanks(text);
    if (key.empty() || !starts_with(text, "=")) return false;
    text.remove_prefix(1);
    skip_blanks(text);
    if (!starts_with(text, "\"")) return false;
    text.remove_prefix(1);
    std::string value;
    while (!text.empty() && text.front() != '"') {
      char c = text.front();
      text.remove_prefix(1);
      if (c == '\\' && !text.empty()) {
        c = text.front() == 'n' ? '\n' : text.front();
        text.remove_prefix(1);
      }
      value += c;
    }
    if (text.empty() || sample.labels.size() >= kMostLabels) return false;
    text.remove_prefix(1);
    sample.labels.emplace_back(std::string(key), std::move(value));
    skip_blanks(text);
    if (starts_with(text, ",")) text.remove_prefix(1);
  }
}

std::optional<double> read_value(std::string_view text) {
  const std::string word = to_lower(text);
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (word == "+inf" || word == "inf") return std::numeric_limits<double>::infinity();
  if (word == "-inf") return -std::numeric_limits<double>::infinity();
  // JSON numbers have no plus sign and no bare point; Go and Python write neither.
  return parse_number(starts_with(text, "+") ? text.substr(1) : text);
}

bool read_sample(std::string_view line, MetricSample& sample) {
  const std::string_view name = take_name(line);
  if (name.empty()) return false;
  sample.name = name;
  skip_blanks(line);
  if (starts_with(line, "{") && !take_labels(line, sample)) return false;
  skip_blanks(line);
  // A timestamp or an exemplar may follow.
  const auto value = read_value(line.substr(0, line.find_first_of(" \t")));
  if (!value) return false;
  sample.value = *value;
  return true;
}

// A broken exporter writes a series twice; added up, it would count double.
void drop_repeated(std::vector<MetricSample>& samples) {
  const auto key = [&](uint32_t i) -> const MetricSample& { return samples[i]; };
  std::vector<uint32_t> order(samples.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto less = [&](uint32_t a, uint32_t b) {
    if (key(a).name != key(b).name) return key(a).name < key(b).name;
    return key(a).labels < key(b).labels;
  };
  sort_stable(order, less);
  std::vector<bool> dropped(samples.size(), false);
  bool any = false;
  for (size_t i = 1; i < order.size(); ++i) {
    if (less(order[i - 1], order[i])) continue;
    dropped[order[i - 1]] = any = true;
  }
  if (!any) return;
  size_t kept = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (dropped[i]) continue;
    if (kept != i) samples[kept] = std::move(samples[i]);
    ++kept;
  }
  samples.resize(kept);
}

}  // namespace

std::string_view MetricSample::label(std::string_view key) const {
  for (const auto& [name, value] : labels) {
    if (name == key) return value;
  }
  return {};
}

Exposition read_exposition(std::string_view text, std::span<const std::string_view> prefixes) {
  const auto wanted = [&](std::string_view line) {
    return prefixes.empty() || std::any_of(prefixes.begin(), prefixes.end(),
                                           [&](auto prefix) { return starts_with(line, prefix); });
  };
  Exposition found;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (line.empty() || line.front() == '#' || !wanted(line)) continue;
    if (found.samples.size() >= kMostSamples) {
      found.cut_off = true;
      break;
    }
    MetricSample sample;
    if (read_sample(line, sample)) {
      found.samples.push_back(std::move(sample));
    } else {
      ++found.faulty;
    }
  }
  drop_repeated(found.samples);
  return found;
}

bool Exposition::has(std::string_view name) const { return first(name) != nullptr; }

const MetricSample* Exposition::first(std::string_view name) const {
  for (const MetricSample& sample : samples) {
    if (sample.name == name) return &sample;
  }
  return nullptr;
}

std::optional<double> Exposition::sum(std::string_view name) const {
  std::optional<double> total;
  for (const MetricSample& sample : samples) {
    if (sample.name == name && sample.value == sample.value) {
      total = total.value_or(0) + sample.value;
    }
  }
  return total;
}

std::optional<double> Exposition::highest(std::string_view name) const {
  std::optional<double> top;
  for (const MetricSample& sample : samples) {
    if (sample.name == name && sample.value == sample.value) {
      top = top ? std::max(*top, sample.value) : sample.value;
    }
  }
  return top;
}

}  // namespace vramwise::formats
