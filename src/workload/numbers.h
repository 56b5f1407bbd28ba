// Elementary functions of our own, made of + - * / and sqrt only: libm's last digits differ between
// platforms, and here they decide how long a drawn request is. Native and WebAssembly builds give
// the same bits.
#pragma once

namespace vramwise::workload {

// exp(x), relative error below 1e-14; 0 far below, a huge finite number far above.
double exp_of(double x);
// Natural logarithm, relative error below 1e-14. x <= 0 answers a very large negative number.
double log_of(double x);
// x to the power y for x > 0.
double power_of(double x, double y);
// sin(x) for |x| <= pi/2, error below 1e-13.
double sin_of(double x);
// The z with probability p below it, 0 < p < 1 (clamped just inside), absolute error below 1e-13.
// Source: Wichura, Algorithm AS 241 (PPND16), Applied Statistics 37 (1988).
double inverse_normal(double p);
// Probability below z, error below 1e-12.
double normal_cdf(double z);
double square_root(double x);
// Rounded half up, for x inside the 64-bit range.
long long round_of(double x);
// Smallest integer not below x, for |x| < 2^62.
long long ceil_of(double x);

}  // namespace vramwise::workload
