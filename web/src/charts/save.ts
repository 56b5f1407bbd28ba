// The drawn pictures as one SVG of its own: colours written out, so that it looks the same anywhere.

const SPACE = 28;

/** Bar, curve and map as they stand on the page, one below the other. */
export function picturesAsSvg(): string {
  const drawn = ['.bars svg', '#curve svg', '#map svg'].map((selector) => document.querySelector<SVGSVGElement>(selector)).filter((svg) => svg !== null);
  const patterns = document.querySelector('.defs defs')!;
  const style = getComputedStyle(document.documentElement);
  const size = (svg: SVGSVGElement) => ({ width: svg.viewBox.baseVal.width, height: svg.viewBox.baseVal.height });
  const width = Math.max(...drawn.map((svg) => size(svg).width)) + 2 * SPACE;
  let y = SPACE;
  const groups = drawn.map((svg) => {
    const group = `<g transform="translate(${SPACE} ${y})">${new XMLSerializer().serializeToString(svg).replace(/^<svg[^>]*>/, '').replace(/<\/svg>$/, '')}</g>`;
    y += size(svg).height + SPACE;
    return group;
  });
  const inner = `<defs>${new XMLSerializer().serializeToString(patterns).replace(/^<defs[^>]*>/, '').replace(/<\/defs>$/, '')}</defs>` +
    `<rect width="${width}" height="${y}" fill="var(--surface)"/>${groups.join('')}`;
  // --v is set by the verdict's section.
  const verdict = document.querySelector('.bars');
  const colour = (name: string) => (name === '--v' && verdict ? getComputedStyle(verdict) : style).getPropertyValue(name).trim() || 'none';
  const flat = inner.replace(/var\((--[\w-]+)\)/g, (_, name: string) => colour(name)).replace(/ xmlns="[^"]*"/g, '');
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y}" width="${width}" height="${y}" font-family="Inter, system-ui, sans-serif">${flat}</svg>\n`;
}

export async function svgAsPng(svg: string, scale = 2): Promise<Blob> {
  const image = new Image();
  const url = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }));
  try {
    await new Promise((resolve, reject) => {
      image.onload = resolve;
      image.onerror = () => reject(new Error('the picture could not be drawn'));
      image.src = url;
    });
    const canvas = document.createElement('canvas');
    canvas.width = image.naturalWidth * scale;
    canvas.height = image.naturalHeight * scale;
    canvas.getContext('2d')!.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('no PNG'))), 'image/png'));
  } finally {
    URL.revokeObjectURL(url);
  }
}
