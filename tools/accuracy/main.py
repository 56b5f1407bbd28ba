"""The command line of `./dev accuracy`."""
import argparse
import json
import os
import re
import sys

from . import bounds, calibration, external, facts, llamacpp, proof, published, report, serving, step_catalog, workload
from .cases import ROOT, load_measured
from .figures import Table
from .planner import Planner

PAGE = os.path.join(ROOT, "docs", "accuracy.md")


def arguments(argv):
    parser = argparse.ArgumentParser(prog="./dev accuracy", description="Estimates beside measured cases.")
    parser.add_argument("suite", nargs="*", help="suites to run (--list names them); all without")
    parser.add_argument("--cases", metavar="DIR", help="a folder of collected cases instead of tests/measured")
    parser.add_argument("--facts", metavar="DIR", help="a folder with param_counts.tsv and caches.tsv")
    parser.add_argument("--only", metavar="REGEX", help="only cases whose name, model or source match")
    parser.add_argument("--show", type=int, default=10, metavar="N", help="rows farthest off to list (10)")
    parser.add_argument("--json", action="store_true", help="JSON on standard output")
    parser.add_argument("--write", nargs="?", const=PAGE, metavar="FILE", help="write docs/accuracy.md (or FILE)")
    parser.add_argument("--tighten", action="store_true", help="take better results into tests/measured as bounds")
    parser.add_argument("--fit-steps", action="store_true",
                        help="fit the step time to tests/measured/decode_speed.tsv and write it into the catalog")
    parser.add_argument("--list", action="store_true", help="list the suites")
    parser.add_argument("--binary", default=os.environ.get(
        "VRAMWISE", os.path.join(ROOT, "build/release/bin/vramwise")), help="the program asked")
    return parser.parse_args(argv)


def main(argv):
    args = arguments(argv)
    if not os.access(args.binary, os.X_OK):
        print(f"accuracy: no binary at {args.binary} (build it, or set VRAMWISE)", file=sys.stderr)
        return 70
    planner = Planner(args.binary)
    if args.fit_steps:
        rows = [row for _, row in workload.step_fit_rows(planner)]
        print("\n".join(step_catalog.write(rows)))
        return 0
    cases = external.load(args.cases) if args.cases else load_measured()
    if args.only:
        cases = [c for c in cases if re.search(args.only, f"{c.label} {c.model} {c.source}")]
    suites = {**facts.suites(planner, args.cases, args.facts), "published": lambda: published.suite(planner),
              **serving.suites(planner, cases),
              **calibration.suites(planner, cases), **proof.suites(planner, cases, args.cases),
              **llamacpp.suites(planner, cases),
              **({} if args.cases else workload.suites(planner))}
    if args.list:
        print("\n".join(suites))
        return 0
    unknown = [s for s in args.suite if s not in suites]
    if unknown:
        print(f"accuracy: no suite {unknown[0]!r}; there are: {', '.join(suites)}", file=sys.stderr)
        return 2
    results = [r for name, run in suites.items() if not args.suite or name in args.suite for r in run()]
    groups = report.Groups(planner)
    groups.prepare(row.case if hasattr(row, "case") else row[0]
                   for r in results if not isinstance(r, Table) for row in r.rows)
    if args.tighten:
        print("\n".join(bounds.tighten([r for r in results if not isinstance(r, Table)])))
    elif args.json:
        print(json.dumps({"schema_version": 1, "figures": report.as_json(results, groups, args.show)}, indent=1))
    else:
        print(report.text(results, groups, args.show))
    if args.write:
        words = ["./dev accuracy", *args.suite]
        words += [f"--cases {args.cases}"] if args.cases else []
        words += [f"--facts {args.facts}"] if args.facts else []
        with open(args.write, "w") as f:
            f.write(report.markdown(results, groups, args.show, " ".join(words + ["--write"])))
    return 0
