// Numbers as the page writes them: one decimal in GiB, two where it is tight, a real minus, "< 0.01".

export const KiB = 2 ** 10;
export const MiB = 2 ** 20;
export const GiB = 2 ** 30;

/** 65,536 */
export function grouped(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** GiB with one decimal, without the unit: "39.6". */
export function gib1(bytes: number): string {
  return (Math.abs(bytes) / GiB).toFixed(1);
}

/** GiB with two decimals; what would read 0.00 says "< 0.01". */
export function gib2(bytes: number): string {
  const size = Math.abs(bytes);
  return size > 0 && size < 0.005 * GiB ? '< 0.01' : (size / GiB).toFixed(2);
}

/** "39.6" or, below 3 GiB, "0.74". */
export function gibNear(bytes: number): string {
  return Math.abs(bytes) < 3 * GiB ? gib2(bytes) : gib1(bytes);
}

/** With sign; the minus is U+2212. */
export function signed(bytes: number, digits: (bytes: number) => string = gib1): string {
  return (bytes < 0 ? '\u2212' : '') + digits(bytes);
}

/** For a cell of the map: "41", "0.4", "1.3T". */
export function short(bytes: number): string {
  const gib = bytes / GiB;
  if (gib >= 1000) return `${(gib / 1024).toFixed(1)}T`;
  if (gib >= 9.95) return grouped(gib);
  return gib.toFixed(1);
}

/** A size in whatever unit reads best: "13.7 MiB". */
export function size(bytes: number): string {
  if (Math.abs(bytes) >= GiB) return `${(bytes / GiB).toFixed(1)} GiB`;
  if (Math.abs(bytes) >= MiB) return `${(bytes / MiB).toFixed(1)} MiB`;
  if (Math.abs(bytes) >= KiB) return `${(bytes / KiB).toFixed(1)} KiB`;
  return `${bytes} bytes`;
}

/** 65,536 → "64k"; 62,208 → "60.8k"; 8,000 → "8,000". */
export function tokens(value: number): string {
  if (value >= 1024 && value % 1024 === 0) return `${value / 1024}k`;
  if (value >= 10240 && value % 256 === 0) return `${+(value / 1024).toFixed(1)}k`;
  return grouped(value);
}

/** "64k", "65536", "65,536", "1M" → the integer; undefined when it is no number. k is 1024. */
export function parseCount(text: string): number | undefined {
  const match = /^\s*(\d[\d,_ ]*(?:\.\d+)?)\s*([km]?)\s*$/i.exec(text);
  if (!match) return undefined;
  const factor = { '': 1, k: 1024, m: 1024 * 1024 }[match[2]!.toLowerCase()]!;
  const value = Math.round(Number(match[1]!.replace(/[,_ ]/g, '')) * factor);
  return Number.isSafeInteger(value) ? value : undefined;
}

/** 8,190,735,360 → "8.2 B" */
export function parameters(count: number): string {
  if (count >= 1e12) return `${(count / 1e12).toFixed(2)} T`;
  if (count >= 1e11) return `${(count / 1e9).toFixed(0)} B`;
  if (count >= 1e9) return `${(count / 1e9).toFixed(1)} B`;
  return `${(count / 1e6).toFixed(0)} M`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}

export function percent(part: number, whole: number): string {
  return whole > 0 ? `${Math.round((part / whole) * 100)} %` : '';
}

/** "Qwen/Qwen3-30B-A3B" → "Qwen3 30B-A3B": how people say it. */
export function modelName(id: string): string {
  const name = id.slice(id.lastIndexOf('/') + 1);
  return name.replace(/^(?:Meta-)?Llama-([\d.]+)-/, 'Llama $1 ').replace(/^([A-Za-z]+[\d.]*)-(\d)/, '$1 $2');
}

/** For the start of a sentence; an option's own name keeps its letters. */
export function capital(text: string): string {
  if (/^\S*_/.test(text)) return text;
  return text.charAt(0).toUpperCase() + text.slice(1);
}
