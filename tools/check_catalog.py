#!/usr/bin/env python3
"""Checks the catalogs: schema, names, references, sources and plausible numbers.

usage: check_catalog.py [--catalog DIR]

Every file of DIR/{gpus,models,weights,engines,instances,options,speeds,workloads} is held against
DIR/schema/<kind>.schema.json, with python3-jsonschema where it is installed and always with a small
check of our own that knows the keywords those schemas use. Prints one line per fault and exits with
1, or prints what was checked and exits with 0.
"""
import argparse
import json
import pathlib
import re
import sys

try:
    import jsonschema
except ImportError:
    jsonschema = None

KINDS = {"gpus": "gpu", "models": "model", "weights": "weights", "engines": "engine",
         "instances": "instance", "options": "options", "speeds": "speed", "workloads": "workload"}
# A source is something public: no number of an index, no path on somebody's machine.
PRIVATE = re.compile(r"\b[a-z]{2}:\d{5,}|\bindex id\b|\"(\.\.)?/[a-z]+/|\bTODO\b")
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def is_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def faults(value, schema, root, place=""):
    """The keywords used under catalog/schema, in the sense of JSON Schema 2020-12."""
    if "$ref" in schema:
        target = root
        for step in schema["$ref"].lstrip("#/").split("/"):
            target = target[step]
        yield from faults(value, target, root, place)
    if "type" in schema:
        names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        if not any(is_type(value, n) for n in names):
            yield f"{place or '/'}: wants {' or '.join(names)}"
            return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{place}: {value!r} is none of {schema['enum']}"
    if isinstance(value, str):
        if "pattern" in schema and not re.search(schema["pattern"], value):
            yield f"{place}: {value!r} does not match {schema['pattern']}"
        if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", 10**9):
            yield f"{place}: {value!r} has a length outside its range"
    if is_type(value, "number"):
        if value < schema.get("minimum", value) or value > schema.get("maximum", value):
            yield f"{place}: {value} is outside its range"
        if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
            yield f"{place}: {value} is not above {schema['exclusiveMinimum']}"
    if isinstance(value, dict):
        for key in schema.get("required", []):
            if key not in value:
                yield f'{place or "/"}: "{key}" is missing'
        known = schema.get("properties", {})
        for key, member in value.items():
            if key in known:
                yield from faults(member, known[key], root, f"{place}/{key}")
            elif schema.get("additionalProperties") is False:
                yield f'{place or "/"}: "{key}" is not in the schema'
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            yield f"{place}: too few items"
        for i, item in enumerate(value):
            yield from faults(item, schema.get("items", {}), root, f"{place}/{i}")
    if "anyOf" in schema and all(any(faults(value, s, root, place)) for s in schema["anyOf"]):
        yield f"{place or '/'}: fits none of the alternatives"


def expand(value):
    """A list by run lengths, written out."""
    if isinstance(value, dict):
        if "$rle" in value:
            once = [expand(x) for x, n in value["$rle"] for _ in range(n)]
            return once * value.get("$times", 1)
        return {k: expand(v) for k, v in value.items()}
    return [expand(x) for x in value] if isinstance(value, list) else value


def gpu_faults(gpu):
    def fact(key):
        return gpu.get(key, {}).get("value")
    box, driver, process = (fact("memory_marketing"), fact("memory_driver_total"),
                            fact("memory_process_total"))
    ceiling = box * 1024 * 1.01
    for name, value in (("memory_driver_total", driver), ("memory_process_total", process)):
        if value is not None and not box * 1024 * 0.45 <= value <= ceiling:
            yield f"/{name}: {value} MiB cannot be of a card of {box} GB"
    if driver and process and process > driver:
        yield f"/memory_process_total: {process} MiB is more than the driver's {driver} MiB"
    for key, top in (("bandwidth", 30_000), ("power", 3_000), ("bf16_dense", 10_000),
                     ("fp8_dense", 20_000), ("fp4_dense", 40_000), ("multiprocessors", 400)):
        if fact(key) is not None and fact(key) > top:
            yield f"/{key}: {fact(key)} is not plausible"
    if gpu["vendor"] == "nvidia" and "compute_capability" not in gpu:
        yield "/compute_capability: missing"


