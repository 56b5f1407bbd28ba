"""The measured set may not get worse: rows that were exact stay exact, groups stay inside their bounds.

tests/measured/README.md describes the rows; `./dev accuracy --tighten` takes better results in.
"""
import json
import os
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))

from accuracy import bounds, cases, figures, llamacpp, serving, step_catalog, workload  # noqa: E402
from accuracy.planner import Planner  # noqa: E402


class Schema(unittest.TestCase):
    """What a row has to have, whatever the planner says."""

    def setUp(self):
        self.rows = cases.load_measured()

    def test_names_a_public_source(self):
        for case in self.rows:
            self.assertRegex(case.source, r"^(https?://|[\w.-]+/[\w.-]+([:#@].+)?$)", case.place)

    def test_printed_figures_are_readable(self):
        for case in self.rows:
            for name, printed in case.measured.items():
                if isinstance(printed, (str, list)):
                    self.assertGreater(cases.quantity(printed).slack, 0, f"{case.place} {name}")

    def test_requests_leave_id_and_version_to_the_reader(self):
        for case in self.rows:
            self.assertFalse({"id", "schema_version"} & set(case.request), case.place)

    def test_files_stay_small(self):
        for name in os.listdir(cases.MEASURED):
            self.assertLess(os.path.getsize(os.path.join(cases.MEASURED, name)), 300_000, name)

    def test_causes_belong_to_a_figure(self):
        with open(os.path.join(cases.MEASURED, "causes.json")) as f:
            for entry in json.load(f)["causes"]:
                self.assertTrue(entry["cause"] and entry["source"] and entry["model"])


class Reader(unittest.TestCase):
    def test_rounding_of_a_print(self):
        self.assertEqual(cases.quantity(42), cases.Quantity(42, 0.0))
        self.assertEqual(cases.quantity("1.50 GiB").value, 1.5 * 2**30)
        self.assertAlmostEqual(cases.quantity("1.50 GiB").slack, 0.006 * 2**30)
        self.assertEqual(cases.quantity(["1.0 MiB", "2.0 MiB"]).value, 3 * 2**20)
        with self.assertRaises(ValueError):
            cases.quantity("about 3 GB")

    def test_error_is_what_rounding_does_not_explain(self):
        case = cases.Case("serving", "vllm", None, {}, {})
        figure = figures.Figure("vllm", "weights")
        figure.add(case, 100.4, cases.Quantity(100, 0.5))
        figure.add(case, 103, cases.Quantity(100, 1))
        figure.add(case, None, cases.Quantity(100, 1))
        found = figures.summary(figure.rows)
        self.assertEqual((found.n, found.answered, found.exact), (3, 2, 1))
        self.assertAlmostEqual(found.worst, 0.02)

    def test_a_median_lies_between_order_statistics(self):
        # Binomial of 9 and 20 halves: at most 5 % lie below the second of nine, the sixth of twenty.
        self.assertEqual(workload.median_interval(range(1, 10)), (2, 8))
        self.assertEqual(workload.median_interval(range(1, 21)), (6, 15))
        self.assertEqual(workload.median_interval([7.0]), (7.0, 7.0))

    def test_bounds_round_up(self):
        self.assertEqual(bounds.round_up(0), 0)
        self.assertGreaterEqual(bounds.round_up(0.0123), 0.0123)
        self.assertLess(bounds.round_up(0.0123), 0.015)


class Measured(unittest.TestCase):
    def test_nothing_got_worse(self):
        planner = Planner(os.environ.get("VRAMWISE", os.path.join(ROOT, "build/release/bin/vramwise")))
        rows = cases.load_measured()
        suites = {**serving.suites(planner, rows), **llamacpp.suites(planner, rows), **workload.suites(planner)}
        broken = bounds.broken([result for run in suites.values() for result in run()])
        self.assertFalse(broken, "\n".join(["", *broken]))


    def test_the_catalog_holds_what_the_fit_says(self):
        planner = Planner(os.environ.get("VRAMWISE", os.path.join(ROOT, "build/release/bin/vramwise")))
        rows = [row for _, row in workload.step_fit_rows(planner)]
        found = step_catalog.differences(rows)
        self.assertEqual(found, [], "run ./dev accuracy --fit-steps, and build")


if __name__ == "__main__":
    unittest.main()
