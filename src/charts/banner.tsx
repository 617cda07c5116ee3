import type { JSX } from 'hono/jsx/jsx-runtime';
import type { ServerView } from '../live/server-view.ts';
import { Curve, toDayPlot } from './plot.tsx';
import { drawPng, type MeasureText } from './raster.ts';
import type { Series } from './series.ts';
import { fitText, toDrawable } from './text.ts';

/** Named as in URLs; the first is the default. */
export const BANNER_SIZES = ['560x95', '160x248'] as const;
export type BannerSize = (typeof BANNER_SIZES)[number];

const PICTURE_SIZES: Record<BannerSize, { width: number; height: number }> = {
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
  /** IANA name. */
  timeZone: string;
};

const INK = {
  background: '#141921',
  line: '#262e3a',
  text: '#e8ebf0',
  faint: '#a3adbb',
  good: '#6fd39a',
  bad: '#ff8f87',
} as const;
const STYLE = `
  .plot-area { fill: ${INK.good}; fill-opacity: 0.22 }
  .plot-line { fill: none; stroke: ${INK.good}; stroke-width: 1.5 }
`;

/** Draws the state of a server for forums. Its few words are not translated. @returns a PNG. */
export function drawBanner(banner: BannerPicture): Promise<Uint8Array<ArrayBuffer>> {
  const { width, height } = PICTURE_SIZES[banner.size];
  const isWide = width > height;
  return drawPng({ width, height, style: STYLE }, (measure) => (
    <>
      <rect width={width} height={height} fill={INK.background} />
      <rect x="0.5" y="0.5" width={width - 1} height={height - 1} fill="none" stroke={INK.line} />
      <rect width={isWide ? 5 : width} height={isWide ? height : 5} fill={banner.accent} />
      {isWide ? <Wide {...banner} measure={measure} /> : <Tall {...banner} measure={measure} />}
    </>
  ));
}

type BannerProps = BannerPicture & { measure: MeasureText };

function Wide({ measure, ...banner }: BannerProps): JSX.Element {
  const { server, siteName } = banner;
  const write = (text: string, place: Place) => <Text text={text} place={place} measure={measure} />;
  return (
    <>
      <circle cx="26" cy="27" r="5" fill={inkOf(server)} />
      {write(nameOf(server), { x: 40, y: 33, width: 310, weight: 600, size: 18 })}
      {write([stateOf(server), sinceOf(banner)].filter(Boolean).join(' '), {
        x: 21,
        y: 58,
        width: 329,
        size: 14,
        ink: 'text',
      })}
      {write(server.address, { x: 21, y: 79, width: 329, size: 13 })}
      {write(occupancyOf(server), { x: 543, y: 34, width: 170, weight: 600, size: 24, anchor: 'end' })}
      <History {...banner} left={373} top={43} width={170} height={25} />
      {write(toDrawable(siteName, ''), { x: 543, y: 84, width: 170, size: 11, anchor: 'end' })}
    </>
  );
}

function Tall({ measure, ...banner }: BannerProps): JSX.Element {
  const { server, siteName } = banner;
  const width = 136;
  const share = server.maxPlayers > 0 ? Math.min(server.playersCount / server.maxPlayers, 1) : 0;
  const write = (text: string, place: Place) => <Text text={text} place={place} measure={measure} />;
  return (
    <>
      <circle cx="18" cy="27" r="5" fill={inkOf(server)} />
      {write(nameOf(server), { x: 30, y: 32, width: 118, weight: 600, size: 15 })}
      {write(stateOf(server), { x: 12, y: 56, width, size: 13, ink: 'text' })}
      {write(sinceOf(banner), { x: 12, y: 71, width, size: 11 })}
      {write(occupancyOf(server), { x: 12, y: 98, width, weight: 600, size: 30 })}
      <rect x="12" y="110" width={width} height="6" fill={INK.line} />
      <rect x="12" y="110" width={width * share} height="6" fill={INK.good} />
      <History {...banner} left={12} top={130} width={width} height={54} />
      {write(server.address, { x: 12, y: 210, width, size: 12 })}
      {write(toDrawable(siteName, ''), { x: 12, y: 232, width, size: 11 })}
    </>
  );
}

type Place = {
  x: number;
  /** Of the baseline. */
  y: number;
  width: number;
  size: number;
  weight?: 400 | 600;
  ink?: keyof typeof INK;
  anchor?: 'start' | 'end';
};

function Text({ text, place, measure }: { text: string; place: Place; measure: MeasureText }): JSX.Element {
  const { x, y, width, size, weight = 400, anchor = 'start' } = place;
  const ink = INK[place.ink ?? (weight === 600 ? 'text' : 'faint')];
  return (
    <text x={x} y={y} font-size={size} font-weight={weight} fill={ink} text-anchor={anchor}>
      {fitText(text, width, (part) => measure(part, { size, weight }))}
    </text>
  );
}

type Box = { left: number; top: number; width: number; height: number };

function History({ server, history, now, left, top, ...size }: BannerPicture & Box): JSX.Element | null {
  if (!history) return null;
  const peak = Math.max(0, ...history.points.map(({ playersMaximum }) => playersMaximum));
  const axes = { to: now, top: Math.max(server.maxPlayers, peak, 4), grain: 0.25 };
  return (
    <g transform={`translate(${left} ${top})`}>
      <Curve {...toDayPlot(history, { ...axes, ...size })} />
      <rect y={size.height} width={size.width} height="1" fill={INK.line} />
    </g>
  );
}

function nameOf({ name, slug }: ServerView): string {
  return toDrawable(name, slug);
}

function inkOf({ isOnline, uncheckedSince }: ServerView): string {
  if (uncheckedSince) return INK.faint;
  return isOnline ? INK.good : INK.bad;
}

function stateOf({ isOnline, map, uncheckedSince }: ServerView): string {
  if (uncheckedSince) return 'not checked since';
  return isOnline ? toDrawable(map, '') : 'offline';
}

/** When a stale server was last checked: `21 Nov, 10:42 UTC`. */
function sinceOf({ server: { uncheckedSince }, timeZone }: BannerPicture): string {
  if (!uncheckedSince) return '';
  const date = { day: 'numeric', month: 'short', timeZone } as const;
  const clock = { hour: '2-digit', minute: '2-digit', timeZoneName: 'short' } as const;
  return new Intl.DateTimeFormat('en-GB', { ...date, ...clock }).format(uncheckedSince);
}

function occupancyOf({ isOnline, playersCount, maxPlayers }: ServerView): string {
  if (!isOnline) return '–';
  return maxPlayers > 0 ? `${playersCount} / ${maxPlayers}` : String(playersCount);
}
