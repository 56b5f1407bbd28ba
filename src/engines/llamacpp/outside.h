// What the driver takes beside the printed buffers: context, kernels, handles, and scratch of ops.
#pragma once

#include "base/units.h"
#include "engines/hardware.h"
#include "engines/llamacpp/context.h"
#include "json/value.h"

namespace vramwise::engines::llamacpp {

struct Outside {
  ByteRange context;  // from the first call on the device
  ByteRange scratch;  // from the first long prompt
};

// Of one device. Sizes come from the engine profile's "outside".
Outside outside_of(const json::Value& profile, Backend backend, const Device& device,
                   const Shape& shape, const ContextSize& size);

}  // namespace vramwise::engines::llamacpp
