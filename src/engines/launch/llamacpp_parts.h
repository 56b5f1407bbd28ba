// Parts that llama.cpp's command line and its presets share.
#pragma once

#include "engines/launch/option_sink.h"

namespace vramwise::engines::launch {

// One value from the command line, a variable or a preset, by llama.cpp's rules.
void llamacpp_value(OptionSink& sink, const Option& option, const Word& word,
                    std::string_view spelling);
// Flags that name a model also set it up ("--gpt-oss-20b-default").
void llamacpp_name_model(const Option& option, Reading& out);
// Where the model comes from: a named local file before a repository.
void llamacpp_choose_model(Reading& out);

}  // namespace vramwise::engines::launch
