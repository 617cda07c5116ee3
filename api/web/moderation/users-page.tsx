import type { JSX } from 'hono/jsx/jsx-runtime';
import type { Db } from '../../../src/db/client.ts';
import { Unavailable } from '../../../src/domain/errors.ts';
import { USER_FLAG_NAMES, USER_FLAGS } from '../../../src/domain/rights/user-flags.ts';
import { type SteamId64, tryParseSteamReference } from '../../../src/domain/steam-id.ts';
import { loadPlayerRecord } from '../../../src/queries/penalties/player-record.ts';
import { type FoundPlayer, searchPlayers } from '../../../src/queries/player-search.ts';
import { findUserBySteamId, searchUsers } from '../../../src/queries/users/users.ts';
import type { ResolveVanity } from '../../../src/steam/vanity-names.ts';
import { Card } from '../layout/card.tsx';
import { Badges } from '../layout/flags.tsx';
import { SelectField } from '../layout/form-fields.tsx';
import { ListTable } from '../layout/list-table.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import { Moment } from '../layout/moment.tsx';
import { PagesNav } from '../layout/pages-nav.tsx';
import { Avatar, nameOf } from '../layout/person.tsx';
import { readSearchText, SearchButton, SearchField } from '../layout/search-form.tsx';
import { tryParsePositive } from '../request/numbers.ts';
import type { MemberVisit } from '../request/visit.ts';
import { Frame, type Handler, pathOfTab } from './frame.tsx';
import { pathOfPlayer } from './player-link.tsx';

const PATH = pathOfTab('users');
const USERS_PER_PAGE = 25;
const MAX_PLAYERS = 25;

/** The users, searched by name, SteamID or profile address; on the first page also players without an account. */
export const showUsers: Handler = async ({ db, site, resolveVanity }, visit) => {
  const parameters = visit.url.searchParams;
  const query = readSearchText(parameters, 'q');
  const page = tryParsePositive(parameters.get('page')) ?? 1;
  const flag = USER_FLAG_NAMES.find((name) => name === parameters.get('flag'));
  const subject = await resolveQuery(resolveVanity, query);
  const { users, total } = await searchUsers(db, {
    query: subject ?? query,
    flag: flag && USER_FLAGS[flag],
    page,
    perPage: USERS_PER_PAGE,
    now: visit.now,
  });
  const players =
    page === 1 && flag === undefined ? await findPlayersWithoutAccount(db, subject ?? query, visit.now) : [];
  const { moderation: t, account, discord, penalties } = textsOf(visit.locale);
  const flagNames = USER_FLAG_NAMES.map((name) => [name, account.badges[USER_FLAGS[name]]] as const);
  return (
    <Frame site={site} visit={visit} tab="users">
      <Card id="users" title={t.tabs.users} icon="shield" aside={t.found(total)}>
        <form method="get" action={PATH} class="search search-flag">
          <SearchField name="q" label={penalties.find} value={query} hint={t.searchHint} />
          <SelectField name="flag" label={t.flags} options={[['', t.anyFlag], ...flagNames]} value={flag} />
          <SearchButton label={penalties.find} />
        </form>
        <ListTable
          rows={users}
          empty={players.length === 0 && (subject === undefined ? t.unresolved : penalties.nothingFound)}
          columns={[
            [
              t.columns.user,
              (user) => (
                <a class="person" href={pathOfPlayer(user)}>
                  <Avatar name={user.nickname} src={user.avatarUrl} size="small" />
                  <bdi>{nameOf(user, visit.locale)}</bdi>
                </a>
              ),
              'list-words',
            ],
            [account.steamId, ({ steamId64 }) => <code>{steamId64}</code>],
            [
              discord.title,
              ({ discordId, discordUsername }) =>
                discordId === null ? (
                  <span class="hint">{t.noDiscord}</span>
                ) : (
                  <bdi>{discordUsername || discordId}</bdi>
                ),
              'list-words',
            ],
            [t.columns.penalties, (user) => <PenaltyCount player={user} visit={visit} />],
            [
              t.flags,
              (user) => (
                <>
                  {user.blockedAt && <span class="state state-revoked">{t.block.badge}</span>}
                  <Badges
                    user={user}
                    locale={visit.locale}
                    fallback={user.blockedAt ? null : <span class="hint">–</span>}
                  />
                </>
              ),
            ],
            [t.columns.tokens, ({ liveTokens }) => liveTokens],
            [t.columns.joined, ({ createdAt }) => <Moment at={createdAt} visit={visit} />],
          ]}
        />
        <PagesNav visit={visit} page={page} lastPage={Math.ceil(total / USERS_PER_PAGE)} />
      </Card>
      {players.length > 0 && (
        <Card id="players" title={t.playersWithoutAccount} icon="search">
          <ListTable
            rows={players}
            columns={[
              [
                penalties.columns.player,
                (player) => (
                  <span>
                    <a href={pathOfPlayer(player)}>
                      <bdi>
                        {nameOf({ nickname: player.name, steamId64: player.steamId64 }, visit.locale)}
                      </bdi>
                    </a>
                    {player.matchedName !== player.name && (
                      <span class="hint">
                        {' '}
                        <bdi>{player.matchedName}</bdi>
                      </span>
                    )}
                  </span>
                ),
                'list-words',
              ],
              [account.steamId, ({ steamId64 }) => <code>{steamId64}</code>],
              [t.columns.penalties, (player) => <PenaltyCount player={player} visit={visit} />],
              [
                t.columns.seen,
                ({ lastSeenAt }) => lastSeenAt && <Moment at={lastSeenAt} visit={visit} />,
                ({ lastSeenAt }) => (lastSeenAt ? '' : 'list-nothing'),
              ],
            ]}
          />
        </Card>
      )}
    </Frame>
  );
};

