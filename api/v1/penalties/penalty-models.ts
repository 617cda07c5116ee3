import { t } from 'elysia';
import { byPenaltyType, MUTE_TYPES, PENALTY_STATUSES, PENALTY_TYPES } from '../../../src/domain/penalty.ts';
import {
  count,
  namedObject,
  nullable,
  oneOf,
  strictObject,
  successModel,
  TimestampModel,
} from '../models.ts';
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
  duration: count(1440, 'Minutes; 0 is permanent.'),
  status: oneOf(PENALTY_STATUSES),
  server_id: count(3, '0 when there is none.'),
  created: TimestampModel,
  ends: nullable(TimestampModel, 'Null when the penalty has no end.'),
};
const BanModel = namedObject('Ban', recordFields);
const penaltyFields = { penalty_type: oneOf(PENALTY_TYPES), ...recordFields };
export const PenaltyModel = namedObject('Penalty', penaltyFields);
const liftFields = {
  at: nullable(TimestampModel),
  admin_name: nullable(t.String({ examples: ['Basia'] })),
  admin_steamid: SteamIdModel,
  reason: nullable(t.String({ examples: ['Appeal accepted'] })),
};
const LiftModel = namedObject('Lift', liftFields, 'Who lifted a penalty; null where it is unknown.');
export const withLiftFields = {
  ...penaltyFields,
  lifted: nullable(LiftModel, 'Null unless the status is UNBANNED.'),
};
export const PenaltyWithLiftModel = namedObject('PenaltyWithLift', withLiftFields);
const MuteModel = namedObject('Mute', { type: oneOf(MUTE_TYPES), ...recordFields });

const paginationFields = {
  current_page: t.Integer({ minimum: 1, examples: [1] }),
  total: count(137, 'Exact number of records that match all filters.'),
  per_page: t.Integer({ minimum: 1, maximum: MAX_PER_PAGE, examples: [50] }),
  last_page: t.Integer({ minimum: 1, examples: [3] }),
};
const PaginationModel = namedObject('Pagination', { ...paginationFields, cached_at: TimestampModel });
const CountedPaginationModel = namedObject('CountedPagination', {
  ...paginationFields,
  counts: strictObject(
    byPenaltyType(() => count(27)),
    'Exact numbers of records that match every filter except type.',
  ),
  cached_at: TimestampModel,
});

export const PenaltyListModel = successModel('PenaltyList', {
  data: t.Array(PenaltyModel),
  meta: CountedPaginationModel,
});
export const BanListModel = successModel('BanList', { data: t.Array(BanModel), meta: PaginationModel });
export const MuteListModel = successModel('MuteList', { data: t.Array(MuteModel), meta: PaginationModel });
