import type { SKRSContext2D } from '@napi-rs/canvas';

/** Twice the width at which Discord shows an embed's image, so that it stays sharp. */
export const WIDTH = 800;
export const HEIGHT = 360;

/** Where on the canvas the curve is drawn; around it are the headline, the numbers and the hours. */
export const PLOT = { left: 64, top: 64, right: 776, bottom: 312 };

/** On an opaque background of its own, so that one picture suits Discord's dark and light themes. */
export const INK = {
  background: '#1e1f26',
  grid: '#3a3c47',
  text: '#f2f3f5',
  faint: '#b5bac1',
  line: '#57d38c',
  capacity: '#f0b232',
  offline: '#ed4245',
} as const;

/** The time that a chart shows, and how far its points are apart. */
export type ChartRange = { from: Date; to: Date; stepSeconds: number };

/** From values to places on the canvas. */
export type Scale = {
  /** @param at milliseconds since the epoch. */
  x: (at: number) => number;
  y: (players: number) => number;
  /** The number of players at the upper edge. */
  top: number;
};

/** A scale on which at least `players` fit. */
export function createScale({ from, to }: ChartRange, players: number): Scale {
  const top = roundUpToTop(players);
  return {
    x: (at) =>
      PLOT.left + ((at - from.getTime()) / (to.getTime() - from.getTime())) * (PLOT.right - PLOT.left),
    y: (count) => PLOT.bottom - (count / top) * (PLOT.bottom - PLOT.top),
    top,
  };
}

/** A round number that four steps divide into whole players. */
function roundUpToTop(players: number): number {
  const tops = [4, 8, 12, 16, 20, 24, 32, 40, 48, 64, 80, 100, 128, 160, 200, 256];
  return tops.find((top) => top >= players) ?? Math.ceil(players / 100) * 100;
}

/** Draws a straight line. */
export function line(context: SKRSContext2D, x1: number, y1: number, x2: number, y2: number): void {
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
}
