// What the driver takes beside the printed buffers: context, kernels, handles, and scratch of ops.
#pragma once

#include "base/units.h"
#include "engines/calibration.h"
#include "engines/hardware.h"
#include "engines/llamacpp/context.h"
#include "json/value.h"

namespace vramwise::engines::llamacpp {

struct Outside {
  ByteRange context;      // from the first call on the device
  ByteRange scratch;      // from the first long prompt
  bool measured = false;  // the context is of this machine
};

// Of one device. Sizes come from the engine profile's "outside"; the context as it was measured on
// this machine where such a run applies (`measured` may be null).
Outside outside_of(const json::Value& profile, Backend backend, const Device& device,
                   const Shape& shape, const ContextSize& size, const Calibration* measured);

}  // namespace vramwise::engines::llamacpp
