// A launch command as what an orchestrator runs: a Compose file, Kubernetes objects, values of the
// llm-d Helm chart. read_launch reads the same program call out of each.
//
// Sources: docs.docker.com/reference/compose-file; kubernetes.io/docs/reference/kubernetes-api;
// kubernetes-sigs/lws docs/examples/{vllm,sglang}; llm-d-incubation/llm-d-modelservice
// charts/llm-d-modelservice/values.yaml (chart 0.4.12).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace vramwise::engines::launch {

enum class ManifestKind { compose, k8s, llm_d };
// "compose", "k8s" (also "kubernetes"), "llm-d". Errors: not_found with the list.
Result<ManifestKind> manifest_kind(std::string_view name);

struct Deployment {
  std::string engine;            // "vllm"
  std::string command;           // for a POSIX shell, as an engine's answer carries it
  std::string version;           // release whose image is named; empty: the image's newest
  std::string vendor;            // of the cards: "nvidia", "amd", …; empty: no card
  int64_t devices = 0;           // cards of the whole server
  int64_t devices_per_node = 0;  // cards that one machine can have; 0: not known
  Bytes weights;                 // at rest, for the size of the volume that holds them
};

// YAML text. Errors: unsupported where an orchestrator cannot run this engine or this many cards.
Result<std::string> write_manifest(ManifestKind kind, const Deployment& deployment);

}  // namespace vramwise::engines::launch