def model_faults(model, models):
    seen, at = {model["id"]}, model
    while "base" in at:
        if at["base"] not in models:
            yield f"/base: {at['base']} is not in the catalog"
            break
        at = models[at["base"]]
        if at["id"] in seen:
            yield "/base: a circle"
            break
        seen.add(at["id"])
    config = expand(model.get("config") or {})
    if "quantization_config" in config:
        yield "/config: quantization_config belongs beside it"
    for part in (config, config.get("text_config") or {}):
        layers = part.get("num_hidden_layers")
        if layers is not None and not (isinstance(layers, int) and 0 < layers <= 1000):
            yield f"/config: {layers} layers"
        for key in ("layer_types", "layers_block_type", "block_configs", "compress_ratios"):
            # compress_ratios and mlp lists may go on for the multi-token-prediction layers.
            predicting = part.get("num_nextn_predict_layers") or 1
            if isinstance(part.get(key), list) and layers and len(part[key]) - layers not in (0, predicting):
                yield f"/config/{key}: {len(part[key])} items for {layers} layers"
        heads, kv = part.get("num_attention_heads"), part.get("num_key_value_heads")
        if isinstance(heads, int) and isinstance(kv, int) and kv and heads % kv:
            yield f"/config: {heads} query heads do not divide into {kv} groups"
        for key in ("hidden_size", "vocab_size", "intermediate_size"):
            value = part.get(key)
            if isinstance(value, int) and not 0 < value < 2**31:
                yield f"/config/{key}: {value}"
    quantization = model.get("quantization_config") or {}
    for key in ("ignore", "exclude_modules", "modules_to_not_convert", "quantized_layers"):
        if len(quantization.get(key) or []) > 40:
            yield f"/quantization_config/{key}: {len(quantization[key])} names; write patterns"


def instance_faults(instance, gpus):
    if instance["gpu"] not in gpus:
        yield f"/gpu: {instance['gpu']} is not in the catalog"
    dates = [p.get("date", "") for p in instance.get("prices", [])]
    if dates != sorted(dates, reverse=True):
        yield "/prices: not newest first"
    for price in instance.get("prices", []):
        each = price["usd_per_hour"] / instance["gpu_count"]
        if not 0.01 <= each <= 100:
            yield f"/prices: {each} USD per GPU-hour is not plausible"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    here = pathlib.Path(__file__).resolve().parent.parent / "catalog"
    parser.add_argument("--catalog", type=pathlib.Path, default=here)
    args = parser.parse_args()
    found, entries = [], {}
    for folder, kind in KINDS.items():
        schema = json.loads((args.catalog / "schema" / f"{kind}.schema.json").read_text())
        validator = jsonschema.Draft202012Validator(schema) if jsonschema else None
        names, entries[kind] = {}, {}
        for path in sorted((args.catalog / folder).rglob("*.json")):
            def fault(text, path=path):
                found.append(f"{path.relative_to(args.catalog)}: {text}")
            text = path.read_text(encoding="utf-8")
            for match in PRIVATE.finditer(text):
                fault(f'"{match.group(0)}" is no public source')
            try:
                entry = json.loads(text)
            except ValueError as broken:
                fault(str(broken))
                continue
            own = list(faults(entry, schema, schema))
            for text in own:
                fault(text)
            if validator and not own:
                for error in validator.iter_errors(entry):
                    fault(f"{error.json_path}: {error.message}")
            if own:
                continue
            entries[kind][entry["id"]] = entry
            if entry["id"].replace("/", "__") != path.stem:
                fault(f'id "{entry["id"]}" is not the file name')
            for name in [entry["id"], *entry.get("aliases", [])]:
                if name.lower() in names:
                    fault(f'the name "{name}" is also given by {names[name.lower()]}')
                names[name.lower()] = entry["id"]
    further = [(entries["gpu"], gpu_faults, ()), (entries["model"], model_faults, (entries["model"],)),
               (entries["instance"], instance_faults, (entries["gpu"],))]
    for things, check, more in further:
        for ident, entry in things.items():
            found += [f"{ident}: {text}" for text in check(entry, *more)]
    for line in found:
        print(line)
    if not found:
        print("catalog:", ", ".join(f"{len(e)} {KINDS[f]}" for f, e in
                                    zip(KINDS, entries.values())),
              "" if jsonschema else "(without python3-jsonschema)")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
