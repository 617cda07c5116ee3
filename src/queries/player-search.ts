import { type SQL, sql } from 'drizzle-orm';
import type { Reads } from '../db/client.ts';
import { users } from '../db/schema/accounts.ts';
import { penalties, playerNames } from '../db/schema/penalties.ts';
import {
  arrayLiteral,
  asExpensive,
  hiddenPlaceholder,
  likePart,
  MIN_INDEXED_LENGTH,
  type PlaceholderValues,
  selectFrom,
  selectionOf,
  type Values,
} from '../db/select.ts';
import type { SteamId64 } from '../domain/steam-id.ts';
import { foldText } from '../domain/text/fold-text.ts';
import { activeBanOf } from './penalties/filter.ts';

/** A player that a search by name found, with or without an account. */
export type FoundPlayer = {
  steamId64: SteamId64;
  /** The latest one known. */
  name: string;
  /** The name that matched. */
  matchedName: string;
  penalties: number;
  /** An active ban exists at `now`. */
  isBanned: boolean;
  /** The newest penalty or sign-in; null for a user that an operator created. */
  lastSeenAt: Date | null;
};

/**
 * How many of the newest penalties and sign-ins are searched before the index of names is used: for a part of most names few
 * are enough.
 */
const RECENT = [500, 5000] as const;

/**
 * Whom a search finds. `all`: everybody; `withoutAccount`: players without an account; `penaltyNames`: everybody, but
 * only by names in penalties, as on the public page. Only `all` takes sign-ins into account.
 */
type SearchScope = 'all' | 'withoutAccount' | 'penaltyNames';

const IN_SCOPE: Readonly<Record<SearchScope, SQL>> = {
  all: sql`true`,
  withoutAccount: sql`not exists (select from ${users} where ${users.steamId64} = ${playerNames.steamId64})`,
  penaltyNames: sql`not ${playerNames.isNickname}`,
};

/**
 * Players with a name (in a penalty or as nickname) that contains a text, ignoring letter case and diacritics: exact
 * matches first, then the others, each the most recently seen first. A text of fewer than three characters only finds
 * recent players, an empty one none.
 */
export async function searchPlayers(
  db: Reads,
  text: string,
  { limit, now, scope = 'all' }: { limit: number; now: Date; scope?: SearchScope },
): Promise<FoundPlayer[]> {
  // PostgreSQL has no text with NUL, so no name contains one.
  const folded = text.includes('\0') ? '' : foldText(text).trim();
  if (folded === '') return [];
  const values = { folded, pattern: likePart(folded), limit, now: now.toISOString() };
  const run = runnerOf(db, scope, values);
  const players = await asExpensive(async () => {
    const matches = await findMatches(run, { folded, limit, scope });
    return matches.length === 0 ? [] : readPlayers(run, matches, scope);
  });
  // Without a name: erased or renamed since the match was found.
  return players.filter(({ name, matchedName }) => name !== '' && matchedName !== '');
}

/** The same for players with these SteamIDs, in that order; the name is empty where none is known. */
export async function listPlayers(
  db: Reads,
  ids: readonly SteamId64[],
  { now }: { now: Date },
): Promise<FoundPlayer[]> {
  const run = runnerOf(db, 'all', { folded: '', pattern: '%', now: now.toISOString() });
  const matches = ids.map((steamId64) => ({ steamId64, isExact: false, seenAt: null }));
  return readPlayers(run, matches, 'all');
}

/** Runs a statement of one search. @param values of placeholders that only this statement has. */
type Run = (name: string, build: () => SQL, values?: PlaceholderValues) => Promise<readonly Values[]>;

function runnerOf(db: Reads, scope: SearchScope, values: PlaceholderValues): Run {
  const select = selectFrom(db);
  return (name, build, others) => select(`${name}: ${scope}`, build, { ...values, ...others });
}

type Match = { steamId64: SteamId64; isExact: boolean; seenAt: string | null };

const MATCH = selectionOf({
  steamId64: sql`matched.steamid64`,
  isExact: sql`matched.is_exact`,
  seenAt: sql`seen_at`,
});

const IS_EXACT = sql`bool_or(btrim(${playerNames.folded}) = ${hiddenPlaceholder('folded', 'text')}) as is_exact`;
const IS_PART = sql`${playerNames.folded} like ${hiddenPlaceholder('pattern', 'text')}`;
const BEST_FIRST = sql`matched.is_exact desc, seen_at desc nulls last, matched.steamid64 limit ${hiddenPlaceholder('limit', 'bigint')}`;

