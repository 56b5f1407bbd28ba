// What a listing of the catalog says of each entry beside its id.
#pragma once

#include "base/result.h"
#include "catalog/catalog.h"
#include "json/value.h"

namespace vramwise::api {

// The answer's member "rows" where a catalog request has "rows": true, one object per entry, sorted
// by id: gpus {"id","name","total_bytes","bandwidth_gbs"?,"usd_per_hour"?,"offer"?}, engines
// {"id","name","oldest"?,"newest"?}, instances {"id","gpu","gpu_count","usd_per_hour"?,"date"?},
// workloads {"id","name"}; other kinds {"id"}. Errors: as catalog::find for a faulty entry.
Result<json::Value> catalog_rows(catalog::Kind kind);

}  // namespace vramwise::api
