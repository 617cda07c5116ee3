import type { JSX } from 'hono/jsx/jsx-runtime';
import type { HtmlEscapedString } from 'hono/utils/html';
import type { Db } from '../../../src/db/client.ts';
import { Card } from '../layout/card.tsx';
import { Layout, type Site } from '../layout/layout.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import { PlayerRecordView, readRecordPage } from '../penalties/player-record-view.tsx';
import type { FormProblem } from '../request/forms/form-problem.ts';
import type { MemberRoute } from '../request/member-route.ts';
import type { Notice } from '../request/notice.ts';
import type { MemberVisit } from '../request/visit.ts';
import { DataCard, type DataDeps, dataRoutes } from './data-card.tsx';
import { DiscordCard } from './discord/discord-card.tsx';
import { type DiscordDeps, discordRoutes } from './discord/discord-link.tsx';
import { Profile } from './profile.tsx';
import { RoundSoundCard } from './round-sound/round-sound-card.tsx';
import type { RoundSoundDeps } from './round-sound/round-sound-deps.ts';
import { roundSoundRoutes } from './round-sound/round-sound-routes.tsx';
import { SessionsCard, type SessionsDeps, sessionRoutes } from './sessions-card.tsx';
import { type TokensDeps, tokenRoutes } from './tokens/token-routes.tsx';
import { TokensCard } from './tokens/tokens-card.tsx';

type PenaltiesDeps = {
  db: Db;
  /** Where players can appeal a penalty. */
  appealUrl: string | undefined;
};

export type AccountDeps = { site: Site } & PenaltiesDeps &
  RoundSoundDeps &
  DiscordDeps &
  Omit<TokensDeps, 'showAgain'> &
  SessionsDeps &
  DataDeps;

type AccountPageProps = {
  deps: AccountDeps;
  visit: MemberVisit;
  notice?: Notice | undefined;
  /** The reason why a form of a card was refused. */
  problems?: { tokens?: FormProblem; sound?: FormProblem };
};

/** The account page: the user's profile next to all cards. A new card is mounted here. */
export function AccountPage({ deps, visit, notice, problems = {} }: AccountPageProps): JSX.Element {
  const t = textsOf(visit.locale);
  const cards = [
    { id: 'penalties', title: t.penalties.own },
    { id: 'sound', title: t.roundSound.title },
    { id: 'discord', title: t.discord.title },
    { id: 'tokens', title: t.tokens.title },
    { id: 'sessions', title: t.sessions.title },
    { id: 'data', title: t.data.title },
  ];
  return (
    <Layout
      site={deps.site}
      visit={visit}
      title={t.account.title}
      notice={notice}
      cards={cards.map(({ id }) => id)}
    >
      <div class="columns">
        <Profile db={deps.db} visit={visit} cards={cards} />
        <div class="stack">
          <PenaltiesCard deps={deps} visit={visit} />
          <RoundSoundCard deps={deps} visit={visit} notice={notice} problem={problems.sound} />
          <DiscordCard canLink={deps.discord !== undefined} visit={visit} notice={notice} />
          <TokensCard deps={deps} visit={visit} notice={notice} problem={problems.tokens} />
          <SessionsCard deps={deps} visit={visit} notice={notice} />
          <DataCard visit={visit} notice={notice} />
        </div>
      </div>
    </Layout>
  );
}

/** The routes that the forms of all cards post to. */
export function accountRoutes(deps: AccountDeps): MemberRoute[] {
  return [
    ...tokenRoutes({
      ...deps,
      showAgain: (visit, tokens) => <AccountPage deps={deps} visit={visit} problems={{ tokens }} />,
    }),
    ...roundSoundRoutes({
      ...deps,
      showAgain: (visit, sound) => <AccountPage deps={deps} visit={visit} problems={{ sound }} />,
    }),
    ...discordRoutes(deps),
    ...sessionRoutes(deps),
    ...dataRoutes(deps),
  ];
}

/** The member's own penalties. */
async function PenaltiesCard({
  deps,
  visit,
}: {
  deps: PenaltiesDeps;
  visit: MemberVisit;
}): Promise<HtmlEscapedString> {
  const t = textsOf(visit.locale).penalties;
  const record = await readRecordPage(deps.db, visit.user.steamId64, visit);
  return (
    <Card
      id="penalties"
      title={t.own}
      icon="shield"
      {...(record.total > 0 && { aside: t.count(record.total) })}
    >
      <PlayerRecordView
        record={record}
        visit={visit}
        path="/account"
        words={{ clean: t.ownClean, noneActive: t.ownNoneActive }}
        appealUrl={deps.appealUrl}
      />
    </Card>
  );
}
