import type { ListedUser } from '../../src/queries/accounts.ts';
import { Icon } from './icons.tsx';
import { Avatar, attribute, Card, Moment, nameOf, type Site } from './layout.tsx';
import { Badges, Frame } from './moderation-frame.tsx';
import type { Notice } from './page-response.ts';
import { textsOf } from './texts.ts';
import type { MemberVisit } from './visit.ts';

type UsersProps = {
  site: Site;
  visit: MemberVisit;
  notice: Notice | undefined;
  query: string;
  users: ListedUser[];
  total: number;
  page: number;
  lastPage: number;
};

/** The list of users, a page of it, with the search field above. */
export function UsersPage({
  site,
  visit,
  notice,
  query,
  users,
  total,
  page,
  lastPage,
}: UsersProps): JSX.Element {
  const t = textsOf(visit.locale).moderation;
  return (
    <Frame site={site} visit={visit} notice={notice} tab="users">
      <Card id="users" title={t.users} icon="shield" aside={t.found(total)}>
        <form method="get" action="/account/moderation" class="search">
          <div class="field field-wide">
            <label for="q">{t.search}</label>
            <input
              id="q"
              name="q"
              type="search"
              value={attribute(query)}
              maxlength="128"
              autocomplete="off"
              spellcheck="false"
              aria-describedby="q-hint"
            />
            <p class="hint" id="q-hint">
              {t.searchHint}
            </p>
          </div>
          <button class="button button-primary" type="submit">
            <Icon name="search" />
            {t.search}
          </button>
        </form>
        {users.length === 0 ? <p class="empty">{t.nobody}</p> : <UserTable users={users} visit={visit} />}
        {lastPage > 1 && <Pages visit={visit} query={query} page={page} lastPage={lastPage} />}
      </Card>
    </Frame>
  );
}

function UserTable({ users, visit }: { users: ListedUser[]; visit: MemberVisit }): JSX.Element {
  const t = textsOf(visit.locale).moderation;
  return (
    <table class="list">
      <thead>
        <tr>
          <th scope="col">{t.columns.user}</th>
          <th scope="col">{t.columns.steamId}</th>
          <th scope="col">{t.columns.discord}</th>
          <th scope="col">{t.columns.flags}</th>
          <th scope="col">{t.columns.tokens}</th>
          <th scope="col">{t.columns.joined}</th>
        </tr>
      </thead>
      <tbody>
        {users.map((user) => (
          <tr>
            <th scope="row" class="list-title list-words">
              <a class="person" href={`/account/moderation/users/${user.steamId64}`}>
                <Avatar user={user} size="small" />
                <bdi safe>{nameOf(user, visit.locale)}</bdi>
              </a>
            </th>
            <td data-label={t.columns.steamId}>
              <code safe>{user.steamId64}</code>
            </td>
            <td data-label={t.columns.discord} class="list-words">
              {user.discordId === null ? (
                <span class="hint">{t.noDiscord}</span>
              ) : (
                <span safe>{user.discordUsername || user.discordId}</span>
              )}
            </td>
            <td data-label={t.columns.flags}>
              <Badges user={user} locale={visit.locale} />
            </td>
            <td data-label={t.columns.tokens}>{user.liveTokens}</td>
            <td data-label={t.columns.joined}>
              <Moment at={user.createdAt} visit={visit} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

type PagesProps = { visit: MemberVisit; query: string; page: number; lastPage: number };

function Pages({ visit, query, page, lastPage }: PagesProps): JSX.Element {
  const t = textsOf(visit.locale);
  const address = (number: number) =>
    attribute(`/account/moderation?${new URLSearchParams({ q: query, page: String(number) })}`);
  return (
    <nav class="pages" aria-label={t.page(page, lastPage)}>
      {page > 1 && (
        <a class="button button-quiet" rel="prev" href={address(Math.min(page, lastPage + 1) - 1)}>
          {t.previous}
        </a>
      )}
      <span>{t.page(page, lastPage)}</span>
      {page < lastPage && (
        <a class="button button-quiet" rel="next" href={address(page + 1)}>
          {t.next}
        </a>
      )}
    </nav>
  );
}
