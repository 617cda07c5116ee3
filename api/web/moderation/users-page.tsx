import type { JSX } from 'hono/jsx/jsx-runtime';
import type { Db } from '../../../src/db/client.ts';
import { Unavailable } from '../../../src/domain/errors.ts';
import { tryParseSteamReference } from '../../../src/domain/profile-address.ts';
import { USER_FLAG_NAMES, USER_FLAGS, type UserFlag } from '../../../src/domain/rights/user-flags.ts';
import { type ListedUser, searchUsers } from '../../../src/queries/users/users.ts';
import type { ResolveVanity } from '../../../src/steam/vanity-names.ts';
import { Badges } from '../layout/badges.tsx';
import { Card } from '../layout/card.tsx';
import type { Site } from '../layout/layout.tsx';
import { ListTable } from '../layout/list-table.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import { Moment } from '../layout/moment.tsx';
import { PagesNav } from '../layout/pages-nav.tsx';
import { Avatar, nameOf } from '../layout/person.tsx';
import { SearchButton, SelectField } from '../layout/search-form.tsx';
import type { MemberRoute } from '../request/member-route.ts';
import type { Notice, ReadNotice } from '../request/notice.ts';
import { tryParsePositive } from '../request/numbers.ts';
import { respondWithPage } from '../request/page-response.ts';
import type { MemberVisit } from '../request/visit.ts';
import { pathOfPlayer } from './find-user.ts';
import { Frame } from './frame.tsx';
import { findPlayersWithoutAccount, type KnownPlayer, PenaltyCount, PlayersCard } from './players-card.tsx';

export type UsersDeps = { db: Db; site: Site; readNotice: ReadNotice; resolveVanity: ResolveVanity };

const USERS_PER_PAGE = 25;
const MAX_QUERY_LENGTH = 128;
/** The route of the user list, which can be searched by name, SteamID or profile address. */
export function usersRoutes(deps: UsersDeps): MemberRoute[] {
  return [{ method: 'GET', path: '/moderation', handle: (visit) => showUsers(deps, visit) }];
}

async function showUsers(
  { db, site, readNotice, resolveVanity }: UsersDeps,
  visit: MemberVisit,
): Promise<Response> {
  const query = (visit.url.searchParams.get('q') ?? '').slice(0, MAX_QUERY_LENGTH);
  const page = tryParsePositive(visit.url.searchParams.get('page')) ?? 1;
  const flag = USER_FLAG_NAMES.find((name) => name === visit.url.searchParams.get('flag'));
  const subject = await resolveQuery(resolveVanity, query);
  const found = await searchUsers(db, {
    query: subject ?? query,
    flag: flag && USER_FLAGS[flag],
    page,
    perPage: USERS_PER_PAGE,
    now: visit.now,
  });
  const players =
    page === 1 && flag === undefined ? await findPlayersWithoutAccount(db, subject ?? query, visit.now) : [];
  const lastPage = Math.max(1, Math.ceil(found.total / USERS_PER_PAGE));
  return respondWithPage(
    <UsersPage
      site={site}
      visit={visit}
      notice={readNotice(visit)}
      query={query}
      isUnresolved={subject === undefined}
      flag={flag}
      users={found.users}
      total={found.total}
      players={players}
      page={page}
      lastPage={lastPage}
    />,
  );
}

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

type UsersProps = {
  site: Site;
  visit: MemberVisit;
  notice: Notice | undefined;
  query: string;
  /** The query is a custom profile address, and Steam cannot be asked for its SteamID. */
  isUnresolved: boolean;
  flag: UserFlag | undefined;
  users: ListedUser[];
  total: number;
  players: KnownPlayer[];
  page: number;
  lastPage: number;
};

/** The search field and a page of the found users. */
function UsersPage({
  site,
  visit,
  notice,
  query,
  isUnresolved,
  flag,
  users,
  total,
  players,
  page,
  lastPage,
}: UsersProps): JSX.Element {
  const { moderation: t, account } = textsOf(visit.locale);
  const { badges } = account;
  return (
    <Frame site={site} visit={visit} notice={notice} tab="users">
      <Card id="users" title={t.tabs.users} icon="shield" aside={t.found(total)}>
        <form method="get" action="/account/moderation" class="search search-flag">
          <div class="field field-wide">
            <label for="q">{t.search}</label>
            <input
              id="q"
              name="q"
              type="search"
              value={query}
              maxlength={MAX_QUERY_LENGTH}
              autocomplete="off"
              spellcheck={false}
              aria-describedby="q-hint"
            />
            <p class="hint" id="q-hint">
              {t.searchHint}
            </p>
          </div>
          <SelectField
            name="flag"
            label={t.columns.flags}
            options={[
              ['', t.anyFlag],
              ...USER_FLAG_NAMES.map((name) => [name, badges[USER_FLAGS[name]]] as const),
            ]}
            chosen={flag}
          />
          <SearchButton label={t.search} />
        </form>
        {users.length > 0 && <UserTable users={users} visit={visit} />}
        {users.length === 0 && players.length === 0 && (
          <p class="empty">{isUnresolved ? t.unresolved : t.nobody}</p>
        )}
        <PagesNav
          visit={visit}
          page={page}
          lastPage={lastPage}
          addressOf={(number) =>
            `/account/moderation?${new URLSearchParams({
              q: query,
              ...(flag && { flag }),
              page: String(number),
            })}`
          }
        />
      </Card>
      {players.length > 0 && <PlayersCard players={players} visit={visit} />}
    </Frame>
  );
}

function UserTable({ users, visit }: { users: ListedUser[]; visit: MemberVisit }): JSX.Element {
  const t = textsOf(visit.locale).moderation;
  return (
    <ListTable
      rows={users}
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
        [t.columns.steamId, ({ steamId64 }) => <code>{steamId64}</code>],
        [
          t.columns.discord,
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
          t.columns.flags,
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
  );
}
