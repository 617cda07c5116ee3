import { Elysia, type Static, t } from 'elysia';
import { InvalidInput } from '../../src/errors.ts';
import {
  MUTE_TYPES,
  PENALTY_STATUSES,
  PENALTY_TYPES,
  type PenaltyType,
  parsePenaltyStatus,
  parsePenaltyType,
} from '../../src/penalty.ts';
import type { Penalty, PenaltyPage } from '../../src/queries/penalties.ts';
import type { PenaltyFilter } from '../../src/queries/penalty-filter.ts';
import { parseSteamId } from '../../src/steam-id.ts';
import { describe, ERRORS, MODELS, TimestampModel } from '../docs.ts';
import { formatTimestamp } from '../json.ts';
import type { Query, Routes } from '../routes.ts';

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
  status: t.Union(
    PENALTY_STATUSES.map((status) => t.Literal(status)),
    { examples: ['ACTIVE'] },
  ),
  server_id: t.Integer({ minimum: 0, description: '0: none.', examples: [3] }),
  created: TimestampModel,
  ends: t.Union([TimestampModel, t.Null()], { description: 'Null when the penalty has no end.' }),
};
const STRICT = { additionalProperties: false };

export const BanModel = t.Object(recordFields, { ...STRICT, description: 'Specification 2.3' });
export const PenaltyModel = t.Object(
  {
    penalty_type: t.Union(
      PENALTY_TYPES.map((type) => t.Literal(type)),
      { examples: ['ban'] },
    ),
    ...recordFields,
  },
  { ...STRICT, description: 'Specification 2.3' },
);
export const MuteModel = t.Object(
  {
    type: t.Union(
      MUTE_TYPES.map((type) => t.Literal(type)),
      { examples: ['gag'] },
    ),
    ...recordFields,
  },
  { ...STRICT, description: 'Specification 2.3, with the kind of mute' },
);
const paginationFields = {
  current_page: t.Integer({ minimum: 1, examples: [1] }),
  total: t.Integer({ minimum: 0, description: 'Exact, by all filters.', examples: [137] }),
  per_page: t.Integer({ minimum: 1, maximum: 100, examples: [50] }),
  last_page: t.Integer({ minimum: 1, examples: [3] }),
};
export const PaginationModel = t.Object({ ...paginationFields, cached_at: TimestampModel }, STRICT);
export const CountedPaginationModel = t.Object(
  {
    ...paginationFields,
    counts: t.Object(
      Object.fromEntries(PENALTY_TYPES.map((type) => [type, t.Integer({ minimum: 0, examples: [27] })])),
      {
        ...STRICT,
        description: 'Exact, by every filter but type.',
      },
    ),
    cached_at: TimestampModel,
  },
  STRICT,
);

type Deps = {
  listPenalties: (
    filter: PenaltyFilter,
    options: { page: number; perPage: number; now: Date },
  ) => Promise<PenaltyPage>;
};

/** Penalty lists: specification 4.2 and 4.3. Never cached: a status is the truth at the time of the answer. */
export function penalties(routes: Routes, { listPenalties }: Deps) {
  async function answer<Item>(
    query: Query,
    filter: PenaltyFilter,
    now: Date,
    present: (penalty: Penalty) => Item,
  ) {
    const { page, perPage } = parsePage(query);
    const { rows, total, counts } = await listPenalties(filter, { page, perPage, now });
    const meta = {
      current_page: page,
      total,
      per_page: perPage,
      last_page: Math.max(Math.ceil(total / perPage), 1),
    };
    return { data: rows.map(present), meta, counts, cachedAt: formatTimestamp(now) };
  }

  /** `/bans`, `/mutes` and `/warns`: the same answer, without counts. */
  const listed = async <Item>(
    query: Query,
    filter: PenaltyFilter,
    now: Date,
    present: (penalty: Penalty) => Item,
  ) => {
    const { data, meta, cachedAt } = await answer(query, filter, now, present);
    return { success: true, data, meta: { ...meta, cached_at: cachedAt } };
  };

  return new Elysia()
    .get(
      '/penalties',
      ({ request, server }) =>
        routes.guarded({ request, server }, async (query, _, now) => {
          const type = query.get('type');
          const admin = query.get('admin_steamid');
          const filter: PenaltyFilter = {
            ...(type !== undefined && { types: [parsePenaltyType(type)] }),
            ...parseFilter(query),
            ...(admin !== undefined && { adminSteamId: parseSteamIdParameter('admin_steamid', admin) }),
          };
          const { data, meta, counts, cachedAt } = await answer(query, filter, now, presentPenalty);
          return { success: true, data, meta: { ...meta, counts, cached_at: cachedAt } };
        }),
      {
        detail: describe({
          tag: 'Penalties',
          summary: 'Penalties of every type',
          parameters: [
            typeParameter(PENALTY_TYPES),
            ...FILTER_PARAMETERS,
            ADMIN_PARAMETER,
            ...PAGE_PARAMETERS,
          ],
          answers: { 200: { model: MODELS.penalties }, ...PROTECTED_ANSWERS },
          isProtected: true,
        }),
      },
    )
    .get(
      '/bans',
      ({ request, server }) =>
        routes.guarded({ request, server }, (query, _, now) =>
          listed(query, { types: ['ban'], ...parseFilter(query) }, now, presentRecord),
        ),
      { detail: describeList('Bans', MODELS.bans) },
    )
    .get(
      '/mutes',
      ({ request, server }) =>
        routes.guarded({ request, server }, (query, _, now) => {
          const type = query.get('type');
          const types = type === undefined ? MUTE_TYPES : [parsePenaltyType(type, MUTE_TYPES)];
          return listed(query, { types, ...parseFilter(query) }, now, presentMute);
        }),
      { detail: describeList('Mutes, gags and silences', MODELS.mutes, [typeParameter(MUTE_TYPES)]) },
    )
    .get(
      '/warns',
      ({ request, server }) =>
        routes.guarded({ request, server }, (query, _, now) =>
          listed(query, { types: ['warn'], ...parseFilter(query) }, now, presentRecord),
        ),
      { detail: describeList('Warnings', MODELS.bans) },
    );
}

