#include "engines/launch/shell.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace vramwise::engines::launch {
namespace {

// Words joined by |, commands by " ;; ".
std::string shape(std::string_view text) {
  std::string out;
  for (const Command& c : read_script({text}).commands) {
    if (!out.empty()) out += " ;; ";
    for (size_t i = 0; i < c.words.size(); ++i) out += (i > 0 ? "|" : "") + c.words[i].text;
  }
  return out;
}

struct Case {
  std::string_view text, shape;
};

TEST(Shell, QuotesAndEscapes) {
  const Case cases[] = {
      {"run a\\ b 'c d' \"e f\"", "run|a b|c d|e f"},
      {"run 'a\"b' \"c'd\" x'y'z", "run|a\"b|c'd|xyz"},
      {"run \"a\\\"b\\$c\\n\"", "run|a\"b$c\\n"},
      {"run $'a\\tb\\'c'", "run|a\tb'c"},
      {"run '' \"\"", "run||"},
      {"run don't", "run|don't"},  // an apostrophe that nothing closes
      {"run a#b # comment", "run|a#b"},
  };
  for (const Case& c : cases) EXPECT_EQ(shape(c.text), c.shape) << c.text;
}

TEST(Shell, CommandsAndOperators) {
  const Case cases[] = {
      {"a 1; b 2 && c 3 || d 4 | e 5 &\nf", "a|1 ;; b|2 ;; c|3 ;; d|4 ;; e|5 ;; f"},
      {"a > out.log 2>&1 --x 1", "a|--x|1"},
      {"a --x 1 &> all.log &", "a|--x|1"},
      {"(cd dir && a --x)", "cd|dir ;; a|--x"},
      {"if a; then b; fi", "a ;; b"},
      {"a \\\n  --x 1 \\\n  --y 2", "a|--x|1|--y|2"},
      {"a ^\r\n --x 1", "a|--x|1"},
      {"a `\n --x 1", "a|--x|1"},
  };
  for (const Case& c : cases) EXPECT_EQ(shape(c.text), c.shape) << c.text;
}

TEST(Shell, BlankBehindBackslashIsJoinedAndTold) {
  const Script script = read_script({"a \\  \n --x 1"});
  ASSERT_EQ(script.commands.size(), 1U);
  EXPECT_EQ(script.commands[0].words.size(), 3U);
  ASSERT_EQ(script.warnings.size(), 1U);
  EXPECT_EQ(script.warnings[0].code, "blank_after_backslash");
}

TEST(Shell, Prompts) {
  const Case cases[] = {
      {"$ a --x", "a|--x"},
      {"> a --x", "a|--x"},
      {"me@box:~/src$ a --x", "a|--x"},
      {"root@3f2a:/# a --x", "a|--x"},
      {"(venv) $ a --x", "a|--x"},
      {"(base) me@box:~$ a", "a"},
      {"[me@box dir]$ a", "a"},
      {"PS C:\\work> a --x", "a|--x"},
      {"```bash\na --x\n```", "a|--x"},
      {"# a --x", ""},
  };
  for (const Case& c : cases) EXPECT_EQ(shape(c.text), c.shape) << c.text;
  EXPECT_EQ(read_script({"# a --x", {}, true}).commands.size(), 1U);
}

TEST(Shell, Variables) {
  const Case cases[] = {
      {"N=4\nrun -n $N ${N}x \"$N y\" '$N'", "run|-n|4|4x|4 y|$N"},
      {"run ${N:-7} ${M-8} ${K:=9}", "run|7|8|9"},
      {"A=1\nrun ${B:-$A}", "run|1"},
      {"OPTS=\"--x 1 --y 2\"\nrun $OPTS", "run|--x|1|--y|2"},
      {"OPTS=\"--x 1\"\nrun \"$OPTS\"", "run|--x 1"},
      {"A=(--x 1 'y z')\nA+=(--w)\nrun \"${A[@]}\" end", "run|--x|1|y z|--w|end"},
      {"run \"$@\" $* x", "run|x"},
      {"export N=2\nrun $N", "run|2"},
      {"$n = 3\nrun $n `\n x", "run|3|x"},
      {"set N=5\nrun %N% ^\n x", "run|5|x"},
  };
  for (const Case& c : cases) EXPECT_EQ(shape(c.text), c.shape) << c.text;
}

TEST(Shell, HolesKeepTheirText) {
  const Script script =
      read_script({"run $X $(nvidia-smi -L | wc -l) /d/$Y/z `date` <your-model>"});
  ASSERT_EQ(script.commands.size(), 1U);
  const auto& w = script.commands[0].words;
  ASSERT_EQ(w.size(), 6U);
  for (size_t i = 1; i < w.size(); ++i) EXPECT_TRUE(w[i].hole) << w[i].text;
  EXPECT_TRUE(w[1].is_unknown());
  EXPECT_TRUE(w[2].all_gpus);
  EXPECT_FALSE(w[3].is_unknown());
  EXPECT_EQ(w[3].text, "/d/$Y/z");
  EXPECT_EQ(w[5].text, "<your-model>");
}

TEST(Shell, LostQuotesOfJson) {
  const auto lost = [](std::string_view text) {
    const Script script = read_script({text});
    return script.commands.at(0).words.at(1).lost_quotes;
  };
  EXPECT_TRUE(lost("run {\"a\":1}"));
  EXPECT_TRUE(lost("run \"{\"a\": \"b c\"}\""));
  EXPECT_FALSE(lost("run '{\"a\":1}'"));
  EXPECT_FALSE(lost("run \"{\\\"a\\\":1}\""));
  EXPECT_FALSE(lost("run \"{a}\""));
}

TEST(Shell, EnvironmentInFront) {
  const Script script = read_script({"export A=1\nB=2 C='x y' run\nexport D=3"});
  ASSERT_EQ(script.commands.size(), 1U);
  ASSERT_EQ(script.commands[0].assignments.size(), 2U);
  EXPECT_EQ(script.commands[0].assignments[1].second.text, "x y");
  EXPECT_EQ(script.commands[0].exported, 1U);  // D comes too late
  EXPECT_EQ(read_script({"$env:A = \"1\"; run"}).exported.size(), 1U);
  EXPECT_EQ(read_script({"setx A 1\nrun"}).exported.size(), 1U);
}

TEST(Shell, FilesWrittenInThePaste) {
  const auto file = [](std::string_view text) { return read_script({text}).files["f.yaml"]; };
  EXPECT_EQ(file("cat > f.yaml <<EOF\na: 1\nEOF\nrun"), "a: 1\n");
  EXPECT_EQ(file("N=2\ncat <<EOF > f.yaml\na: $N\nEOF"), "a: 2\n");
  EXPECT_EQ(file("N=2\ncat <<'EOF' > f.yaml\na: $N\nEOF"), "a: $N\n");
  EXPECT_EQ(file("tee f.yaml <<-END\n\ta: 1\n\tEND\n"), "a: 1\n");
  EXPECT_EQ(file("echo 'a: 1' > f.yaml"), "a: 1\n");
}

TEST(Shell, TypographyBackToTheKeyboard) {
  std::string text =
      "run \xE2\x80\x9C"
      "a\xE2\x80\x9D \xE2\x80\x93x \xE2\x80\x94y a\xE2\x80\x93"
      "b";
  EXPECT_TRUE(straighten(text));
  EXPECT_EQ(text, "run \"a\" --x --y a-b");
  std::string plain = "caf\xC3\xA9";
  EXPECT_FALSE(straighten(plain));
}

TEST(Shell, GrowthIsBounded) {
  std::string text = "A=xxxxxxxxxxxxxxxx\n";
  for (int i = 0; i < 60; ++i) text += "A=$A$A$A$A\n";
  text += "run $A";
  const Script script = read_script({text});
  ASSERT_EQ(script.commands.size(), 1U);
  EXPECT_TRUE(script.commands[0].words.back().hole);
}

}  // namespace
}  // namespace vramwise::engines::launch
