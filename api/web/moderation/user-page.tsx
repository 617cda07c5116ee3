import type { JSX } from 'hono/jsx/jsx-runtime';
import type { HtmlEscapedString } from 'hono/utils/html';
import { isAdministrator } from '../../../src/domain/rights/administrator.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import type { PlayerRecord } from '../../../src/queries/penalties/player-record.ts';
import { findRoundSounds } from '../../../src/queries/round-sounds/round-sounds.ts';
import { listGivenFlags } from '../../../src/queries/users/user-flags.ts';
import { findUserBySteamId, type User } from '../../../src/queries/users/users.ts';
import { Card } from '../layout/card.tsx';
import type { Site } from '../layout/layout.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import { nameOf } from '../layout/person.tsx';
import type { SoundStore } from '../pages-deps.ts';
import { PlayerRecordView, readRecordPage } from '../penalties/player-record-view.tsx';
import type { FormProblem } from '../request/forms/form-problem.ts';
import type { MemberRoute } from '../request/member-route.ts';
import type { Notice, ReadNotice } from '../request/notice.ts';
import { respondWithPage } from '../request/page-response.ts';
import type { MemberVisit } from '../request/visit.ts';
import { parsePlayerId, pathOfPlayer } from './find-user.ts';
import { Frame } from './frame.tsx';
import { pathOfPenalty } from './penalties-page.tsx';
import { loadProfile, ProfileCard, type ProfileDeps } from './player-profile.tsx';
import { SoundTable } from './sound-table.tsx';
import { NotesCard, readNotesPage } from './staff-notes.tsx';
import { BlockCard } from './user-block.tsx';
import { FlagsCard, LaterFlagsCard } from './user-flags.tsx';
import { readTokenPage, UserTokensCard } from './user-tokens.tsx';

export type UserDeps = ProfileDeps & {
  site: Site;
  readNotice: ReadNotice;
  sounds: Pick<SoundStore, 'limits'>;
};

/** The route of a player's record, which exists for every SteamID, with or without an account. */
export function userRoutes(deps: UserDeps): MemberRoute[] {
  return [
    {
      method: 'GET',
      path: '/moderation/users/:steamid64',
      handle: async (visit, { steamid64 }) => {
        const notice = deps.readNotice(visit);
        return respondWithPage(await renderPlayer(deps, visit, parsePlayerId(steamid64), { notice }));
      },
    },
  ];
}

type PlayerOptions = {
  notice?: Notice | undefined;
  /** Why a form was refused; it is then shown again with its values. */
  blockProblem?: FormProblem;
  noteProblem?: FormProblem;
};

/** A player's profile, penalties and staff notes; for administrators also their sound, tokens and flags, and whether they are blocked. */
export async function renderPlayer(
  deps: UserDeps,
  visit: MemberVisit,
  steamId64: SteamId64,
  { notice, blockProblem, noteProblem }: PlayerOptions,
): Promise<JSX.Element> {
  const { db, site } = deps;
  const isAdmin = isAdministrator(visit.user);
  const [user, record, given, profile, notes] = await Promise.all([
    findUserBySteamId(db, steamId64),
    readRecordPage(db, steamId64, visit),
    isAdmin ? listGivenFlags(db, steamId64) : [],
    loadProfile(deps, steamId64),
    readNotesPage(db, steamId64, visit),
  ]);
  const name = nameOf({ nickname: user?.nickname || record.playerName || '', steamId64 }, visit.locale);
  return (
    <Frame
      site={site}
      visit={visit}
      notice={notice}
      cards={['notes', 'sounds', 'tokens', 'flags', 'block']}
      tab={isAdmin ? 'users' : 'penalties'}
      title={name}
    >
      <BackToList isAdmin={isAdmin} visit={visit} />
      <ProfileCard steamId64={steamId64} name={name} user={user} profile={profile} visit={visit} />
      <PenaltiesCard steamId64={steamId64} record={record} visit={visit} />
      <NotesCard steamId64={steamId64} notes={notes} visit={visit} notice={notice} problem={noteProblem} />
      {isAdmin && <SoundCard deps={deps} steamId64={steamId64} user={user} visit={visit} notice={notice} />}
      {isAdmin && !user && given.length > 0 && <LaterFlagsCard given={given} visit={visit} />}
      {isAdmin && user && (
        <>
          <UserTokensCard
            user={user}
            tokens={await readTokenPage(db, user, visit)}
            visit={visit}
            notice={notice}
          />
          <FlagsCard user={user} given={given} visit={visit} notice={notice} />
          <BlockCard user={user} visit={visit} notice={notice} problem={blockProblem} />
        </>
      )}
    </Frame>
  );
}

/** Moderators have no list of users. */
function BackToList({ isAdmin, visit }: { isAdmin: boolean; visit: MemberVisit }): JSX.Element {
  const { moderation, records } = textsOf(visit.locale);
  return (
    <p>
      {isAdmin ? (
        <a href="/account/moderation">← {moderation.back}</a>
      ) : (
        <a href="/account/moderation/penalties">← {records.penalty.back}</a>
      )}
    </p>
  );
}

type PenaltiesProps = { steamId64: SteamId64; record: PlayerRecord; visit: MemberVisit };

function PenaltiesCard({ steamId64, record, visit }: PenaltiesProps): JSX.Element {
  const t = textsOf(visit.locale).penalties;
  return (
    <Card
      id="penalties"
      title={t.ofPlayer}
      icon="shield"
      {...(record.total > 0 && { aside: t.count(record.total) })}
    >
      <PlayerRecordView
        record={record}
        visit={visit}
        path={pathOfPlayer({ steamId64 })}
        words={{ clean: t.clean, noneActive: t.noneActive }}
        pathOfPenalty={pathOfPenalty}
      />
    </Card>
  );
}

type SoundProps = {
  deps: UserDeps;
  steamId64: SteamId64;
  /** Undefined for a player without an account. */
  user: User | undefined;
  visit: MemberVisit;
  notice: Notice | undefined;
};

/** A player's round-end sound, and their latest upload if it is being processed or failed. */
async function SoundCard({ deps, steamId64, user, visit, notice }: SoundProps): Promise<HtmlEscapedString> {
  const t = textsOf(visit.locale).roundSound;
  const { ready, latest } = await findRoundSounds(deps.db, steamId64);
  const sounds = [ready, latest].filter((sound) => sound !== undefined);
  return (
    <Card id="sounds" title={t.title} icon="sound" notice={notice}>
      {sounds.length === 0 ? (
        <p class="empty">{t.moderation.noneOfPlayer}</p>
      ) : (
        <SoundTable
          sounds={sounds}
          users={user ? [user] : []}
          audience={deps.sounds.limits.audience}
          visit={visit}
          removalOf={(sound) => `${pathOfPlayer(sound)}/sound/delete`}
          isOfOne
        />
      )}
    </Card>
  );
}
