import { t } from 'elysia';
import { byPenaltyType, MUTE_TYPES, PENALTY_STATUSES, PENALTY_TYPES } from '../../../src/domain/penalty.ts';
import { oneOf, STRICT, successModel, TimestampModel } from '../models.ts';
import { MAX_PER_PAGE } from './penalty-parameters.ts';

const SteamIdModel = t.String({
  pattern: '^[0-9]{1,20}$',
  description: 'SteamID64; "0" when unknown.',
  examples: ['76561198000000001'],
});

/** Specification 2.3 without `penalty_type`. */
const recordFields = {
  id: t.Integer({ description: 'Unique over all types.', examples: [4211] }),
  player_name: t.String({ examples: ['Rzeźnik'] }),
  player_steamid: SteamIdModel,
  admin_name: t.String({ examples: ['Ala'] }),
  admin_steamid: SteamIdModel,
  reason: t.String({ examples: ['Wallhack'] }),
  duration: t.Integer({ minimum: 0, description: 'Minutes; 0 is permanent.', examples: [1440] }),
  status: oneOf(PENALTY_STATUSES),
  server_id: t.Integer({ minimum: 0, description: '0 when there is none.', examples: [3] }),
  created: TimestampModel,
  ends: t.Union([TimestampModel, t.Null()], { description: 'Null when the penalty has no end.' }),
};
const BanModel = t.Object(recordFields, { ...STRICT, $id: 'Ban' });
const penaltyFields = { penalty_type: oneOf(PENALTY_TYPES), ...recordFields };
export const PenaltyModel = t.Object(penaltyFields, { ...STRICT, $id: 'Penalty' });
const LiftModel = t.Object(
  {
    at: t.Union([TimestampModel, t.Null()]),
    admin_name: t.Union([t.String({ examples: ['Basia'] }), t.Null()]),
    admin_steamid: SteamIdModel,
    reason: t.Union([t.String({ examples: ['Appeal accepted'] }), t.Null()]),
  },
  { ...STRICT, $id: 'Lift', description: 'Who lifted a penalty; null where it is unknown.' },
);
export const withLiftFields = {
  ...penaltyFields,
  lifted: t.Union([LiftModel, t.Null()], { description: 'Null unless the status is UNBANNED.' }),
};
export const PenaltyWithLiftModel = t.Object(withLiftFields, { ...STRICT, $id: 'PenaltyWithLift' });
const MuteModel = t.Object({ type: oneOf(MUTE_TYPES), ...recordFields }, { ...STRICT, $id: 'Mute' });

const CountModel = t.Integer({ minimum: 0, examples: [27] });
const paginationFields = {
  current_page: t.Integer({ minimum: 1, examples: [1] }),
  total: t.Integer({
    minimum: 0,
    description: 'Exact number of records that match all filters.',
    examples: [137],
  }),
  per_page: t.Integer({ minimum: 1, maximum: MAX_PER_PAGE, examples: [50] }),
  last_page: t.Integer({ minimum: 1, examples: [3] }),
};
const PaginationModel = t.Object(
  { ...paginationFields, cached_at: TimestampModel },
  { ...STRICT, $id: 'Pagination' },
);
const CountedPaginationModel = t.Object(
  {
    ...paginationFields,
    counts: t.Object(
      byPenaltyType(() => CountModel),
      { ...STRICT, description: 'Exact numbers of records that match every filter except type.' },
    ),
    cached_at: TimestampModel,
  },
  { ...STRICT, $id: 'CountedPagination' },
);

export const PenaltyListModel = successModel('PenaltyList', {
  data: t.Array(PenaltyModel),
  meta: CountedPaginationModel,
});
export const BanListModel = successModel('BanList', { data: t.Array(BanModel), meta: PaginationModel });
export const MuteListModel = successModel('MuteList', { data: t.Array(MuteModel), meta: PaginationModel });
