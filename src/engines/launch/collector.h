// From a paste to the program calls in it: wrappers taken off, containers opened, nested shells
// read.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engines/launch/invocation.h"
#include "json/value.h"

namespace vramwise::engines::launch {

class Collector {
 public:
  std::vector<Invocation> calls;
  std::map<std::string, std::string> files;
  std::vector<Finding> warnings;
  bool hash_is_prompt = false;

  // A shell script; `base` is what surrounds it (container, scheduler, variables of the
  // environment).
  void script(std::string_view text, const Invocation& base, int depth = 0);
  // One command as exact words.
  void command(std::vector<Word> words, Invocation base, int depth = 0);
  // An image with its arguments; `entrypoint` replaces the image's program.
  void image(const Image& image, std::vector<Word> entrypoint, std::vector<Word> args,
             Invocation base, int depth);

 private:
  bool unwrap(std::vector<Word>& words, Invocation& base, int depth);
  void container_run(std::vector<Word> words, Invocation base, int depth);
  void add(Invocation call);
};

// docker --gpus, compose count and device_ids.
void set_gpus_option(std::string_view text, Gpus& gpus);

// Each answers false when the text is not of its kind.
bool collect_yaml(std::string_view text, Collector& collector);  // compose, k8s, llama-swap
bool collect_systemd(std::string_view text, Collector& collector);
bool collect_dockerfile(std::string_view text, Collector& collector);

}  // namespace vramwise::engines::launch