/**
 * A text that many names contain is found among recent players, a rare one by the index: sorting many matches of the
 * index would take long, and so would scanning all players for a rare text.
 */
async function findMatches(
  run: Run,
  { folded, limit, scope }: { folded: string; limit: number; scope: SearchScope },
): Promise<Match[]> {
  const find = async (name: string, build: () => SQL) => (await run(name, build)).map(readMatch);
  const isIndexed = [...folded].length >= MIN_INDEXED_LENGTH;
  const findByPart = () => find('players by part of name', () => indexed(RAREST_PARTS, scope));
  if (isIndexed && (await isRare(run))) return findByPart();
  let recent: Match[] = [];
  for (const size of RECENT) {
    recent = await find(`${size} recent players by name`, () => recentMatches(scope, size));
    if (recent.length === limit) break;
  }
  const isFull = recent.length === limit;
  if (!isIndexed || (isFull && recent.every(({ isExact }) => isExact))) return recent;
  if (!isFull) return findByPart();
  const whole = sql`select array[hashtext(E'\\n' || ${hiddenPlaceholder('folded', 'text')})]`;
  const exact = await find('players by whole name', () => indexed(whole, scope));
  return [...exact.filter(({ isExact }) => isExact), ...recent.filter(({ isExact }) => !isExact)].slice(
    0,
    limit,
  );
}

function readMatch(row: Values): Match {
  const seenAt = row[MATCH.at.seenAt];
  return {
    steamId64: String(row[MATCH.at.steamId64]) as SteamId64,
    isExact: row[MATCH.at.isExact] === true,
    seenAt: seenAt === null ? null : String(seenAt),
  };
}

/**
 * Matches among the players of the newest penalties and sign-ins, but only those seen after the oldest entry of either
 * list: before that, players may be missing.
 */
function recentMatches(scope: SearchScope, size: number): SQL {
  const [andSignedIn, since] =
    scope === 'all'
      ? [
          sql`union all table signed_in`,
          sql`greatest(${horizonOf('penalised', size)}, ${horizonOf('signed_in', size)})`,
        ]
      : [sql``, horizonOf('penalised', size)];
  return sql`
    with penalised as materialized (
      select ${penalties.playerSteamId} as steamid64, ${penalties.createdAt} as seen_at from ${penalties}
      order by ${penalties.createdAt} desc, ${penalties.id} desc limit ${sql.raw(String(size))}
    ), signed_in as materialized (
      select ${users.steamId64} as steamid64, ${users.signedInAt} as seen_at from ${users}
      where ${users.signedInAt} is not null order by ${users.signedInAt} desc limit ${sql.raw(String(size))}
    ), seen as (
      select steamid64, max(seen_at) as seen_at from (table penalised ${andSignedIn}) as either group by steamid64
    )
    select ${MATCH.columns} from seen cross join lateral (
      select seen.steamid64, ${IS_EXACT} from ${playerNames}
      where ${playerNames.steamId64} = seen.steamid64 and ${IS_PART} and ${IN_SCOPE[scope]} having count(*) > 0
    ) as matched
    where seen_at > ${since}
    order by ${BEST_FIRST}`;
}

/** The time before which a list may lack players; -infinity when it is complete. */
function horizonOf(list: string, size: number): SQL {
  return sql`(select case when count(*) < ${sql.raw(String(size))} then '-infinity' else min(seen_at) end
    from ${sql.identifier(list)})`;
}

/** How many parts of a text are looked up in the index of names. */
const PARTS = 3;

/**
 * The most common parts of all names, each with its share of them, according to the statistics; empty without
 * statistics.
 */
const COMMON_PARTS = sql`
  common as materialized (
    select element, frequency from pg_stats
    cross join unnest(most_common_elems::text::integer[], most_common_elem_freqs) as part(element, frequency)
    where schemaname = 'public' and tablename = 'player_names' and attname = 'grams'
  )`;

/** Each part of the text with its share of all names; null when it is too rare for the statistics. */
const PARTS_OF_TEXT = sql`
  part_grams(${hiddenPlaceholder('folded', 'text')}) cross join unnest(grams) as gram
  left join common on element = gram`;

/** The rarest parts of the text: a common one costs reading all names that have it. */
const RAREST_PARTS = sql`
  select array(
    with ${COMMON_PARTS}
    select gram from ${PARTS_OF_TEXT} order by frequency nulls first limit ${sql.raw(String(PARTS))}
  )`;

