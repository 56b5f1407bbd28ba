// Charts are drawn at their true size: text keeps its size, and a chart is drawn again when its box changes.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/** A guess at the width of text that errs on the wide side; a check in the browser keeps it honest. */
export const textWidth = (text: string, px = 12) => text.length * px * 0.56;

export function useWidth<T extends HTMLElement>(least = 240) {
  const ref = useRef<T>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = ref.current!;
    const measure = () => setWidth(Math.max(least, Math.floor(element.clientWidth)));
    const observer = new ResizeObserver(measure);
    // With the frame, which lays the page out anyway: asked here, each chart would have it laid out once more.
    const frame = requestAnimationFrame(() => {
      measure();
      observer.observe(element);
    });
    return () => {
      cancelAnimationFrame(frame);
      observer.disconnect();
    };
  }, []);
  return [ref, width] as const;
}

/** Distance of ticks in GiB for an axis that ends at `max` GiB. */
export const tickStep = (max: number, most: number) =>
  [0.5, 1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000, 2000].find((step) => max / step <= most) ?? Math.ceil(max / most);
