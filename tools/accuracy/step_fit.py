"""The step-time model refitted without the row that it is scored on.

The core says where a step goes (`step_time.parts` of an answer): seconds for reading weights, experts, cache and states, for
arithmetic and layers, all at the catalog's parameters. Every part is proportional to one parameter or its inverse, so that the step
under other parameters is arithmetic on the parts; the exchange between cards is fitted as a latency and a bus. Fitted are logarithms of the parameters: least squares with log-normal
priors (physical guesses, a factor of 1.4 wide), residuals beyond 15 % weighed down.
"""
import math

# Where a parameter starts from before any row is seen: shares of the bandwidth and of the peak, seconds a layer.
PRIOR = {"gddr 16": .86, "gddr 8": .82, "gddr 4": .75, "hbm 16": .65, "hbm 8": .55, "hbm 4": .5, "unified 16": .82, "unified 8": .75, "unified 4": .7,
         "cache": .6, "experts": .5,
         # Kernels that choose, gather and add up experts: a little fewer than those of a layer without (graphs of llama.cpp and MLX).
         "routing": .7, "vllm": 1.0, "arithmetic": .5, "layer llama.cpp gddr": 20e-6, "layer llama.cpp hbm": 30e-6,
         "layer llama.cpp unified": 40e-6, "layer vllm gddr": 20e-6, "layer vllm unified": 30e-6,
         "layer mlx unified": 40e-6,
         # A card alone that is held below its rated power, as a share of what it reads elsewhere. Cards that work on one step together
         # wait for each other and stay below the limit (one source gives both: catalog/models/gemma-4-12b-it.md of 4x3090-llm-benchmarks,
         # llama.cpp's Q4_K_M at 46.9 tokens/s on one card and 76.4 with its layers dealt over two).
         "held card": 1.0,
         # Share of the peak at which llama.cpp unpacked k-quants on Apple GPUs in the builds of 2024: arithmetic, not memory, held these
         # rows (ggml-org/llama.cpp pull request 1642: bandwidth in use grows with the number of GPU cores, "compute-bound"; 34.5 tokens/s of
         # an 8B Q4_K_M on an M1 Max then, 46.2 two years later: brand-o/normiebench issue 40). About 40 instructions a weight.
         "unpacking in 2024": .05,
         # Cards that reach each other over the host alone (all rows of several cards are of such a machine): seconds an all-reduce
         # and doubling of the cards, bytes a second.
         "exchange latency": 25e-6, "exchange bus": 8e9}
WIDTH = {"vllm": .25, "held card": .25, "cache": .4, "experts": .4, "routing": .5, "unpacking in 2024": .5, "arithmetic": .5, "exchange latency": .8, "exchange bus": .8}
DEFAULT_WIDTH, NOISE, WEIGH_DOWN = .35, .12, .15


def bits(weights):
    name = weights.lower()
    if name in ("", "bf16", "f16", "fp16"):
        return 16
    return 8 if name.startswith(("q8", "mlx-8", "fp8", "w8", "int8")) else 4


def unpacked_slowly(spec):
    """K-quants on Apple GPUs in llama.cpp of 2024: held by arithmetic."""
    return spec["engine"] == "llama.cpp" and spec["gpu"].startswith("apple-") and spec["date"].startswith("2024") and "_K" in spec["weights"]


