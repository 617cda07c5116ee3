import type { SKRSContext2D } from '@napi-rs/canvas';
import { font } from '../../src/drawing/canvas.ts';
import { type Series, splitIntoStretches } from '../../src/live/series.ts';
import { INK, line, PLOT, type Scale } from './plot.ts';

/** A curve of the players wherever the server was online. */
export function drawPlayers(context: SKRSContext2D, scale: Scale, series: Series): void {
  const stepMs = series.stepSeconds * 1000;
  for (const stretch of splitIntoStretches(series, ({ onlineShare }) => onlineShare > 0)) {
    const [first, last] = [stretch[0], stretch.at(-1)];
    if (!first || !last) continue;
    const start = scale.x(first.at.getTime());
    const end = scale.x(last.at.getTime() + stepMs);
    const drawCurve = () => {
      context.lineTo(start, scale.y(first.playersAverage));
      for (const { at, playersAverage } of stretch) {
        context.lineTo(scale.x(at.getTime() + stepMs / 2), scale.y(playersAverage));
      }
      context.lineTo(end, scale.y(last.playersAverage));
    };
    context.beginPath();
    context.moveTo(start, scale.y(0));
    drawCurve();
    context.lineTo(end, scale.y(0));
    context.closePath();
    context.fillStyle = 'rgba(87, 211, 140, 0.25)';
    context.fill();
    context.beginPath();
    drawCurve();
    context.strokeStyle = INK.line;
    context.lineWidth = 4;
    context.lineJoin = 'round';
    context.stroke();
  }
}

/** Red areas where the server was offline, with the word for it where it fits. */
export function drawOffline(context: SKRSContext2D, scale: Scale, series: Series, label: string): void {
  for (const stretch of splitIntoStretches(series, ({ onlineShare }) => onlineShare === 0)) {
    const [first, last] = [stretch[0], stretch.at(-1)];
    if (!first || !last) continue;
    const left = scale.x(first.at.getTime());
    const right = scale.x(last.at.getTime() + series.stepSeconds * 1000);
    context.fillStyle = 'rgba(237, 66, 69, 0.22)';
    context.fillRect(left, PLOT.top, right - left, PLOT.bottom - PLOT.top);
    context.fillStyle = INK.offline;
    context.fillRect(left, PLOT.bottom - 4, right - left, 4);
    context.font = font(600, 22);
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    const isWideEnough = context.measureText(label).width + 12 <= right - left;
    if (isWideEnough) context.fillText(label, (left + right) / 2, (PLOT.top + PLOT.bottom) / 2);
  }
}

/** A dashed line at the number of players that fit on the server. */
export function drawCapacity(context: SKRSContext2D, { y }: Scale, capacity: number): void {
  context.strokeStyle = INK.capacity;
  context.lineWidth = 2.5;
  context.setLineDash([10, 8]);
  line(context, PLOT.left, y(capacity), PLOT.right, y(capacity));
  context.setLineDash([]);
}
