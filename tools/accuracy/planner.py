"""Asks the binary. Requests go through `vramwise batch -`; an equal request is asked once."""
import json
import subprocess


class Planner:
    def __init__(self, binary, batch=500):
        self.binary, self.batch, self.known = binary, batch, {}

    def ask(self, requests):
        """The answers, in the order of the requests. An error is an answer."""
        keys = [json.dumps(r, sort_keys=True) for r in requests]
        new = [k for k in dict.fromkeys(keys) if k not in self.known]
        for start in range(0, len(new), self.batch):
            part = new[start:start + self.batch]
            text = "".join(json.dumps({**json.loads(k), "schema_version": 1, "id": str(i)}) + "\n"
                           for i, k in enumerate(part))
            run = subprocess.run([self.binary, "batch", "-"], input=text, capture_output=True, text=True, timeout=900)
            answers = {}
            for line in run.stdout.splitlines():
                answer = json.loads(line)
                answers[answer.get("id")] = answer
            for i, key in enumerate(part):
                self.known[key] = answers.get(str(i)) or {"error": {"message": f"no answer (exit {run.returncode})"}}
        return [self.known[k] for k in keys]

    def shapes(self, models):
        """Model request -> answer of `inspect`: what kind of model it is."""
        return self.ask([{"ask": "inspect", "model": m} for m in models])


def value(answer, *path):
    """The member at `path`, or None."""
    for step in path:
        if not isinstance(answer, dict) or step not in answer:
            return None
        answer = answer[step]
    return answer


def refused(answer):
    """The message of an error, or None."""
    return value(answer, "error", "message")
