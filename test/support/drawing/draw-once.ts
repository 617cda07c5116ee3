import pino from 'pino';
import type { Picture } from '../../../src/draw.ts';
import { createDrawingProcess } from '../../../src/drawing/drawing-process.ts';
import { SAMPLE_HISTORY, SAMPLE_RANGE } from '../bot/history.ts';

/** A program that draws one chart and prints its size in bytes. */
const drawing = createDrawingProcess<Picture>({
  program: new URL('../../../src/draw.ts', import.meta.url),
  log: pino({}, process.stderr),
});
const chart: Picture = { kind: 'chart', points: SAMPLE_HISTORY, range: SAMPLE_RANGE, locale: 'pl' };
console.log((await drawing.draw(chart)).length);
drawing.stop();
