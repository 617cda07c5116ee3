import { USER_FLAGS } from '../../src/queries/accounts.ts';
import type { ApiToken } from '../../src/queries/api-tokens.ts';
import type { User } from '../../src/queries/users.ts';
import { Avatar, Card, CsrfField, FullMoment, nameOf, type Site } from './layout.tsx';
import { Badges, Frame, OlderPages } from './moderation-frame.tsx';
import type { Notice } from './page-response.ts';
import { textsOf } from './texts.ts';
import { isLiveToken, RevokeTokenLink, TokenTimeHeads, TokenTimes } from './token-table.tsx';
import type { MemberVisit } from './visit.ts';

type UserProps = {
  site: Site;
  visit: MemberVisit;
  notice: Notice | undefined;
  user: User;
  tokens: TokenPage;
  isFixedOwner: boolean;
};

/** One page of a user's tokens. */
export type TokenPage = {
  tokens: ApiToken[];
  /** Whether it is the first page, with the live ones. */
  isNewest: boolean;
  /** The id from which on the next page goes back; undefined on the last one. */
  older: number | undefined;
};

/** One user: links, rights, tokens and sessions, each with what a moderator may do about it. */
export function UserPage({ site, visit, notice, user, tokens, isFixedOwner }: UserProps): JSX.Element {
  const t = textsOf(visit.locale);
  const m = t.moderation;
  const path = `/account/moderation/users/${user.steamId64}`;
  return (
    <Frame site={site} visit={visit} notice={notice} cards={['tokens', 'flags']} tab="users">
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
      <Card id="tokens" title={m.tokensOf} icon="key" notice={notice}>
        {tokens.tokens.length === 0 ? (
          <p class="empty">{m.noTokens}</p>
        ) : (
          <TokenTable user={user} tokens={tokens.tokens} visit={visit} />
        )}
        <OlderPages
          label={m.tokensOf}
          newest={tokens.isNewest ? undefined : { href: `${path}#tokens`, label: m.newestTokens }}
          older={
            tokens.older === undefined
              ? undefined
              : { href: `${path}?before=${tokens.older}#tokens`, label: m.olderTokens }
          }
        />
      </Card>
      <Card id="flags" title={m.flags} icon="shield" notice={notice}>
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
            <th scope="row" class="list-title list-words" safe>
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
