import { drawPlayerChart, type PlayerChart } from '../bot/charts/player-chart.ts';
import { type BannerPicture, drawBanner } from './drawing/banner.ts';
import { serveDrawings } from './drawing/drawing-process.ts';

export type Picture = ({ kind: 'banner' } & BannerPicture) | ({ kind: 'chart' } & PlayerChart);

/** Draws for the service, which starts this program for its first picture. */
serveDrawings((picture: Picture) =>
  picture.kind === 'banner' ? drawBanner(picture) : drawPlayerChart(picture),
);
