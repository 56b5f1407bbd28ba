// Splitting a pasted command into words, as its shell would.
//
// Knows enough of POSIX shells, PowerShell and cmd.exe for what people paste: quotes,
// continuations, variables seen in the same paste, arrays, redirections, here-documents, comments,
// prompts. What it cannot know (a variable set elsewhere, the output of a command) stays in the
// text as written and is marked as a hole. Nothing is ever run.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engines/launch/reading.h"

namespace vramwise::engines::launch {

struct Word {
  std::string text;
  bool quoted = false;       // some part stood in quotes
  bool hole = false;         // some part is not known
  bool all_gpus = false;     // a hole that counts the machine's GPUs
  bool lost_quotes = false;  // JSON whose quotes the shell took away

  Word() = default;
  explicit Word(std::string t) : text(std::move(t)) {}
  // Nothing of the value is known.
  bool is_unknown() const {
    return hole && (text.empty() || text[0] == '$' || text[0] == '<' || text[0] == '`');
  }
};

enum class Dialect { posix, powershell, cmd };

// One simple command: its words, and the NAME=value in front of them.
struct Command {
  std::vector<std::pair<std::string, Word>> assignments;
  std::vector<Word> words;
  std::string writes_to;  // target of > or >>
  std::string document;   // here-document or here-string given to it
  bool has_document = false;
  size_t exported = 0;  // how many of Script::exported came before it
};

struct Script {
  std::vector<Command> commands;
  std::vector<std::pair<std::string, Word>> exported;  // export, set, $env:, setx: in order
  std::map<std::string, std::string> files;            // written by the script itself
  std::vector<std::string> sbatch;                     // words of #SBATCH lines
  std::vector<Finding> warnings;
};

using Variables = std::map<std::string, std::vector<Word>>;

struct ShellInput {
  std::string_view text;
  Variables variables;          // known before the script starts
  bool hash_is_prompt = false;  // "# vllm serve" is root's prompt, not a comment
};

Dialect guess_dialect(std::string_view text);
// Never fails: what cannot be read as a shell would is read as far as it goes.
Script read_script(const ShellInput& input);
// Words of one line without commands, assignments or comments: compose `command:`, ExecStart=.
std::vector<Word> split_words(std::string_view text, const Variables& variables = {});

// One word whose variables are put in and whose quotes stay: an item of a YAML list.
Word expand_word(std::string_view text, const Variables& variables);

// Typographic quotes, dashes and blanks back to those of a keyboard; true when there were any.
bool straighten(std::string& text);

}  // namespace vramwise::engines::launch
