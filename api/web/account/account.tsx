import type { HtmlEscapedString } from 'hono/utils/html';
import type { RequestDb } from '../../../src/db/client.ts';
import { accountId, steamProfileUrl } from '../../../src/domain/steam-id.ts';
import { listEarlierAppeals } from '../../../src/queries/appeals/limits.ts';
import { type ListedAppeal, listAppealsWithPenalties } from '../../../src/queries/appeals/queue.ts';
import { listGivenFlags } from '../../../src/queries/users/user-flags.ts';
import { Card } from '../layout/card.tsx';
import { CopyButton } from '../layout/copy-button.tsx';
import { Facts } from '../layout/facts.tsx';
import { Badges, GivenFlags } from '../layout/flags.tsx';
import { Layout } from '../layout/layout.tsx';
import { FullMoment } from '../layout/moment.tsx';
import { Avatar, nameOf } from '../layout/person.tsx';
import { textsOf } from '../locales/texts.ts';
import { PlayerRecordView, readRecordPage } from '../penalties/player-record-view.tsx';
import type { UserRoute } from '../request/user-route.ts';
import type { UserVisit } from '../request/visit.ts';
import type { AccountDeps, CardProps } from './account-deps.ts';
import { appealRoutes, appealStepOf, OwnAppeals, QuestionNotice } from './appeals.tsx';
import { DataCard, dataRoutes } from './data-card.tsx';
import { DiscordCard, discordRoutes } from './discord-card.tsx';
import { RoundSoundCard, roundSoundRoutes } from './round-sound-card.tsx';
import { SessionsCard, sessionRoutes } from './sessions-card.tsx';
import { TokensCard, tokenRoutes } from './tokens-card.tsx';

/** The account page: the user's profile next to all cards. A new card is mounted here. */
export async function AccountPage({ deps, visit }: CardProps): Promise<HtmlEscapedString> {
  const appeals = deps.appeals
    ? await listAppealsWithPenalties(deps.db, { playerSteamId: visit.user.steamId64 }, visit.now)
    : [];
  const t = textsOf(visit.language);
  const cards = [
    { id: 'penalties', title: t.penalties.own },
    { id: 'sound', title: t.roundSound.title },
    { id: 'discord', title: t.discord.title },
    { id: 'tokens', title: t.tokens.title },
    { id: 'sessions', title: t.sessions.title },
    { id: 'data', title: t.data.title },
  ];
  return (
    <Layout site={deps.site} visit={visit} title={t.account.title} cards={cards.map(({ id }) => id)}>
      {deps.appeals && <QuestionNotice appeals={appeals} visit={visit} />}
      <div class="columns">
        <Profile db={deps.db} visit={visit} cards={cards} />
        <div class="stack">
          <PenaltiesCard deps={deps} appeals={appeals} visit={visit} />
          <RoundSoundCard deps={deps} visit={visit} />
          <DiscordCard deps={deps} visit={visit} />
          <TokensCard deps={deps} visit={visit} />
          <SessionsCard deps={deps} visit={visit} />
          <DataCard visit={visit} />
        </div>
      </div>
    </Layout>
  );
}

/** The routes that the forms of all cards post to. */
export function accountRoutes(deps: AccountDeps): UserRoute[] {
  const routes = [
    ...tokenRoutes(deps),
    ...roundSoundRoutes(deps),
    ...discordRoutes(deps),
    ...sessionRoutes(deps),
    ...dataRoutes(deps),
    ...appealRoutes(deps),
  ];
  const showAgain = (visit: UserVisit) => <AccountPage deps={deps} visit={visit} />;
  return routes.map((route) => (route.method === 'POST' ? { showAgain, ...route } : route));
}

/** The user's own penalties. */
async function PenaltiesCard({
  deps,
  appeals,
  visit,
}: CardProps & { appeals: readonly ListedAppeal[] }): Promise<HtmlEscapedString> {
  const t = textsOf(visit.language).penalties;
  const { steamId64 } = visit.user;
  const [record, earlier] = await Promise.all([
    readRecordPage(deps.db, steamId64, visit),
    deps.appeals ? listEarlierAppeals(deps.db, steamId64) : [],
  ]);
  return (
    <Card
      id="penalties"
      title={t.own}
      icon="shield"
      aside={record.total > 0 && t.count(record.total)}
      notice={visit.notice}
    >
      <PlayerRecordView
        record={record}
        visit={visit}
        path="/account"
        appealUrl={deps.appealUrl}
        stepOf={appealStepOf(deps, { own: appeals, earlier }, visit)}
      />
      <OwnAppeals appeals={appeals} visit={visit} />
    </Card>
  );
}

type ProfileProps = {
  db: RequestDb;
  visit: UserVisit;
  /** The cards next to the profile, in display order. */
  cards: readonly { id: string; title: string }[];
};

/** The user's name, avatar, flags and ids, and links to the cards. */
async function Profile({ db, visit, cards }: ProfileProps): Promise<HtmlEscapedString> {
  const { user, language } = visit;
  const givenFlags = await listGivenFlags(db, user.steamId64);
  // A flag that was set here needs no explanation.
  const flags = givenFlags.filter(({ source }) => source !== 'hand');
  const t = textsOf(language).account;
  return (
    <aside class="profile">
      <div class="card profile-card">
        <Avatar name={user.nickname} src={user.avatarUrl} size="large" />
        <h1>
          <bdi>{nameOf(user, language)}</bdi>
        </h1>
        <Badges user={user} language={language} />
        {flags.length > 0 && <GivenFlags flags={flags} visit={visit} />}
        <Facts
          class="facts"
          facts={[
            [
              t.steamId,
              <span class="fact-copy">
                <code id="steam-id">{user.steamId64}</code>
                <CopyButton target="steam-id" label={t.steamId} visit={visit} isSmall />
              </span>,
            ],
            [t.accountId, <code>{accountId(user.steamId64)}</code>],
            [t.memberSince, <FullMoment at={user.createdAt} visit={visit} />],
          ]}
        />
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
