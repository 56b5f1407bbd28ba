"""Element counts that others publish, made again from our own counts.

tests/measured/published: a row a model, with the cause of every difference. A row whose cause is
arithmetic has to come out to the element; a change of a family's rule that moves a count shows here.
"""
import collections
import os
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))

from accuracy import published  # noqa: E402
from accuracy.planner import Planner  # noqa: E402


class Data(unittest.TestCase):
    def test_every_row_names_a_cause_that_exists_and_every_cause_is_used(self):
        causes, rows = published.load_causes(), published.load_rows()
        self.assertGreater(len(rows), 800)
        used = {row["cause"] for row in rows}
        self.assertEqual(used - set(causes), set())
        self.assertEqual(set(causes) - used, set())
        self.assertEqual(len(rows), len({row["model"].lower() for row in rows}))

    def test_what_cannot_be_computed_is_a_list_by_hand_or_a_choice_of_modules(self):
        causes, rows = published.load_causes(), published.load_rows()
        found = collections.Counter(r["cause"] for r in rows if not {"terms", "estimate"} & set(causes[r["cause"]]))
        self.assertLessEqual(set(found), {"module_choice", "rounded", "entered_by_hand", "other_vocabulary"})
        self.assertLess(sum(found.values()), 0.15 * len(rows))


class Counts(unittest.TestCase):
    def test_the_figures_come_out(self):
        planner = Planner(os.environ.get("VRAMWISE", os.path.join(ROOT, "build/release/bin/vramwise")))
        counts = published.check(planner)
        wrong = [f"{case.label} ({cause}): {said}" for case, cause, said, right in counts.rows if right is False]
        self.assertFalse(wrong, "\n".join(["", *wrong[:20], f"{len(wrong)} in all"]))


if __name__ == "__main__":
    unittest.main()
