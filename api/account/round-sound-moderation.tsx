import { NotFound } from '../../src/errors.ts';
import {
  countRoundSounds,
  findRoundSounds,
  listRoundSounds,
  type RoundSound,
} from '../../src/queries/round-sounds.ts';
import { readSteamId } from '../../src/steam-id.ts';
import { Card, ConfirmLink, ConfirmPage, Moment } from './layout.tsx';
import { Frame, OlderPages } from './moderation-frame.tsx';
import { respondWithPage } from './page-response.ts';
import { SoundPlayer } from './round-sound-player.tsx';
import type { RoundSoundDeps } from './round-sound-section.tsx';
import { roundSoundTextsOf } from './round-sound-texts.ts';
import type { AccountRoute } from './section.ts';
import { type MemberVisit, readMemberForm, requireModerator } from './visit.ts';

const LIST = '/account/moderation/sounds';
const SOUNDS_PER_PAGE = 50;

/** Everyone's sounds, for moderators: listen and remove. */
export function moderatedSoundRoutes(deps: RoundSoundDeps): AccountRoute[] {
  const path = '/moderation/sounds/:steamid64/delete';
  const routes: AccountRoute[] = [
    { method: 'GET', path: '/moderation/sounds', handle: (visit) => showSounds(deps, visit) },
    { method: 'GET', path, handle: (visit, { steamid64 }) => askToRemove(deps, visit, steamid64) },
    { method: 'POST', path, handle: (visit, { steamid64 }) => remove(deps, visit, steamid64) },
  ];
  return routes.map((route) => ({
    ...route,
    handle: async (visit, params) => {
      requireModerator(visit);
      return route.handle(visit, params);
    },
  }));
}

async function showSounds(deps: RoundSoundDeps, visit: MemberVisit): Promise<Response> {
  const t = roundSoundTextsOf(visit.locale);
  const given = visit.url.searchParams.get('before') ?? '';
  const before = /^[0-9]{1,9}$/.test(given) ? Number(given) : undefined;
  const found = await listRoundSounds(deps.db, { before, limit: SOUNDS_PER_PAGE + 1 });
  const sounds = found.slice(0, SOUNDS_PER_PAGE);
  const count = await countRoundSounds(deps.db);
  const notice = deps.readNotice(visit);
  return respondWithPage(
    <Frame site={deps.site} visit={visit} notice={notice} cards={['sounds']} tab="sounds">
      <link rel="stylesheet" href={deps.site.assets.url('round-sound.css')} />
      <Card id="sounds" title={t.title} icon="sound" aside={t.moderation.count(count)} notice={notice}>
        {sounds.length === 0 ? (
          <p class="empty">{t.moderation.none}</p>
        ) : (
          <SoundTable sounds={sounds} visit={visit} />
        )}
        <OlderPages
          label={t.title}
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

function SoundTable({ sounds, visit }: { sounds: RoundSound[]; visit: MemberVisit }): JSX.Element {
  const t = roundSoundTextsOf(visit.locale);
  const { columns } = t.moderation;
  return (
    <table class="list">
      <thead>
        <tr>
          <th scope="col">{columns.title}</th>
          <th scope="col">{columns.player}</th>
          <th scope="col">{columns.state}</th>
          <th scope="col">{columns.since}</th>
          <th scope="col">{columns.listen}</th>
          <th scope="col">
            <span class="sr-only">{t.moderation.remove}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {sounds.map((sound) => (
          <tr>
            <th scope="row" class="list-title list-words">
              <bdi safe>{sound.title}</bdi>
            </th>
            <td data-label={columns.player}>
              <a href={`/account/moderation/users/${sound.steamId64}`}>
                <code safe>{sound.steamId64}</code>
              </a>
            </td>
            <td data-label={columns.state}>
              {sound.status === 'failed' ? t.moderation.failed : t.steps[sound.status]}
            </td>
            <td data-label={columns.since}>
              <Moment at={sound.readyAt ?? sound.createdAt} visit={visit} />
            </td>
            <td data-label={columns.listen}>
              {sound.status === 'ready' && <SoundPlayer sound={sound} visit={visit} />}
            </td>
            <td class="list-action">
              <ConfirmLink
                href={`${LIST}/${sound.steamId64}/delete`}
                label={t.moderation.remove}
                fullLabel={t.moderation.removeNamed(sound.title)}
                title={t.moderation.removeTitle}
                lead={t.moderation.removeLead(sound.title, sound.steamId64)}
                visit={visit}
              />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

async function askToRemove(
  { db, site }: RoundSoundDeps,
  visit: MemberVisit,
  id: string | undefined,
): Promise<Response> {
  const t = roundSoundTextsOf(visit.locale).moderation;
  const steamId64 = parsePlayer(id);
  const { ready, latest } = await findRoundSounds(db, steamId64);
  const sound = ready ?? latest;
  if (!sound) throw new NotFound(`${steamId64} has no sound`);
  return respondWithPage(
    <ConfirmPage
      site={site}
      visit={visit}
      title={t.removeTitle}
      lead={t.removeLead(sound.title, steamId64)}
      label={t.remove}
      back={LIST}
    />,
  );
}

async function remove(deps: RoundSoundDeps, visit: MemberVisit, id: string | undefined): Promise<Response> {
  await readMemberForm(deps, visit);
  await deps.removeSound({ steamId64: parsePlayer(id), actorUserId: visit.user.id });
  return deps.redirect(visit, `${LIST}#sounds`, 'sound-removed');
}

function parsePlayer(id: string | undefined) {
  const steamId64 = readSteamId(id ?? '');
  if (!steamId64) throw new NotFound('no such player');
  return steamId64;
}
