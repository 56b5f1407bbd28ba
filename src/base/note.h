// What an answer rests on, as data: assumptions made, and warnings about what was given.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace vramwise {

struct Note {
  std::string id;      // stable, snake_case: "head_dim_default"
  std::string text;    // one sentence for people
  std::string source;  // where the rule or fact comes from, may be empty

  friend bool operator==(const Note&, const Note&) = default;
};

// Assumptions and warnings collected on the way; duplicates by id and text are kept once.
struct Notes {
  std::vector<Note> assumptions;
  std::vector<Note> warnings;

  void assume(std::string id, std::string text, std::string source = {}) {
    add(assumptions, {std::move(id), std::move(text), std::move(source)});
  }
  void warn(std::string id, std::string text, std::string source = {}) {
    add(warnings, {std::move(id), std::move(text), std::move(source)});
  }
  void append(const Notes& other) {
    for (const Note& n : other.assumptions) add(assumptions, n);
    for (const Note& n : other.warnings) add(warnings, n);
  }

 private:
  static void add(std::vector<Note>& list, Note note) {
    for (const Note& n : list) {
      if (n.id == note.id && n.text == note.text) return;
    }
    list.push_back(std::move(note));
  }
};

}  // namespace vramwise
