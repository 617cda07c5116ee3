import type { Children } from '@kitajs/html';
import { type ListedUser, USER_FLAGS } from '../../src/queries/accounts.ts';
import type { ApiToken } from '../../src/queries/api-tokens.ts';
import { AUDIT_ACTIONS, type AuditEntry } from '../../src/queries/audit-log.ts';
import type { User } from '../../src/queries/users.ts';
import { Icon } from './icons.tsx';
import {
  Avatar,
  attribute,
  Card,
  CsrfField,
  FullMoment,
  Layout,
  Moment,
  nameOf,
  type Site,
} from './layout.tsx';
import { formatInstant, type Locale } from './locale.ts';
import { type NoticeKey, textsOf } from './texts.ts';
import { isLiveToken, RevokeTokenLink, TokenTimeHeads, TokenTimes } from './tokens-section.tsx';
import type { MemberVisit } from './visit.ts';

type FrameProps = {
  site: Site;
  visit: MemberVisit;
  notice?: NoticeKey | undefined;
  tab: 'users' | 'audit' | 'sounds';
  children?: Children;
};

/** What every page of the moderation has in common. */
export function Frame({ site, visit, notice, tab, children }: FrameProps): JSX.Element {
  const t = textsOf(visit.locale).moderation;
  return (
    <Layout site={site} visit={visit} title={t.title} notice={notice}>
      <div class="page-head">
        <h1>{t.title}</h1>
        <nav class="tabs" aria-label={t.title}>
          <ul>
            <li>
              <a href="/account/moderation" aria-current={tab === 'users' ? 'page' : undefined}>
                {t.users}
              </a>
            </li>
            <li>
              <a href="/account/moderation/audit" aria-current={tab === 'audit' ? 'page' : undefined}>
                {t.audit}
              </a>
            </li>
            <li>
              <a href="/account/moderation/sounds" aria-current={tab === 'sounds' ? 'page' : undefined}>
                {t.sounds}
              </a>
            </li>
          </ul>
        </nav>
      </div>
      {children}
    </Layout>
  );
}