const RARE = selectionOf({
  isRare: sql`bool_or(coalesce(frequency, 0) * ${sql.raw(String(RECENT[1]))} < ${hiddenPlaceholder('limit', 'bigint')})`,
});

/** Whether so few names contain the text that the recent players would not fill the list; false without statistics. */
async function isRare(run: Run): Promise<boolean> {
  const [row] = await run(
    'whether part of a name is rare',
    () => sql`with ${COMMON_PARTS} select ${RARE.columns} from ${PARTS_OF_TEXT} where exists (table common)`,
  );
  return row?.[RARE.at.isRare] === true;
}

/** Players by the index of names. @param grams the hashes to look up in the index. */
function indexed(grams: SQL, scope: SearchScope): SQL {
  const penalised = sql`select max(${penalties.createdAt}) from ${penalties} where ${penalties.playerSteamId} = matched.steamid64`;
  const signedIn = sql`select ${users.signedInAt} from ${users} where ${users.steamId64} = matched.steamid64`;
  const seenAt = scope === 'all' ? sql`greatest((${penalised}), (${signedIn}))` : sql`(${penalised})`;
  return sql`
    select ${MATCH.columns} from (
      select ${playerNames.steamId64} as steamid64, ${IS_EXACT} from ${playerNames}
      where ${playerNames.grams} @> (${grams}) and ${IS_PART} and ${IN_SCOPE[scope]} group by ${playerNames.steamId64}
    ) as matched
    cross join lateral (select ${seenAt} as seen_at) as last
    order by ${BEST_FIRST}`;
}

const detailsOf = (scope: SearchScope) =>
  selectionOf({
    penalties: sql`(select count(*) from ${penalties} where ${penalties.playerSteamId} = matched.steamid64)`,
    isBanned: sql`exists (select from ${penalties} where ${activeBanOf(sql`matched.steamid64`)})`,
    name: latestName(sql`true`, scope),
    matchedName: latestName(
      sql`name in (
        select ${playerNames.name} from ${playerNames} where ${playerNames.steamId64} = matched.steamid64 and ${IS_PART}
          and (not matched.is_exact or btrim(${playerNames.folded}) = ${hiddenPlaceholder('folded', 'text')})
      )`,
      scope,
    ),
  });
/** The same positions in every scope. */
const DETAIL = detailsOf('all').at;

/**
 * The latest name of a player that satisfies a condition. Within the same second, the penalty with the highest id
 * counts, and a penalty before a nickname.
 */
function latestName(condition: SQL, scope: SearchScope): SQL {
  const nickname = sql`
      union all
      select left(${users.nickname}, 256), coalesce(${users.signedInAt}, ${users.createdAt}), 0::bigint from ${users}
      where ${users.steamId64} = matched.steamid64 and ${users.nickname} <> ''`;
  return sql`(
    select name from (
      select left(${penalties.playerName}, 256) as name, ${penalties.createdAt} as borne_at, ${penalties.id} as penalty_id from ${penalties}
      where ${penalties.playerSteamId} = matched.steamid64 and ${penalties.playerName} <> ''
      ${scope === 'penaltyNames' ? sql`` : nickname}
    ) as borne where ${condition} order by borne_at desc, penalty_id desc limit 1
  )`;
}

async function readPlayers(run: Run, matches: readonly Match[], scope: SearchScope): Promise<FoundPlayer[]> {
  const ids = arrayLiteral(matches.map(({ steamId64 }) => steamId64));
  const exact = arrayLiteral(matches.map(({ isExact }) => isExact));
  const rows = await run(
    'players found by name',
    () => sql`
      select ${detailsOf(scope).columns} from unnest(${hiddenPlaceholder('ids', 'bigint[]')}, ${hiddenPlaceholder('exact', 'boolean[]')}) with ordinality as matched(steamid64, is_exact, place) order by place`,
    { ids, exact },
  );
  return matches.map(({ steamId64, seenAt }, place) => {
    const row = rows[place] ?? [];
    return {
      steamId64,
      name: String(row[DETAIL.name] ?? ''),
      matchedName: String(row[DETAIL.matchedName] ?? ''),
      penalties: Number(row[DETAIL.penalties]),
      isBanned: row[DETAIL.isBanned] === true,
      lastSeenAt: seenAt === null ? null : new Date(seenAt),
    };
  });
}
