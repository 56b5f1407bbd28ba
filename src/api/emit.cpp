#include "api/emit.h"

#include "engines/launch/write_manifest.h"
#include "plan/sentence.h"
#include "weights/weights.h"

namespace vramwise::api {

Result<json::Value> manifest_block(const plan::Plan& plan, std::string_view kind_name) {
  namespace launch = engines::launch;
  TRY_ASSIGN(const launch::ManifestKind kind, launch::manifest_kind(kind_name));
  const plan::Resolved& resolved = plan.resolved;
  launch::Deployment deployment;
  deployment.engine = std::string(resolved.engine->name());
  deployment.command = plan.assessment.command;
  if (resolved.settings.version.given) deployment.version = resolved.settings.version.text;
  deployment.weights = weights::at_rest_bytes(*resolved.model, *resolved.weights);
  const auto& devices = resolved.hardware.devices;
  deployment.devices = int64_t(devices.size());
  if (!devices.empty()) {
    const catalog::Gpu& gpu = devices.front().gpu;
    deployment.vendor = gpu.vendor.empty() ? "nvidia" : gpu.vendor;
    deployment.devices_per_node = gpu.max_per_node;
  }
  TRY_ASSIGN(const std::string yaml, launch::write_manifest(kind, deployment));
  json::Value block = json::Value::object();
  block.set("kind", kind_name);
  // What the numbers say stands on top, where a person who opens the file sees it, and that the
  // command's model is not the one they are of.
  std::string other;
  for (const Note& note : resolved.notes.assumptions) {
    if (note.id == "weights_repository") other = "# Before use: " + note.text + ".\n";
  }
  block.set("text", "# " + plan::sentence(plan) + "\n# Planned for " +
                        plan::describe(resolved.hardware) + ", weights " +
                        resolved.weights->format + ".\n" + other + yaml);
  return block;
}

}  // namespace vramwise::api