type UsersProps = {
  site: Site;
  visit: MemberVisit;
  notice: NoticeKey | undefined;
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
            <th scope="row" class="list-title">
              <a class="person" href={`/account/moderation/users/${user.steamId64}`}>
                <Avatar user={user} size="small" />
                <bdi safe>{nameOf(user, visit.locale)}</bdi>
              </a>
            </th>
            <td data-label={t.columns.steamId}>
              <code safe>{user.steamId64}</code>
            </td>
            <td data-label={t.columns.discord}>
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

function Badges({ user, locale }: { user: User; locale: Locale }): JSX.Element {
  const names = textsOf(locale).account.badges;
  const flags = USER_FLAGS.filter((flag) => user[flag]);
  if (flags.length === 0) return <span class="hint">–</span>;
  return (
    <ul class="badges">
      {flags.map((flag) => (
        <li class={`badge badge-${flag}`}>{names[flag]}</li>
      ))}
    </ul>
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

type UserProps = {
  site: Site;
  visit: MemberVisit;
  notice: NoticeKey | undefined;
  user: User;
  tokens: ApiToken[];
  isFixedOwner: boolean;
};

/** One user: links, rights, tokens and sessions, each with what a moderator may do about it. */
export function UserPage({ site, visit, notice, user, tokens, isFixedOwner }: UserProps): JSX.Element {
  const t = textsOf(visit.locale);
  const m = t.moderation;
  return (
    <Frame site={site} visit={visit} notice={notice} tab="users">
      <p>
        <a href="/account/moderation">← {m.back}</a>
      </p>
      <section class="card person-card" aria-labelledby="person">
        <Avatar user={user} size="large" />
        <div>
          <h2 id="person">
            <bdi safe>{nameOf(user, visit.locale)}</bdi>
          </h2>
          <Badges user={user} locale={visit.locale} />
          <dl class="facts facts-inline">
            <dt>{m.columns.steamId}</dt>
            <dd>
              <a href={`https://steamcommunity.com/profiles/${user.steamId64}`} rel="noreferrer noopener">
                <code safe>{user.steamId64}</code>
              </a>
            </dd>
            <dt>{m.columns.discord}</dt>
            <dd>
              {user.discordId === null ? (
                m.noDiscord
              ) : (
                <>
                  <span safe>{user.discordUsername}</span> <code safe>{user.discordId}</code>
                </>
              )}
            </dd>
            <dt>{m.columns.joined}</dt>
            <dd>
              <FullMoment at={user.createdAt} locale={visit.locale} />
            </dd>
          </dl>
        </div>
      </section>
      <Card id="tokens" title={m.tokensOf} icon="key">
        {tokens.length === 0 ? (
          <p class="empty">{m.noTokens}</p>
        ) : (
          <TokenTable user={user} tokens={tokens} visit={visit} />
        )}
      </Card>
      <Card id="flags" title={m.flags} icon="shield">
        <FlagsForm user={user} visit={visit} isFixedOwner={isFixedOwner} />
      </Card>
    </Frame>
  );
}

function TokenTable({
  user,
  tokens,
  visit,
}: {
  user: User;
  tokens: ApiToken[];
  visit: MemberVisit;
}): JSX.Element {
  const t = textsOf(visit.locale).tokens;
  const m = textsOf(visit.locale).moderation;
  return (
    <table class="list">
      <thead>
        <tr>
          <th scope="col">{t.columns.name}</th>
          <th scope="col">{t.columns.token}</th>
          <th scope="col">{m.state}</th>
          <TokenTimeHeads visit={visit} />
        </tr>
      </thead>
      <tbody>
        {tokens.map((token) => (
          <tr>
            <th scope="row" class="list-title" safe>
              {token.name}
            </th>
            <td data-label={t.columns.token}>
              <code safe>{`…${token.lastFour}`}</code>
            </td>
            <td data-label={m.state}>
              <span class={`state state-${stateOf(token, visit.now)}`}>
                {m.tokenState[stateOf(token, visit.now)]}
              </span>
            </td>
            <TokenTimes token={token} visit={visit} />
            <td class="list-action">
              {isLiveToken(token, visit.now) && (
                <RevokeTokenLink
                  token={token}
                  href={`/account/moderation/users/${user.steamId64}/tokens/${token.id}/revoke`}
                  visit={visit}
                />
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function stateOf(token: ApiToken, now: Date): 'live' | 'expired' | 'revoked' {
  if (token.revokedAt !== null) return 'revoked';
  return isLiveToken(token, now) ? 'live' : 'expired';
}

type FlagsProps = { user: User; visit: MemberVisit; isFixedOwner: boolean };

function FlagsForm({ user, visit, isFixedOwner }: FlagsProps): JSX.Element {
  const t = textsOf(visit.locale).moderation;
  const isSelf = user.id === visit.user.id;
  const mayEdit = visit.user.isOwner;
  const isKept = (flag: (typeof USER_FLAGS)[number]) =>
    (flag === 'isOwner' && isSelf) || (isFixedOwner && (flag === 'isOwner' || flag === 'isAdmin'));
  return (
    <form method="post" action={`/account/moderation/users/${user.steamId64}/flags`}>
      <CsrfField visit={visit} />
      <fieldset class="flags" disabled={!mayEdit}>
        <legend class="sr-only">{t.flags}</legend>
        {USER_FLAGS.map((flag) => (
          <label class="check">
            <input type="checkbox" name={flag} checked={user[flag]} disabled={isKept(flag)} />
            <span>{t.flagNames[flag]}</span>
          </label>
        ))}
      </fieldset>
      {isFixedOwner && <p class="hint">{t.fixedOwner}</p>}
      {isSelf && !isFixedOwner && user.isOwner && <p class="hint">{t.ownOwner}</p>}
      {mayEdit ? (
        <button class="button button-primary" type="submit">
          {t.save}
        </button>
      ) : (
        <p class="hint">{t.ownersOnly}</p>
      )}
    </form>
  );
}

type AuditProps = {
  site: Site;
  visit: MemberVisit;
  entries: AuditEntry[];
  hasOlder: boolean;
  isNewest: boolean;
};

/** Entries of the audit log, newest first, and the way to older ones. */
export function AuditPage({ site, visit, entries, hasOlder, isNewest }: AuditProps): JSX.Element {
  const t = textsOf(visit.locale).moderation;
  const last = entries.at(-1);
  return (
    <Frame site={site} visit={visit} tab="audit">
      <Card id="audit" title={t.audit} icon="info">
        {entries.length === 0 ? (
          <p class="empty">{t.noEntries}</p>
        ) : (
          <AuditTable entries={entries} visit={visit} />
        )}
        {(!isNewest || hasOlder) && (
          <nav class="pages" aria-label={t.audit}>
            {!isNewest && (
              <a class="button button-quiet" href="/account/moderation/audit">
                {t.newest}
              </a>
            )}
            {hasOlder && last && (
              <a class="button button-quiet" href={`/account/moderation/audit?before=${last.id}`}>
                {t.older}
              </a>
            )}
          </nav>
        )}
      </Card>
    </Frame>
  );
}

function AuditTable({ entries, visit }: { entries: AuditEntry[]; visit: MemberVisit }): JSX.Element {
  const t = textsOf(visit.locale).moderation;
  return (
    <table class="list">
      <thead>
        <tr>
          <th scope="col">{t.auditColumns.what}</th>
          <th scope="col">{t.auditColumns.who}</th>
          <th scope="col">{t.auditColumns.whom}</th>
          <th scope="col">{t.auditColumns.details}</th>
          <th scope="col">{t.auditColumns.at}</th>
        </tr>
      </thead>
      <tbody>
        {entries.map((entry) => (
          <tr>
            <th scope="row" class="list-title" safe>
              {wordsFor(entry.action, visit.locale)}
            </th>
            <td data-label={t.auditColumns.who}>
              {entry.actor ? (
                <a href={`/account/moderation/users/${entry.actor.steamId64}`}>
                  <bdi safe>{nameOf(entry.actor, visit.locale)}</bdi>
                </a>
              ) : (
                <span class="hint">{t.operator}</span>
              )}
            </td>
            <td data-label={t.auditColumns.whom}>
              {/^[0-9]{17}$/.test(entry.subject) ? (
                <a href={`/account/moderation/users/${entry.subject}`}>
                  <code safe>{entry.subject}</code>
                </a>
              ) : (
                <span safe>{entry.subject}</span>
              )}
            </td>
            <td data-label={t.auditColumns.details} class={hasDetails(entry) ? 'details' : 'list-nothing'}>
              <span safe>{describe(entry.details, visit.locale)}</span>
            </td>
            <td data-label={t.auditColumns.at}>
              <FullMoment at={entry.at} locale={visit.locale} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function hasDetails(entry: AuditEntry): boolean {
  return Object.keys(entry.details).length > 0;
}

function wordsFor(action: string, locale: Locale): string {
  const known = AUDIT_ACTIONS.find((name) => name === action);
  return known ? textsOf(locale).moderation.actions[known] : action;
}

/** `name: stats website · expires: 19 Feb 2027, 03:27 UTC` */
function describe(details: Record<string, unknown>, locale: Locale): string {
  const labels: Record<string, string> = textsOf(locale).moderation.detailLabels;
  const isInstant = /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/;
  return Object.entries(details)
    .map(([key, value]) => {
      const text = value === null ? '–' : String(value);
      return `${labels[key] ?? key}: ${isInstant.test(text) ? formatInstant(locale, new Date(text)) : text}`;
    })
    .join(' · ');
}
