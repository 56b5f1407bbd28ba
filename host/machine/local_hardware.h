// "gpu":"local" in a request: the cards of this machine, with what others hold of them now.
#pragma once

#include "base/result.h"
#include "host/machine/machine.h"
#include "json/value.h"

namespace vramwise::host {

// Replaces {"gpu":"local"} ("local:1", "local:0,2" choose; "count" takes the first ones) in the
// hardware of the request, and of its "a" and "b", by "devices" with the catalog's id, total and
// used bytes, and sets "ram_bytes". Other requests are left alone, and the machine is not looked
// at. Errors: not_found without a card, or without the one that was asked for.
Result<void> resolve_local_hardware(json::Value& request);

// The same for a machine that was looked at already; `hardware` is the request's member.
Result<void> apply_machine(json::Value& hardware, const Machine& machine);

// What "local" can mean: whole cards and slices, in the order that "local:N" counts.
std::vector<Card> usable_cards(const Machine& machine);

}  // namespace vramwise::host