class Row:
    """One measured speed with the parts of its step. `used`: the catalog's parameters that the parts were made with."""

    def __init__(self, spec, step, hidden):
        parts = step["parts"]
        self.engine, self.memory = spec["engine"], spec["memory"]
        self.model, self.gpu = spec["model"], spec["gpu"]
        self.batch = int(spec["batch"])
        self.seconds = self.batch / float(spec["tokens_per_second"])
        self.key = (spec["model"], spec["weights"], spec["engine"], spec["gpu"], spec["cards"], spec["batch"], spec["prompt"], spec["output"])
        self.weights_class = f"{self.memory} {bits(spec['weights'])}"
        self.layer_class = f"layer {self.engine} {self.memory}"
        part = lambda name: parts.get(name, 0.0) / 1000
        # Bytes over bandwidth, FLOP over peak: what is left when the parameter is taken out.
        self.read = part("weights_ms") * step["bandwidth_share"]
        self.expert_read = part("experts_ms") * step["bandwidth_share"] * parts.get("expert_share", 1)
        self.work = part("weight_arithmetic_ms") * step["compute_share"]
        self.expert_work = part("expert_arithmetic_ms") * step["compute_share"] * parts.get("expert_share", 1)
        self.head_work = part("head_arithmetic_ms") * step["compute_share"]
        self.cache = (part("cache_ms") + part("states_ms")) * parts["cache_share"]
        self.layers, self.routed = parts["layers"], parts.get("routed_layers", 0)
        self.ranks = int(spec["cards"]) if spec["tp_option"] else 1
        self.unpacked = unpacked_slowly(spec)
        self.held = bool(spec["held_to_w"]) and int(spec["cards"]) == 1
        self.exchanged = 2 * (self.ranks - 1) / self.ranks * self.batch * hidden * 2

    def predict(self, p):
        share = min(.97, p[self.weights_class] * (p["vllm"] if self.engine == "vllm" else 1)) * (p["held card"] if self.held else 1)
        join = lambda *parts: sum(x ** 4 for x in parts) ** .25
        unpacking = self.work / self.batch / p["unpacking in 2024"] if self.unpacked else 0.0
        t = join(self.read / share, self.work / p["arithmetic"], unpacking)
        if self.expert_read:
            t += join(self.expert_read / (share * p["experts"]), self.expert_work / (p["arithmetic"] * p["experts"]))
        return t + self.cache / p["cache"] + self.head_work / p["arithmetic"] + (
            self.layers + self.routed * p["routing"]) * p[self.layer_class] + self.exchange(p)

    def exchange(self, p):
        """Two all-reduces a layer."""
        if self.ranks == 1:
            return 0.0
        return 2 * self.layers * (p["exchange latency"] * math.log2(self.ranks) + self.exchanged / p["exchange bus"])

    def parameters(self):
        return [self.weights_class, self.layer_class, "cache", "arithmetic", *(["vllm"] if self.engine == "vllm" else []),
                *(["experts"] if self.expert_read else []),
                *(["routing"] if self.routed else []), *(["unpacking in 2024"] if self.unpacked else []), *(["held card"] if self.held else []),
                *(["exchange latency", "exchange bus"] if self.ranks > 1 else [])]


def solve(matrix, right):
    n = len(right)
    rows = [matrix[i][:] + [right[i]] for i in range(n)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(i + 1, n):
            factor = rows[k][i] / rows[i][i]
            if factor:
                for j in range(i, n + 1):
                    rows[k][j] -= factor * rows[i][j]
    x = [0.0] * n
    for i in range(n - 1, -1, -1):
        x[i] = (rows[i][n] - sum(rows[i][j] * x[j] for j in range(i + 1, n))) / rows[i][i]
    return x


def fit(rows, start=None, rounds=12):
    """Parameters by name. Gauss-Newton on logarithms, at most a factor of 1.65 a round."""
    names = list(PRIOR)
    place = {name: i for i, name in enumerate(names)}
    p = dict(start or PRIOR)
    for _ in range(rounds):
        n = len(names)
        matrix = [[0.0] * n for _ in range(n)]
        slope = [0.0] * n
        for i, name in enumerate(names):
            tight = 1 / WIDTH.get(name, DEFAULT_WIDTH) ** 2
            matrix[i][i] += tight
            slope[i] -= tight * math.log(p[name] / PRIOR[name])
        for row in rows:
            here = row.predict(p)
            off = math.log(row.seconds / here)
            weight = min(1.0, WEIGH_DOWN / max(abs(off), 1e-9)) / NOISE ** 2
            tilt = []
            for name in row.parameters():
                old = p[name]
                p[name] = old * 1.001
                tilt.append((place[name], math.log(row.predict(p) / here) / math.log(1.001)))
                p[name] = old
            for i, a in tilt:
                slope[i] += weight * a * off
                for j, b in tilt:
                    matrix[i][j] += weight * a * b
        step = solve(matrix, slope)
        for i, name in enumerate(names):
            p[name] *= math.exp(max(-.5, min(.5, step[i])))
        if max(map(abs, step)) < 1e-4:
            break
    return p


def left_out(rows, group):
    """(row, seconds predicted by a fit that has not seen its group)."""
    whole = fit(rows)
    result = []
    for value in sorted(set(map(group, rows)), key=str):
        rest = fit([r for r in rows if group(r) != value], whole, 5)
        result += [(r, r.predict(rest)) for r in rows if group(r) == value]
    return result
