#include "workload/load.h"

#include <algorithm>

#include "base/text.h"
#include "workload/numbers.h"

namespace vramwise::workload {
namespace {

constexpr double kMaxRate = 1e7;
constexpr double kMaxSeconds = 1e9;
constexpr double kZ95 = 1.6448536269514722;

Result<Think> read_think(const json::Reader& from) {
  Think think;
  if (from.value().is_number()) {
    TRY_ASSIGN(think.mean, from.number(0, kMaxSeconds));
    think.kind = think.mean > 0 ? Think::Kind::exponential : Think::Kind::none;
    return think;
  }
  TRY_ASSIGN(const std::string kind, from.require_string({"kind"}));
  if (kind == "lognormal") {
    TRY_ASSIGN(const auto p50, from.optional_number({"p50"}, 1e-6, kMaxSeconds));
    TRY_ASSIGN(const auto p95, from.optional_number({"p95"}, 1e-6, kMaxSeconds));
    if (!p50 || !p95 || *p95 < *p50) {
      return fail(from.error(ErrorCode::invalid_input, "a lognormal think time has p50 <= p95"));
    }
    think.kind = Think::Kind::lognormal;
    think.mean = *p50;
    think.sigma = (log_of(*p95) - log_of(*p50)) / kZ95;
    return think;
  }
  TRY_ASSIGN(const auto mean, from.optional_number({"mean", "seconds"}, 0, kMaxSeconds));
  think.mean = mean.value_or(0);
  if (kind == "constant") {
    think.kind = Think::Kind::constant;
  } else if (kind == "exponential") {
    think.kind = Think::Kind::exponential;
  } else {
    return fail(from.error(ErrorCode::not_found, "unknown think time '" + kind.substr(0, 60) + "'")
                    .hint("kinds: constant, exponential, lognormal"));
  }
  return think;
}

}  // namespace

double Think::draw(Random& random) const {
  switch (kind) {
    case Kind::none: return 0;
    case Kind::constant: return mean;
    case Kind::exponential: return mean * random.exponential();
    case Kind::lognormal: return mean * exp_of(sigma * random.normal());
  }
  return 0;
}

double Think::average() const {
  return kind == Kind::lognormal ? mean * exp_of(sigma * sigma / 2) : kind == Kind::none ? 0 : mean;
}

std::string_view to_string(Arrivals::Kind kind) {
  switch (kind) {
    case Arrivals::Kind::poisson: return "poisson";
    case Arrivals::Kind::trace: return "trace";
    case Arrivals::Kind::closed: return "closed";
    case Arrivals::Kind::sessions: return "sessions";
    case Arrivals::Kind::schedule: return "schedule";
  }
  return "";
}

Result<Arrivals> Arrivals::read(const json::Reader& from) {
  if (!from.is_object()) {
    return fail(from.error(ErrorCode::invalid_input, "'arrivals' must be an object")
                    .hint("write \"arrivals\":{\"kind\":\"poisson\",\"rate_per_second\":12}"));
  }
  Arrivals a;
  TRY_ASSIGN(const std::string kind, from.require_string({"kind"}));
  const auto rate = [&]() -> Result<bool> {
    TRY_ASSIGN(const auto given, from.optional_number({"rate_per_second"}, 1e-6, kMaxRate));
    if (!given) {
      return fail(from.error(ErrorCode::missing_field, "arrivals without rate_per_second"));
    }
    a.rate = *given;
    return true;
  };
  const auto think = [&]() -> Result<bool> {
    if (const auto part = from.find("think_seconds")) {
      TRY_ASSIGN(a.think, read_think(*part));
    }
    return true;
  };
  if (kind == "poisson" || kind == "gamma") {
    TRY(rate());
    if (kind == "gamma") {
      TRY_ASSIGN(const auto cv, from.optional_number({"cv"}, 0.05, 100));
      a.cv = cv.value_or(1);
    }
  } else if (kind == "trace") {
    a.kind = Kind::trace;
    TRY_ASSIGN(const auto speedup, from.optional_number({"speedup"}, 1e-3, 1e6));
    a.speedup = speedup.value_or(1);
    TRY_ASSIGN(a.spread, from.boolean_or({"spread_ticks"}, true));
    TRY_ASSIGN(const auto blocks, from.optional_number({"block_seconds"}, 1, kMaxSeconds));
    a.block_seconds = blocks.value_or(0);
  } else if (kind == "closed") {
    a.kind = Kind::closed;
    TRY_ASSIGN(a.users, from.require_integer({"users"}, 1, 1 << 20));
    TRY(think());
  } else if (kind == "sessions") {
    a.kind = Kind::sessions;
    TRY(rate());
    TRY(think());
    if (const auto turns = from.find("turns")) {
      if (turns->is_object()) {
        TRY_ASSIGN(const auto mean, turns->optional_number({"mean"}, 1, 1000));
        a.turns = mean.value_or(1);
      } else {
        TRY_ASSIGN(a.turns, turns->number(1, 1000));
      }
    }
  } else if (kind == "schedule") {
    a.kind = Kind::schedule;
    TRY_ASSIGN(const json::Reader points, from.require({"points"}));
    TRY_ASSIGN(const auto items, points.items());
    for (const json::Reader& item : items) {
      TRY_ASSIGN(const auto pair, item.items());
      if (pair.size() != 2) {
        return fail(item.error(ErrorCode::invalid_input, "a point is [second, rate]"));
      }
      TRY_ASSIGN(const double second, pair[0].number(0, kMaxSeconds));
      TRY_ASSIGN(const double here, pair[1].number(0, kMaxRate));
      if (!a.points.empty() && second <= a.points.back().first) {
        return fail(item.error(ErrorCode::inconsistent, "the seconds of a schedule must rise"));
      }
      a.points.emplace_back(second, here);
      a.rate = std::max(a.rate, here);
    }
    if (a.points.size() < 2 || a.rate <= 0) {
      return fail(points.error(ErrorCode::invalid_input,
                               "a schedule has two points at least, and a rate above zero"));
    }
  } else {
    return fail(
        from.error(ErrorCode::not_found, "unknown kind of arrivals '" + kind.substr(0, 60) + "'")
            .hint("kinds: poisson, gamma, trace, closed, sessions, schedule"));
  }
  return a;
}

LoadSource::LoadSource(const Lengths& lengths, const Arrivals& arrivals, const Trace* trace,
                       int64_t count, uint64_t seed, uint64_t replication, Share share)
    : lengths_(lengths),
      arrivals_(arrivals),
      trace_(trace),
      count_(count),
      share_(share),
      arrival_random_(seed, Stream::arrivals, replication),
      length_random_(seed, Stream::lengths, replication),
      think_random_(seed, Stream::think, replication),
      session_random_(seed, Stream::sessions, replication),
      longest_output_(lengths.longest_output()) {
  if (arrivals_.kind == Arrivals::Kind::trace) {
    count_ = std::min<int64_t>(count_, int64_t(trace_->rows.size()));
    int32_t most = -1;
    for (const TraceRow& row : trace_->rows) most = std::max(most, row.session);
    held_back_.resize(size_t(most + 1));
    busy_.assign(size_t(most + 1), false);
  }
  if (arrivals_.kind == Arrivals::Kind::closed) {
    // Everybody asks at once; the warm-up lets that die down.
    for (int64_t i = 0; i < arrivals_.users && fresh_ < count_; ++i) {
      Arrival request = fresh();
      request.time = 0;
      request.tag = int32_t(i);
      push(request);
    }
  } else {
    draw_next();
  }
}

bool LoadSource::mine(int64_t row) const {
  if (share_.of <= 1) return true;
  const int32_t session = trace_->rows[size_t(row)].session;
  return (session >= 0 ? session : row) % share_.of == share_.part;
}

// A new request with lengths of its own.
Arrival LoadSource::fresh() {
  Arrival request;
  Pair pair;
  if (lengths_.in_given_order()) {
    const auto& all = lengths_.sample();
    pair = all[size_t(fresh_) % all.size()];
  } else {
    pair = lengths_.draw(length_random_);
  }
  request.prompt = pair.prompt;
  request.output = pair.output;
  ++fresh_;
  return request;
}

void LoadSource::dress(Arrival& request) {
  if (request.stream >= 0 || request.chain != nullptr) return;
  request.cached = int32_t(lengths_.hit_share() * request.prompt);
  if (lengths_.shared_tokens() <= 0) return;
  request.stream =
      lengths_.groups() > 1 ? int64_t(session_random_.below(uint64_t(lengths_.groups()))) : 0;
  request.stream_tokens = std::min<int64_t>(lengths_.shared_tokens(), request.prompt);
}

void LoadSource::push(Arrival request) { pending_.push({request.time, order_++, request}); }

double LoadSource::gap() {
  if (arrivals_.cv == 1) return arrival_random_.exponential() / arrivals_.rate;
  const double shape = 1 / (arrivals_.cv * arrivals_.cv);
  return arrival_random_.gamma(shape) / (shape * arrivals_.rate);
}

void LoadSource::draw_next() {
  if (fresh_ >= count_) {
    next_open_ = kNever;
    return;
  }
  switch (arrivals_.kind) {
    case Arrivals::Kind::poisson:
    case Arrivals::Kind::sessions:
      clock_ += gap();
      next_open_ = clock_;
      return;
    case Arrivals::Kind::trace: {
      // A turn whose session is still busy waits for its end (`left`) and lets the next row pass.
      const TraceRow* row = &trace_->rows[size_t(fresh_)];
      while (!mine(fresh_) || (row->session >= 0 && busy_[size_t(row->session)])) {
        if (mine(fresh_)) held_back_[size_t(row->session)].push_back(fresh_);
        if (++fresh_ >= count_) {
          next_open_ = kNever;
          return;
        }
        row = &trace_->rows[size_t(fresh_)];
      }
      next_open_ = row->arrival / arrivals_.speedup;
      return;
    }
    case Arrivals::Kind::schedule: {
      // Thinning: candidates at the highest rate, kept in proportion to the rate of the moment.
      const auto& points = arrivals_.points;
      for (;;) {
        clock_ += arrival_random_.exponential() / arrivals_.rate;
        if (clock_ > points.back().first) {
          count_ = fresh_;
          next_open_ = kNever;
          return;
        }
        size_t i = 1;
        while (i + 1 < points.size() && points[i].first < clock_) ++i;
        const double part = std::clamp(
            (clock_ - points[i - 1].first) / (points[i].first - points[i - 1].first), 0.0, 1.0);
        const double rate = points[i - 1].second + part * (points[i].second - points[i - 1].second);
        if (arrival_random_.uniform() * arrivals_.rate <= rate) {
          next_open_ = clock_;
          return;
        }
      }
    }
    case Arrivals::Kind::closed: next_open_ = kNever; return;
  }
}

double LoadSource::next_time() const {
  return pending_.empty() ? next_open_ : std::min(next_open_, pending_.top().time);
}

Arrival LoadSource::take() {
  Arrival request;
  if (!pending_.empty() && pending_.top().time <= next_open_) {
    request = pending_.top().request;
    pending_.pop();
  } else if (arrivals_.kind == Arrivals::Kind::trace) {
    const TraceRow& row = trace_->rows[size_t(fresh_++)];
    request.time = next_open_;
    request.prompt = row.prompt;
    request.output = row.output;
    request.tag = row.session;
    if (row.session >= 0) busy_[size_t(row.session)] = true;
    if (row.prefix >= 0) {
      request.stream = row.prefix;
      request.stream_tokens = row.prefix_tokens;
    } else if (row.session >= 0) {
      request.stream = row.session;
      request.stream_tokens = int64_t{row.prompt} + row.output;
    }
    if (row.chain_length > 0) {
      request.chain = trace_->chains.data() + row.chain_begin;
      request.chain_length = row.chain_length;
    }
    draw_next();
  } else {
    request = fresh();
    request.time = next_open_;
    if (arrivals_.kind == Arrivals::Kind::sessions) {
      int32_t place = 0;
      if (free_sessions_.empty()) {
        place = int32_t(sessions_.size());
        sessions_.emplace_back();
      } else {
        place = free_sessions_.back();
        free_sessions_.pop_back();
      }
      // Geometric with the asked mean: each turn is followed by another with the same chance.
      int64_t turns = 1;
      while (turns < 1000 && session_random_.uniform() > 1 / arrivals_.turns) ++turns;
      sessions_[size_t(place)] = {turns - 1, fresh_};
      request.tag = place;
      request.stream = fresh_;
      request.stream_tokens = int64_t{1} << 40;
    }
    draw_next();
  }
  request.id = taken_++;
  dress(request);
  return request;
}

void LoadSource::left(const Arrival& request, double now) {
  switch (arrivals_.kind) {
    case Arrivals::Kind::closed: {
      if (fresh_ >= count_) return;
      Arrival next = fresh();
      next.time = now + arrivals_.think.draw(think_random_);
      next.tag = request.tag;
      push(next);
      return;
    }
    case Arrivals::Kind::sessions: {
      Session& session = sessions_[size_t(request.tag)];
      const int64_t history = int64_t{request.prompt} + request.output;
      if (session.turns_left <= 0 || history >= kMaxPrompt / 2) {
        free_sessions_.push_back(request.tag);
        return;
      }
      --session.turns_left;
      const Pair pair = lengths_.draw(length_random_);
      Arrival next = request;
      next.prompt = int32_t(history + pair.prompt);
      next.output = pair.output;
      next.time = now + arrivals_.think.draw(think_random_);
      push(next);
      return;
    }
    case Arrivals::Kind::trace: {
      if (request.tag < 0) return;
      auto& held = held_back_[size_t(request.tag)];
      if (held.empty()) {
        busy_[size_t(request.tag)] = false;
        return;
      }
      const TraceRow& row = trace_->rows[size_t(held.front())];
      held.pop_front();
      Arrival next = request;
      next.prompt = row.prompt;
      next.output = row.output;
      next.stream_tokens = int64_t{row.prompt} + row.output;
      next.time = std::max(now, row.arrival / arrivals_.speedup);
      push(next);
      return;
    }
    case Arrivals::Kind::poisson:
    case Arrivals::Kind::schedule: return;
  }
}

}  // namespace vramwise::workload