function presentRecord(penalty: Penalty) {
  return toRecord(penalty, {});
}

function presentPenalty(penalty: Penalty) {
  return toRecord(penalty, { penalty_type: penalty.type });
}

function presentMute(penalty: Penalty) {
  return toRecord(penalty, { type: penalty.type });
}

/** One literal for all lists: what is undefined is not sent. Spreading a record into another costs as much as a row's query. */
function toRecord(
  penalty: Penalty,
  own: { penalty_type?: PenaltyType; type?: PenaltyType },
): Static<typeof BanModel> & { penalty_type: PenaltyType | undefined; type: PenaltyType | undefined } {
  return {
    penalty_type: own.penalty_type,
    type: own.type,
    id: penalty.id,
    player_name: penalty.playerName,
    player_steamid: penalty.playerSteamId,
    admin_name: penalty.adminName,
    admin_steamid: penalty.adminSteamId,
    reason: penalty.reason,
    duration: penalty.durationMinutes,
    status: penalty.status,
    server_id: penalty.serverId,
    created: formatTimestamp(penalty.createdAt),
    ends: penalty.endsAt && formatTimestamp(penalty.endsAt),
  };
}

/** The filters that all four lists take. */
function parseFilter(query: Query): PenaltyFilter {
  const status = query.get('status');
  const serverId = query.get('server_id');
  const steamId = query.get('steamid');
  return {
    ...(status !== undefined && { status: parsePenaltyStatus(status) }),
    ...(serverId !== undefined && { serverId: parseServerId(serverId) }),
    ...(steamId !== undefined && { playerSteamId: parseSteamIdParameter('steamid', steamId) }),
  };
}

/** @throws {InvalidInput} that names the parameter. */
export function parseSteamIdParameter(name: string, text: string) {
  try {
    return parseSteamId(text);
  } catch (error) {
    if (error instanceof InvalidInput) throw new InvalidInput(`${name} ${error.message}`, { cause: error });
    throw error;
  }
}

function parseServerId(text: string): number {
  const id = /^[0-9]{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (id <= 0x7fff_ffff) return id;
  throw new InvalidInput(
    `server_id ${JSON.stringify(text.slice(0, 64))} is not allowed: give a whole number from 0 to 2147483647`,
  );
}

/** Never refuses: what is no positive integer is the default. Contract section 3. */
function parsePage(query: Query): { page: number; perPage: number } {
  return {
    page: parsePositive(query.get('page'), 1),
    perPage: Math.min(parsePositive(query.get('per_page'), 50), 100),
  };
}

function parsePositive(text: string | undefined, byDefault: number): number {
  if (text === undefined || !/^\+?[0-9]+$/.test(text)) return byDefault;
  const number = Number(text);
  if (number < 1) return byDefault;
  // A page nobody reaches stays a page past the end, within what the database can count.
  return Math.min(number, 1_000_000_000_000);
}

const PROTECTED_ANSWERS = {
  400: ERRORS.badRequest,
  401: ERRORS.unauthorized,
  429: ERRORS.tooMany,
  500: ERRORS.failed,
  503: ERRORS.unavailable,
};

const FILTER_PARAMETERS = [
  {
    in: 'query' as const,
    name: 'status',
    description: `${PENALTY_STATUSES.join(', ')}, or aktywny, wygasły, odbanowany; in any letter case, with or without diacritics.`,
    example: 'ACTIVE',
    schema: { type: 'string' as const, enum: [...PENALTY_STATUSES, 'aktywny', 'wygasły', 'odbanowany'] },
  },
  {
    in: 'query' as const,
    name: 'server_id',
    description: 'The server; 0: records without one.',
    example: 3,
    schema: { type: 'integer' as const, minimum: 0, maximum: 0x7fff_ffff },
  },
  {
    in: 'query' as const,
    name: 'steamid',
    description: 'The player: SteamID64, STEAM_X:Y:Z or [U:1:N].',
    example: '76561198000000001',
  },
];
const ADMIN_PARAMETER = {
  in: 'query' as const,
  name: 'admin_steamid',
  description: 'The admin: SteamID64, STEAM_X:Y:Z or [U:1:N].',
  example: '76561198000000900',
};
const PAGE_PARAMETERS = [
  {
    in: 'query' as const,
    name: 'per_page',
    description: 'Records a page: 50 by default; more than 100 are 100.',
    example: 50,
    schema: { type: 'integer' as const, minimum: 1, maximum: 100, default: 50 },
  },
  {
    in: 'query' as const,
    name: 'page',
    description: 'The page, from 1; one past the end has no records.',
    example: 1,
    schema: { type: 'integer' as const, minimum: 1, default: 1 },
  },
];

function typeParameter(types: readonly PenaltyType[]) {
  return {
    in: 'query' as const,
    name: 'type',
    description: `${types.join(', ')}, in any letter case; all by default.`,
    example: types[0] ?? '',
    schema: { type: 'string' as const, enum: [...types] },
  };
}

function describeList(summary: string, model: string, parameters: ReturnType<typeof typeParameter>[] = []) {
  return describe({
    tag: 'Penalties',
    summary,
    parameters: [...parameters, ...FILTER_PARAMETERS, ...PAGE_PARAMETERS],
    answers: { 200: { model }, ...PROTECTED_ANSWERS },
    isProtected: true,
  });
}
