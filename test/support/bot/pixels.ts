import { createCanvas, loadImage } from '@napi-rs/canvas';

export type Colour = [red: number, green: number, blue: number];

/** The pixels of a chart. */
export type Pixels = {
  width: number;
  height: number;
  /** Whether a colour, or one close to it, occurs in a column of the plot. */
  hasColour: (x: number, colour: Colour) => boolean;
};

/** Decodes a chart. */
export async function toPixels(png: Uint8Array): Promise<Pixels> {
  const image = await loadImage(png);
  const context = createCanvas(image.width, image.height).getContext('2d');
  context.drawImage(image, 0, 0);
  return {
    width: image.width,
    height: image.height,
    hasColour: (x, colour) => {
      const { data } = context.getImageData(x, 66, 1, 248);
      for (let at = 0; at < data.length; at += 4) {
        const isNear = colour.every((value, index) => Math.abs((data[at + index] ?? 0) - value) < 24);
        if (isNear) return true;
      }
      return false;
    },
  };
}
