#include "workload/numbers.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace vramwise::workload {
namespace {

constexpr double kLn2High = 6.93147180369123816490e-01;
constexpr double kLn2Low = 1.90821492927058770002e-10;
constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kPi = 3.14159265358979323846;

// 1/0, 1/1, 1/2, …: the series multiply instead of dividing.
constexpr auto kInverse = [] {
  std::array<double, 24> inverse{};
  for (int i = 1; i < 24; ++i) inverse[size_t(i)] = 1.0 / i;
  return inverse;
}();

template <size_t N>
double polynomial(const std::array<double, N>& c, double x) {
  double sum = 0;
  for (size_t i = N; i-- > 0;) sum = sum * x + c[i];
  return sum;
}

// Coefficients of AS 241: central, intermediate and far region, numerator and denominator.
constexpr std::array kCentralUp = {3.3871328727963666080e0,  1.3314166789178437745e+2,
                                   1.9715909503065514427e+3, 1.3731693765509461125e+4,
                                   4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                   3.3430575583588128105e+4, 2.5090809287301226727e+3};
constexpr std::array kCentralDown = {1.0,
                                     4.2313330701600911252e+1,
                                     6.8718700749205790830e+2,
                                     5.3941960214247511077e+3,
                                     2.1213794301586595867e+4,
                                     3.9307895800092710610e+4,
                                     2.8729085735721942674e+4,
                                     5.2264952788528545610e+3};
constexpr std::array kMiddleUp = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                  5.76949722146069140550e0,  3.64784832476320460504e0,
                                  1.27045825245236838258e0,  2.41780725177450611770e-1,
                                  2.27238449892691845833e-2, 7.74545014278341407640e-4};
constexpr std::array kMiddleDown = {1.0,
                                    2.05319162663775882187e0,
                                    1.67638483018380384940e0,
                                    6.89767334985100004550e-1,
                                    1.48103976427480074590e-1,
                                    1.51986665636164571966e-2,
                                    5.47593808499534494600e-4,
                                    1.05075007164441684324e-9};
constexpr std::array kFarUp = {6.65790464350110377720e0,  5.46378491116411436990e0,
                               1.78482653991729133580e0,  2.96560571828504891230e-1,
                               2.65321895265761230930e-2, 1.24266094738807843860e-3,
                               2.71155556874348757815e-5, 2.01033439929228813265e-7};
constexpr std::array kFarDown = {1.0,
                                 5.99832206555887937690e-1,
                                 1.36929880922735805310e-1,
                                 1.48753612908506148525e-2,
                                 7.86869131145613259100e-4,
                                 1.84631831751005468180e-5,
                                 1.42151175831644588870e-7,
                                 2.04426310338993978564e-15};

}  // namespace

double exp_of(double x) {
  if (x < -700) return 0;
  if (x > 700) x = 700;
  const double turns = x * 1.44269504088896340736;
  const int64_t k = int64_t(turns < 0 ? turns - 0.5 : turns + 0.5);
  const double r = (x - double(k) * kLn2High) - double(k) * kLn2Low;
  // |r| <= ln(2)/2: the series to r^14 leaves less than one part in 1e16.
  double sum = 1;
  for (int i = 14; i >= 1; --i) sum = 1 + sum * r * kInverse[size_t(i)];
  return sum * std::bit_cast<double>(uint64_t(k + 1023) << 52);
}

double log_of(double x) {
  if (!(x > 0)) return -1e300;
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  if (bits >> 52 == 0) return -709;  // subnormal: nothing here gets so small
  // x = m 2^exponent with m in [sqrt(1/2), sqrt(2)), without a branch: half of them would be
  // guessed wrong, and every gap between arrivals comes through here.
  constexpr uint64_t kOne = std::bit_cast<uint64_t>(1.0);
  constexpr uint64_t kRoot = std::bit_cast<uint64_t>(kSqrtHalf);
  const uint64_t shifted = bits + (kOne - kRoot);
  const int64_t exponent = int64_t(shifted >> 52) - 1023;
  const double m = std::bit_cast<double>((shifted & 0x000fffffffffffffULL) + kRoot);
  // ln m = 2 artanh s with s = (m-1)/(m+1), |s| < 0.172: s^3/3 + s^5/5 + … to s^21/21, as two
  // series in s^4 that do not wait for each other.
  const double s = (m - 1) / (m + 1);
  const double square = s * s;
  const double fourth = square * square;
  double odd = 0;
  double even = 0;
  for (size_t i = 21; i >= 5; i -= 4) {
    even = even * fourth + kInverse[i];
    odd = odd * fourth + kInverse[i - 2];
  }
  const double sum = square * (odd + square * even);
  return double(exponent) * kLn2High + (2 * s * (1 + sum) + double(exponent) * kLn2Low);
}

double power_of(double x, double y) { return exp_of(y * log_of(x)); }

double sin_of(double x) {
  const double square = x * x;
  double sum = 1;
  for (int i = 20; i >= 2; i -= 2) sum = 1 - sum * square / (double(i) * (i + 1));
  return x * sum;
}

double square_root(double x) { return x > 0 ? __builtin_sqrt(x) : 0; }

double inverse_normal(double p) {
  if (!(p > 1e-300)) p = 1e-300;
  if (p > 1 - 1e-16) p = 1 - 1e-16;
  const double q = p - 0.5;
  if (q >= -0.425 && q <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(kCentralUp, r) / polynomial(kCentralDown, r);
  }
  double r = square_root(-log_of(q < 0 ? p : 1 - p));
  double z = 0;
  if (r <= 5) {
    r -= 1.6;
    z = polynomial(kMiddleUp, r) / polynomial(kMiddleDown, r);
  } else {
    r -= 5;
    z = polynomial(kFarUp, r) / polynomial(kFarDown, r);
  }
  return q < 0 ? -z : z;
}

double normal_cdf(double z) {
  if (z > 8) return 1;
  if (z < -8) return 0;
  const double half = exp_of(-z * z / 2) / square_root(2 * kPi);
  const double a = z < 0 ? -z : z;
  double upper = 0;  // probability above a
  if (a < 3) {
    // 1/2 - density * (a + a^3/3 + a^5/15 + …)
    double term = a;
    double sum = a;
    for (int i = 3; i < 120; i += 2) {
      term *= a * a / i;
      sum += term;
    }
    upper = 0.5 - half * sum;
  } else {
    // Mills' ratio as a continued fraction.
    double fraction = a;
    for (int i = 60; i >= 1; --i) fraction = a + i / fraction;
    upper = half / fraction;
  }
  return z < 0 ? upper : 1 - upper;
}

long long round_of(double x) {
  const double shifted = x + 0.5;
  long long n = (long long)shifted;
  return double(n) > shifted ? n - 1 : n;
}

long long ceil_of(double x) {
  const long long n = (long long)x;
  return double(n) < x ? n + 1 : n;
}

}  // namespace vramwise::workload