/**
 * Resolves a custom profile address to its SteamID; returns other text and addresses that nobody has unchanged.
 * @returns undefined when Steam cannot be asked: without `STEAM_API_KEY`, or while it does not respond.
 */
async function resolveQuery(resolveVanity: ResolveVanity, query: string): Promise<string | undefined> {
  const reference = tryParseSteamReference(query);
  if (!reference || !('vanityName' in reference)) return query;
  try {
    return (await resolveVanity(reference.vanityName)) ?? query;
  } catch (error) {
    if (error instanceof Unavailable) return undefined;
    throw error;
  }
}

/**
 * Finds players without an account by SteamID, or by part of a name in their penalties.
 * @param text matches nobody when empty.
 */
async function findPlayersWithoutAccount(db: Db, text: string, now: Date): Promise<FoundPlayer[]> {
  const reference = tryParseSteamReference(text);
  if (reference && 'steamId64' in reference) return findByRecord(db, reference.steamId64, now);
  return searchPlayers(db, text, { limit: MAX_PLAYERS, now, scope: 'withoutAccount' });
}

async function findByRecord(db: Db, steamId64: SteamId64, now: Date): Promise<FoundPlayer[]> {
  if (await findUserBySteamId(db, steamId64)) return [];
  const record = await loadPlayerRecord(db, steamId64, { page: 1, perPage: 1, now });
  if (record.total === 0) return [];
  const name = record.playerName ?? '';
  return [
    {
      steamId64,
      name,
      matchedName: name,
      penalties: record.total,
      isBanned: record.active.ban > 0,
      lastSeenAt: null,
    },
  ];
}

type CountProps = { player: { penalties: number; isBanned: boolean }; visit: MemberVisit };

/** How many penalties a player has, and whether they are banned now. */
function PenaltyCount({ player, visit }: CountProps): JSX.Element {
  return (
    <span>
      {player.penalties}{' '}
      {player.isBanned && (
        <span class="state state-banned">{textsOf(visit.locale).penalties.inForce.ban}</span>
      )}
    </span>
  );
}
