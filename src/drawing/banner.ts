import type { SKRSContext2D } from '@napi-rs/canvas';
import { mergeSteps, type Series, splitIntoStretches } from '../live/series.ts';
import { mapNameOf, type ServerView } from '../live/server-view.ts';
import { drawPng, font, type PictureSize } from './canvas.ts';
import { fitText, toDrawable } from './text.ts';

/** Named as in URLs; the first is the default. */
export const BANNER_SIZES = ['560x95', '160x248'] as const;
export type BannerSize = (typeof BANNER_SIZES)[number];

const PICTURE_SIZES: Record<BannerSize, PictureSize> = {
  '560x95': { width: 560, height: 95 },
  '160x248': { width: 160, height: 248 },
};

export type BannerPicture = {
  size: BannerSize;
  server: ServerView;
  /** The last 24 hours up to `now`; undefined when they cannot be read. */
  history: Series | undefined;
  now: Date;
  siteName: string;
  /** `#rrggbb` */
  accent: string;
};

const INK = {
  background: '#141921',
  line: '#262e3a',
  text: '#e8ebf0',
  faint: '#a3adbb',
  good: '#6fd39a',
  bad: '#ff8f87',
} as const;
const DAY_MS = 86_400_000;
const STEP_SECONDS = 1800;

/** Draws the state of a server for forums. The only word is "offline", so that it needs no translation. */
export function drawBanner(banner: BannerPicture): Promise<Uint8Array> {
  const { size } = banner;
  const { width, height } = PICTURE_SIZES[size];
  return drawPng({ width, height }, (context) => {
    context.fillStyle = INK.background;
    context.fillRect(0, 0, width, height);
    context.strokeStyle = INK.line;
    context.lineWidth = 1;
    context.strokeRect(0.5, 0.5, width - 1, height - 1);
    context.fillStyle = banner.accent;
    if (size === '560x95') {
      context.fillRect(0, 0, 5, height);
      drawWide(context, banner);
    } else {
      context.fillRect(0, 0, width, 5);
      drawTall(context, banner);
    }
  });
}

function drawWide(context: SKRSContext2D, banner: BannerPicture): void {
  const { server } = banner;
  drawDot(context, 26, 27, server.isOnline);
  write(context, nameOf(server), { x: 40, y: 33, width: 310, weight: 600, size: 18 });
  write(context, stateOf(server), { x: 21, y: 58, width: 329, size: 14, colour: INK.text });
  write(context, server.address, { x: 21, y: 79, width: 329, size: 13 });
  write(context, occupancyOf(server), { x: 543, y: 34, width: 170, weight: 600, size: 24, align: 'right' });
  drawHistory(context, banner, { left: 373, top: 43, right: 543, bottom: 68 });
  write(context, toDrawable(banner.siteName, ''), { x: 543, y: 84, width: 170, size: 11, align: 'right' });
}

function drawTall(context: SKRSContext2D, banner: BannerPicture): void {
  const { server } = banner;
  const width = 136;
  drawDot(context, 18, 27, server.isOnline);
  write(context, nameOf(server), { x: 30, y: 32, width: 118, weight: 600, size: 15 });
  write(context, stateOf(server), { x: 12, y: 56, width, size: 13, colour: INK.text });
  write(context, occupancyOf(server), { x: 12, y: 98, width, weight: 600, size: 30 });
  drawShare(context, server, { left: 12, top: 110, right: 148, bottom: 116 });
  drawHistory(context, banner, { left: 12, top: 130, right: 148, bottom: 184 });
  write(context, server.address, { x: 12, y: 210, width, size: 12 });
  write(context, toDrawable(banner.siteName, ''), { x: 12, y: 232, width, size: 11 });
}

type Place = {
  x: number;
  /** Of the baseline. */
  y: number;
  width: number;
  size: number;
  weight?: 400 | 600;
  colour?: string;
  align?: 'left' | 'right';
};

function write(context: SKRSContext2D, text: string, place: Place): void {
  const { x, y, width, size, weight = 400, align = 'left' } = place;
  context.font = font(weight, size);
  context.textAlign = align;
  context.textBaseline = 'alphabetic';
  context.fillStyle = place.colour ?? (weight === 600 ? INK.text : INK.faint);
  context.fillText(fitText(context, text, width), x, y);
}

function drawDot(context: SKRSContext2D, x: number, y: number, isOnline: boolean): void {
  context.fillStyle = isOnline ? INK.good : INK.bad;
  context.beginPath();
  context.arc(x, y, 5, 0, 2 * Math.PI);
  context.fill();
}

type Box = { left: number; top: number; right: number; bottom: number };

function drawShare(context: SKRSContext2D, server: ServerView, { left, top, right, bottom }: Box): void {
  const { playersCount, maxPlayers } = server;
  const share = maxPlayers > 0 ? Math.min(playersCount / maxPlayers, 1) : 0;
  context.fillStyle = INK.line;
  context.fillRect(left, top, right - left, bottom - top);
  context.fillStyle = INK.good;
  context.fillRect(left, top, (right - left) * share, bottom - top);
}

function drawHistory(context: SKRSContext2D, { server, history, now }: BannerPicture, box: Box): void {
  if (!history) return;
  const { left, top, right, bottom } = box;
  const series = mergeSteps(history, STEP_SECONDS);
  const peak = Math.max(0, ...series.points.map(({ playersMaximum }) => playersMaximum));
  const highest = Math.max(server.maxPlayers, peak, 4);
  const from = now.getTime() - DAY_MS;
  const x = (at: number) => Math.min(Math.max(left + ((at - from) / DAY_MS) * (right - left), left), right);
  const y = (players: number) => bottom - (players / highest) * (bottom - top);
  const stepMs = STEP_SECONDS * 1000;
  for (const stretch of splitIntoStretches(series, ({ onlineShare }) => onlineShare > 0)) {
    const [first, last] = [stretch[0], stretch.at(-1)];
    if (!first || !last) continue;
    const trace = () => {
      context.lineTo(x(first.at.getTime()), y(first.playersAverage));
      for (const { at, playersAverage } of stretch) {
        context.lineTo(x(at.getTime() + stepMs / 2), y(playersAverage));
      }
      context.lineTo(x(last.at.getTime() + stepMs), y(last.playersAverage));
    };
    context.beginPath();
    context.moveTo(x(first.at.getTime()), bottom);
    trace();
    context.lineTo(x(last.at.getTime() + stepMs), bottom);
    context.closePath();
    context.fillStyle = 'rgba(111, 211, 154, 0.22)';
    context.fill();
    context.beginPath();
    trace();
    context.strokeStyle = INK.good;
    context.lineWidth = 1.5;
    context.stroke();
  }
  context.fillStyle = INK.line;
  context.fillRect(left, bottom, right - left, 1);
}

function nameOf({ name, slug }: ServerView): string {
  return toDrawable(name, slug);
}

function stateOf({ isOnline, map }: ServerView): string {
  return isOnline ? toDrawable(mapNameOf(map), '') : 'offline';
}

function occupancyOf({ isOnline, playersCount, maxPlayers }: ServerView): string {
  if (!isOnline) return '–';
  return maxPlayers > 0 ? `${playersCount} / ${maxPlayers}` : String(playersCount);
}
