import { type Static, t } from 'elysia';
import { formatTimestamp } from '../../../src/domain/text/timestamp.ts';
import { HISTORY_HOURS, type HistoryHours, type ReadHistory } from '../../../src/live/server-history.ts';
import type { ServerList } from '../../../src/live/server-list.ts';
import type { HistoryPoint } from '../../../src/queries/servers/samples.ts';
import { DATABASE_BUSY, DATABASE_OUTAGE } from '../../http/documented-failures.ts';
import { encodeJson } from '../../http/encoding.ts';
import type { Parameter } from '../../http/parameters.ts';
import { publicRoute } from '../../http/route-definition.ts';
import { count, namedObject, strictObject, successModel, TimestampModel } from '../models.ts';
import { integerParameter } from '../parameters.ts';
import { SERVER_NOT_FOUND, SLUG_PARAMETER } from './servers.ts';

const DEFAULT_HOURS = 24;
/** A year: samples are kept no longer. */
const MAX_HOURS = 8760;

const HistoryPointModel = namedObject('HistoryPoint', {
  at: TimestampModel,
  players_average: t.Number({ minimum: 0, examples: [7.35] }),
  players_max: count(9),
  max_players: count(10),
  online_share: t.Number({
    minimum: 0,
    maximum: 1,
    description: 'Share of the step in which the server was online.',
    examples: [1],
  }),
});
const ServerHistoryModel = successModel('ServerHistory', {
  data: t.Array(HistoryPointModel),
  meta: strictObject({
    hours: t.Integer({ description: 'The span that the data covers.', examples: [DEFAULT_HOURS] }),
    step_seconds: t.Integer({ examples: [300] }),
    cached_at: TimestampModel,
  }),
});

const hours = integerParameter({
  name: 'hours',
  description: `How far back: ${HISTORY_HOURS.join(', ')}. Any other number is rounded up to one of these.`,
  minimum: 1,
  maximum: MAX_HOURS,
  example: DEFAULT_HOURS,
});
const HOURS_PARAMETER = {
  ...hours,
  schema: { type: 'integer', minimum: 1, maximum: MAX_HOURS, default: DEFAULT_HOURS },
  parse: (text: string | undefined) => spanOf(hours.parse(text) ?? DEFAULT_HOURS),
} satisfies Parameter<HistoryHours>;

type Deps = { serverList: ServerList; readHistory: ReadHistory };

/** The samples of the poller. */
export const getServerHistory = publicRoute({
  path: '/servers/:server/history',
  id: 'getServerHistory',
  tag: 'Servers',
  summary: 'Player counts over time',
  description: 'Steps in which the server was not polled are absent.',
  isExtension: true,
  parameters: { slug: SLUG_PARAMETER, hours: HOURS_PARAMETER },
  success: { model: ServerHistoryModel },
  cacheControl: 'public, max-age=60, stale-while-revalidate=60',
  failures: [SERVER_NOT_FOUND, DATABASE_BUSY, DATABASE_OUTAGE],
  handle: async ({ serverList, readHistory }: Deps, { slug, hours }) => {
    const status = serverList.findBySlug(slug);
    if (!status) throw SERVER_NOT_FOUND.error();
    const { points, stepSeconds, readAt } = await readHistory(status.server.id, hours);
    const body: Static<typeof ServerHistoryModel> = {
      success: true,
      data: points.map(presentPoint),
      meta: { hours, step_seconds: stepSeconds, cached_at: formatTimestamp(readAt) },
    };
    return encodeJson(body);
  },
});

function spanOf(hours: number): HistoryHours {
  return HISTORY_HOURS.find((span) => span >= hours) ?? MAX_HOURS;
}

function presentPoint(point: HistoryPoint): Static<typeof HistoryPointModel> {
  return {
    at: formatTimestamp(point.at),
    players_average: Math.round(point.playersAverage * 100) / 100,
    players_max: point.playersMaximum,
    max_players: point.maxPlayers,
    online_share: Math.round(point.onlineShare * 1000) / 1000,
  };
}
