import { Resvg } from '@resvg/resvg-js';

export type Colour = readonly [red: number, green: number, blue: number];

/** A decoded picture. */
type Pixels = {
  width: number;
  height: number;
  /** The colours of a rectangle. */
  read: (left: number, top: number, width: number, height: number) => Colour[];
};

/** Decodes a PNG. */
export function toPixels(png: Uint8Array): Pixels {
  const header = new DataView(png.buffer, png.byteOffset);
  const [width, height] = [header.getUint32(16), header.getUint32(20)];
  const image = `<image href="data:image/png;base64,${png.toBase64()}" width="${width}" height="${height}"/>`;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">${image}</svg>`;
  const { pixels } = new Resvg(svg, { font: { loadSystemFonts: false } }).render();
  return {
    width,
    height,
    read: (left, top, columns, rows) =>
      Array.from({ length: columns * rows }, (_, index) => {
        const at = 4 * ((top + Math.floor(index / columns)) * width + left + (index % columns));
        return [pixels[at] ?? 0, pixels[at + 1] ?? 0, pixels[at + 2] ?? 0];
      }),
  };
}

/** Whether two colours are the same, but for how a picture was drawn. */
export function isNear(one: Colour, other: Colour, tolerance: number): boolean {
  return one.every((part, index) => Math.abs(part - (other[index] ?? 0)) < tolerance);
}
