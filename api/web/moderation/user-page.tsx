import type { JSX } from 'hono/jsx/jsx-runtime';
import { NotFound } from '../../../src/domain/errors.ts';
import { steamProfileUrl } from '../../../src/domain/profile-address.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import type { PlayerRecord } from '../../../src/queries/penalties/player-record.ts';
import { findRoundSounds } from '../../../src/queries/round-sounds/round-sounds.ts';
import { type GivenFlag, listGivenFlags } from '../../../src/queries/users/user-flags.ts';
import { findUserBySteamId, type User } from '../../../src/queries/users/users.ts';
import { Badges } from '../layout/badges.tsx';
import type { Site } from '../layout/layout.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import { FullMoment } from '../layout/moment.tsx';
import { Avatar, nameOf } from '../layout/person.tsx';
import { readRecordPage } from '../penalties/player-record-view.tsx';
import type { FormProblem } from '../request/forms/form-problem.ts';
import type { MemberRoute } from '../request/member-route.ts';
import type { Notice, ReadNotice } from '../request/notice.ts';
import { respondWithPage } from '../request/page-response.ts';
import type { MemberVisit } from '../request/visit.ts';
import { isKnown, parsePlayerId } from './find-user.ts';
import { Frame } from './frame.tsx';
import { PlayerPenaltiesCard, PlayerSoundCard, type PlayerSoundDeps } from './player-parts.tsx';
import { BlockCard } from './user-block.tsx';
import { FlagsCard } from './user-flags.tsx';
import { readTokenPage, type TokenPage, UserTokensCard } from './user-tokens.tsx';

export type UserDeps = { site: Site; readNotice: ReadNotice } & PlayerSoundDeps;

/** The route of a player's page, with or without an account. */
export function userRoutes(deps: UserDeps): MemberRoute[] {
  return [
    {
      method: 'GET',
      path: '/moderation/users/:steamid64',
      handle: (visit, { steamid64 }) => showPlayer(deps, visit, steamid64),
    },
  ];
}

async function showPlayer(deps: UserDeps, visit: MemberVisit, id: string | undefined): Promise<Response> {
  const steamId64 = parsePlayerId(id);
  const [user, record, sounds] = await Promise.all([
    findUserBySteamId(deps.db, steamId64),
    readRecordPage(deps.db, steamId64, visit),
    findRoundSounds(deps.db, steamId64),
  ]);
  if (!isKnown({ user, record, sounds })) throw new NotFound('no such player');
  const notice = deps.readNotice(visit);
  return respondWithPage(
    user ? (
      await renderUser(deps, visit, user, { record, notice })
    ) : (
      <PlayerPage deps={deps} visit={visit} notice={notice} steamId64={steamId64} record={record} />
    ),
  );
}

/** @param problem why the block form was refused; the form is then shown again with its values. */
export async function renderUser(
  deps: UserDeps,
  visit: MemberVisit,
  user: User,
  { record, notice, problem }: { record?: PlayerRecord; notice?: Notice | undefined; problem?: FormProblem },
): Promise<JSX.Element> {
  return (
    <UserPage
      deps={deps}
      visit={visit}
      notice={notice}
      problem={problem}
      steamId64={user.steamId64}
      user={user}
      record={record ?? (await readRecordPage(deps.db, user.steamId64, visit))}
      tokens={await readTokenPage(deps.db, user, visit)}
      given={await listGivenFlags(deps.db, user.steamId64)}
    />
  );
}

type PlayerProps = {
  deps: UserDeps;
  visit: MemberVisit;
  notice: Notice | undefined;
  steamId64: SteamId64;
  record: PlayerRecord;
};

/** A player without an account: penalties and sound. */
function PlayerPage({ deps, visit, notice, steamId64, record }: PlayerProps): JSX.Element {
  const m = textsOf(visit.locale).moderation;
  const name = nameOf({ nickname: record.playerName ?? '', steamId64 }, visit.locale);
  return (
    <Frame site={deps.site} visit={visit} notice={notice} cards={['sounds']} tab="users" title={name}>
      <BackToAll visit={visit} />
      <section class="card person-card" aria-labelledby="person">
        <div>
          <h2 id="person">
            <bdi>{name}</bdi>
          </h2>
          <p class="hint">{m.noAccount}</p>
          <dl class="facts facts-inline">
            <SteamProfileFact steamId64={steamId64} visit={visit} />
          </dl>
        </div>
      </section>
      <PlayerPenaltiesCard steamId64={steamId64} record={record} visit={visit} />
      <PlayerSoundCard deps={deps} steamId64={steamId64} user={undefined} visit={visit} notice={notice} />
    </Frame>
  );
}

function BackToAll({ visit }: { visit: MemberVisit }): JSX.Element {
  return (
    <p>
      <a href="/account/moderation">← {textsOf(visit.locale).moderation.back}</a>
    </p>
  );
}

function SteamProfileFact({ steamId64, visit }: { steamId64: SteamId64; visit: MemberVisit }): JSX.Element {
  return (
    <>
      <dt>{textsOf(visit.locale).moderation.columns.steamId}</dt>
      <dd>
        <a href={steamProfileUrl(steamId64)} rel="noreferrer noopener">
          <code>{steamId64}</code>
        </a>
      </dd>
    </>
  );
}

type UserProps = PlayerProps & {
  user: User;
  tokens: TokenPage;
  given: readonly GivenFlag[];
  problem: FormProblem | undefined;
};

/** A user's profile, penalties, sound, tokens and flags, and whether they are blocked. */
function UserPage({ deps, visit, notice, user, record, tokens, given, problem }: UserProps): JSX.Element {
  const m = textsOf(visit.locale).moderation;
  return (
    <Frame
      site={deps.site}
      visit={visit}
      notice={notice}
      cards={['sounds', 'tokens', 'flags', 'block']}
      tab="users"
      title={nameOf(user, visit.locale)}
    >
      <BackToAll visit={visit} />
      <section class="card person-card" aria-labelledby="person">
        <Avatar name={user.nickname} src={user.avatarUrl} size="large" />
        <div>
          <h2 id="person">
            <bdi>{nameOf(user, visit.locale)}</bdi>
          </h2>
          <Badges user={user} locale={visit.locale} />
          <dl class="facts facts-inline">
            <SteamProfileFact steamId64={user.steamId64} visit={visit} />
            <dt>{m.columns.discord}</dt>
            <dd>
              {user.discordId === null ? (
                m.noDiscord
              ) : (
                <>
                  <bdi>{user.discordUsername}</bdi> <code>{user.discordId}</code>
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
      <PlayerPenaltiesCard steamId64={user.steamId64} record={record} visit={visit} />
      <PlayerSoundCard deps={deps} steamId64={user.steamId64} user={user} visit={visit} notice={notice} />
      <UserTokensCard user={user} tokens={tokens} visit={visit} notice={notice} />
      <FlagsCard user={user} given={given} visit={visit} notice={notice} />
      <BlockCard user={user} visit={visit} notice={notice} problem={problem} />
    </Frame>
  );
}
