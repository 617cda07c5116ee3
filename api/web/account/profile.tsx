import type { HtmlEscapedString } from 'hono/utils/html';
import type { Db } from '../../../src/db/client.ts';
import { steamProfileUrl } from '../../../src/domain/profile-address.ts';
import { accountId } from '../../../src/domain/steam-id.ts';
import { listGivenFlags } from '../../../src/queries/users/user-flags.ts';
import { Badges } from '../layout/badges.tsx';
import { CopyButton } from '../layout/copy-button.tsx';
import { GivenFlags } from '../layout/flag-sources.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import { FullMoment } from '../layout/moment.tsx';
import { Avatar, nameOf } from '../layout/person.tsx';
import type { MemberVisit } from '../request/visit.ts';

type ProfileProps = {
  db: Db;
  visit: MemberVisit;
  /** The cards next to the profile, in display order. */
  cards: readonly { id: string; title: string }[];
};

/** The user's name, avatar, flags and ids, and links to the cards. */
export async function Profile({ db, visit, cards }: ProfileProps): Promise<HtmlEscapedString> {
  const { user, locale } = visit;
  const given = await listGivenFlags(db, user.steamId64);
  const t = textsOf(locale).account;
  return (
    <aside class="profile">
      <div class="card profile-card">
        <Avatar name={user.nickname} src={user.avatarUrl} size="large" />
        <h1>
          <bdi>{nameOf(user, locale)}</bdi>
        </h1>
        <Badges user={user} locale={locale} />
        {given.length > 0 && <GivenFlags given={given} locale={locale} />}
        <dl class="facts">
          <dt>{t.steamId}</dt>
          <dd class="fact-copy">
            <code id="steam-id">{user.steamId64}</code>
            <CopyButton target="steam-id" label={t.steamId} visit={visit} isSmall />
          </dd>
          <dt>{t.accountId}</dt>
          <dd>
            <code>{accountId(user.steamId64)}</code>
          </dd>
          <dt>{t.memberSince}</dt>
          <dd>
            <FullMoment at={user.createdAt} locale={locale} />
          </dd>
        </dl>
        <a class="button button-quiet" href={steamProfileUrl(user.steamId64)} rel="noreferrer noopener">
          {t.steamProfile}
        </a>
      </div>
      <nav class="contents" aria-label={t.onThisPage}>
        <ul>
          {cards.map(({ id, title }) => (
            <li>
              <a href={`#${id}`}>{title}</a>
            </li>
          ))}
        </ul>
      </nav>
    </aside>
  );
}
