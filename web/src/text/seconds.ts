// Durations and money as the traffic section writes them.

/** 0.0123 → "12.3 ms"; 1.5 → "1.50 s"; 400 → "6.7 min". */
export function seconds(value: number): string {
  if (value >= 120) return value >= 7200 ? `${(value / 3600).toFixed(1)} h` : `${(value / 60).toFixed(1)} min`;
  if (value >= 1) return `${value.toFixed(value < 10 ? 2 : 1)} s`;
  const ms = value * 1000;
  return ms > 0 && ms < 0.05 ? '< 0.1 ms' : `${ms.toFixed(ms < 100 ? 1 : 0)} ms`;
}

/** Three figures where they matter: "0.038", "0.24", "12.40". */
export const dollars = (value: number) => `$${value < 0.1 ? value.toFixed(3) : value.toFixed(2)}`;

/** "5.00", "13.9", "120": a rate. */
export const rate = (value: number) => (value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ','));

/** A share as a percentage: "0.6 %", "38 %". */
export function share(value: number): string {
  const percent = value * 100;
  return percent > 0 && percent < 0.05 ? '< 0.1 %' : `${percent < 10 && percent > 0 ? percent.toFixed(1) : percent.toFixed(0)} %`;
}
