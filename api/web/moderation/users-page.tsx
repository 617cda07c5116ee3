import type { JSX } from 'hono/jsx/jsx-runtime';
import type { RequestDb } from '../../../src/db/client.ts';
import { USER_FLAG_NAMES, USER_FLAGS } from '../../../src/domain/rights/user-flags.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import { listHeldRemovals } from '../../../src/queries/held-removals.ts';
import { type FoundPlayer, listPlayers, searchPlayers } from '../../../src/queries/player-search.ts';
import { type ListedUser, searchUsers } from '../../../src/queries/users/users.ts';
import { Card } from '../layout/card.tsx';
import { Badges } from '../layout/flags.tsx';
import { SelectField } from '../layout/form-fields.tsx';
import { ListTable } from '../layout/list-table.tsx';
import { Moment } from '../layout/moment.tsx';
import { PagesNav } from '../layout/pages-nav.tsx';
import { Avatar, nameOf } from '../layout/person.tsx';
import { readSearchText, SearchButton, SearchField } from '../layout/search-form.tsx';
import { textsOf } from '../locales/texts.ts';
import { BannedBadge } from '../penalties/penalty-words.tsx';
import { MAX_PLAYERS } from '../penalties/player-choice.tsx';
import { tryParsePositive } from '../request/numbers.ts';
import type { UserVisit } from '../request/visit.ts';
import { Frame, type Handler, pathOfTab } from './frame.tsx';
import { HeldRemovalsCard } from './held-removals-card.tsx';
import { LiftProblemsCard } from './lifts.tsx';
import { findNamedPeople } from './named-people.ts';
import { pathOfPlayer } from './player-link.tsx';

const PATH = pathOfTab('users');
const USERS_PER_PAGE = 25;

/** The users, searched as {@link findNamedPeople} says or by name; on the first page also players without an account. */
export const showUsers: Handler = async ({ db, site, resolveVanity, lifts }, visit) => {
  const parameters = visit.url.searchParams;
  const query = readSearchText(parameters, 'q');
  const page = tryParsePositive(parameters.get('page')) ?? 1;
  const flag = USER_FLAG_NAMES.find((name) => name === parameters.get('flag'));
  const { people, isUnresolved } = await findNamedPeople({ db, resolveVanity }, query, visit);
  const { users, total } = await searchUsers(db, {
    query: people.length === 0 ? query : people,
    flag: flag && USER_FLAGS[flag],
    page,
    perPage: USERS_PER_PAGE,
    now: visit.now,
  });
  const players =
    page === 1 && flag === undefined ? await findPlayers(db, { query, people, users, now: visit.now }) : [];
  const { moderation: t, account, discord, penalties } = textsOf(visit.language);
  const flagNames = USER_FLAG_NAMES.map((name) => [name, account.badges[USER_FLAGS[name]]] as const);
  return (
    <Frame site={site} visit={visit} tab="users">
      <HeldRemovalsCard removals={await listHeldRemovals(db)} visit={visit} />
      <LiftProblemsCard lifts={lifts} visit={visit} />
      <Card id="users" title={t.tabs.users} icon="shield" aside={t.found(total)}>
        <form method="get" action={PATH} class="search search-flag">
          <SearchField name="q" label={penalties.find} value={query} hint={t.searchHint} />
          <SelectField name="flag" label={t.flags} options={[['', t.anyFlag], ...flagNames]} value={flag} />
          <SearchButton label={penalties.find} />
        </form>
        <ListTable
          rows={users}
          empty={players.length === 0 && (isUnresolved ? t.unresolved : penalties.nothingFound)}
          columns={[
            [
              t.columns.user,
              (user) => (
                <a class="person" href={pathOfPlayer(user)}>
                  <Avatar name={user.nickname} src={user.avatarUrl} size="small" />
                  <bdi>{nameOf(user, visit.language)}</bdi>
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
                    language={visit.language}
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
                        {nameOf({ nickname: player.name, steamId64: player.steamId64 }, visit.language)}
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
 * Players without an account: those among `people`, or by part of a name in their penalties.
 * @param people empty if `query` is a name.
 */
async function findPlayers(
  db: RequestDb,
  {
    query,
    people,
    users,
    now,
  }: { query: string; people: readonly SteamId64[]; users: readonly ListedUser[]; now: Date },
): Promise<FoundPlayer[]> {
  if (people.length === 0) {
    return searchPlayers(db, query, { limit: MAX_PLAYERS, now, scope: 'withoutAccount' });
  }
  const players = await listPlayers(db, people, { now });
  return players.filter(
    ({ steamId64, penalties }) => penalties > 0 && !users.some((user) => user.steamId64 === steamId64),
  );
}

type CountProps = { player: { penalties: number; isBanned: boolean }; visit: UserVisit };

/** How many penalties a player has, and whether they are banned now. */
function PenaltyCount({ player, visit }: CountProps): JSX.Element {
  return (
    <span>
      {player.penalties} {player.isBanned && <BannedBadge visit={visit} />}
    </span>
  );
}
