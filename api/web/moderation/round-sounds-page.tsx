import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import { isolate } from '../../../src/domain/text/isolate.ts';
import {
  countRoundSounds,
  findRoundSounds,
  listRoundSounds,
} from '../../../src/queries/round-sounds/round-sounds.ts';
import { listUsersBySteamId } from '../../../src/queries/users/users.ts';
import { removeSoundOf } from '../account/round-sound-card.tsx';
import { titleOf } from '../account/sound-view.tsx';
import { Card } from '../layout/card.tsx';
import { ConfirmPage } from '../layout/confirm.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import type { AccountDeps } from '../pages-deps.ts';
import type { MemberRoute } from '../request/member-route.ts';
import type { ReadNotice } from '../request/notice.ts';
import { tryParseRowId } from '../request/numbers.ts';
import { respondWithPage } from '../request/page-response.ts';
import type { MemberVisit } from '../request/visit.ts';
import { parsePlayerId, pathOfPlayer } from './find-user.ts';
import { Frame, OlderPages } from './frame.tsx';
import { SoundTable } from './sound-table.tsx';

export type RoundSoundsDeps = Pick<AccountDeps, 'db' | 'site' | 'redirect' | 'sounds'> & {
  readNotice: ReadNotice;
};

const LIST = '/account/moderation/sounds';
const SOUNDS_PER_PAGE = 50;

/** Routes that list all sounds and remove them; each removal returns to the page that it was started from. */
export function roundSoundsRoutes(deps: RoundSoundsDeps): MemberRoute[] {
  return [
    { method: 'GET', path: '/moderation/sounds', handle: (visit) => showSounds(deps, visit) },
    ...removalRoutes(deps, {
      path: '/moderation/sounds/:steamid64/delete',
      backOf: () => `${LIST}#sounds`,
    }),
    ...removalRoutes(deps, {
      path: '/moderation/users/:steamid64/sound/delete',
      backOf: (steamId64) => `${pathOfPlayer({ steamId64 })}#sounds`,
    }),
  ];
}

/** The path that confirms and performs a removal, and the page to return to. */
type Removal = { path: string; backOf: (steamId64: SteamId64) => string };

function removalRoutes(deps: RoundSoundsDeps, { path, backOf }: Removal): MemberRoute[] {
  const targetOf = (id: string | undefined) => {
    const steamId64 = parsePlayerId(id);
    return { steamId64, back: backOf(steamId64) };
  };
  return [
    {
      method: 'GET',
      path,
      handle: (visit, { steamid64 }) => showRemoveConfirmation(deps, visit, targetOf(steamid64)),
    },
    {
      method: 'POST',
      path,
      handle: async (visit, { steamid64 }) => {
        const { steamId64, back } = targetOf(steamid64);
        return deps.redirect(visit, back, await removeSoundOf(deps, steamId64, visit));
      },
    },
  ];
}

async function showSounds(deps: RoundSoundsDeps, visit: MemberVisit): Promise<Response> {
  const { roundSound: t, moderation } = textsOf(visit.locale);
  const before = tryParseRowId(visit.url.searchParams.get('before'));
  const found = await listRoundSounds(deps.db, { before, limit: SOUNDS_PER_PAGE + 1 });
  const sounds = found.slice(0, SOUNDS_PER_PAGE);
  const count = await countRoundSounds(deps.db);
  const players = sounds.map(({ steamId64 }) => steamId64);
  const users = await listUsersBySteamId(deps.db, players, visit.now);
  const notice = deps.readNotice(visit);
  return respondWithPage(
    <Frame site={deps.site} visit={visit} notice={notice} cards={['sounds']} tab="sounds">
      <Card
        id="sounds"
        title={moderation.tabs.sounds}
        icon="sound"
        aside={t.moderation.count(count)}
        notice={notice}
      >
        {sounds.length === 0 ? (
          <p class="empty">{before === undefined ? t.moderation.none : t.moderation.noneOlder}</p>
        ) : (
          <SoundTable
            sounds={sounds}
            users={users}
            audience={deps.sounds.limits.audience}
            visit={visit}
            removalOf={({ steamId64 }) => `${LIST}/${steamId64}/delete`}
          />
        )}
        <OlderPages
          label={moderation.tabs.sounds}
          newest={before === undefined ? undefined : { href: LIST, label: t.moderation.newest }}
          older={
            found.length > SOUNDS_PER_PAGE
              ? { href: `${LIST}?before=${sounds.at(-1)?.id ?? 0}`, label: t.moderation.older }
              : undefined
          }
        />
      </Card>
    </Frame>,
  );
}

async function showRemoveConfirmation(
  { db, site, redirect }: RoundSoundsDeps,
  visit: MemberVisit,
  { steamId64, back }: { steamId64: SteamId64; back: string },
): Promise<Response> {
  const t = textsOf(visit.locale).roundSound.moderation;
  const { ready, latest } = await findRoundSounds(db, steamId64);
  const sound = ready ?? latest;
  if (!sound) return redirect(visit, back, 'sound-already-removed');
  return respondWithPage(
    <ConfirmPage
      site={site}
      visit={visit}
      title={t.removeTitle}
      lead={t.removeLead(isolate(titleOf(sound)), steamId64)}
      label={t.remove}
      back={back}
    />,
  );
}
