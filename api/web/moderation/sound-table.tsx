import type { JSX } from 'hono/jsx/jsx-runtime';
import type { RoundSound } from '../../../src/queries/round-sounds/round-sounds.ts';
import { SoundPlayer } from '../account/round-sound/round-sound-player.tsx';
import { formatLength, titleOf } from '../account/round-sound/sound-words.tsx';
import { ConfirmLink } from '../layout/confirm.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import { Moment } from '../layout/moment.tsx';
import type { MemberVisit } from '../visit/visit.ts';
import { pathOfPlayer } from './find-user.ts';

type SoundTableProps = {
  sounds: RoundSound[];
  visit: MemberVisit;
  /** The path of the page that confirms a sound's removal. */
  removalOf: (sound: RoundSound) => string;
  /** All sounds belong to one player: the player column is omitted. */
  isOfOne?: boolean;
};

/** A table of sounds in any status, with a player and a link to remove each. */
export function SoundTable({ sounds, visit, removalOf, isOfOne = false }: SoundTableProps): JSX.Element {
  const t = textsOf(visit.locale).roundSound;
  const { columns } = t.moderation;
  return (
    <table class="list">
      <thead>
        <tr>
          <th scope="col">{columns.title}</th>
          {!isOfOne && <th scope="col">{columns.player}</th>}
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
              <bdi>{titleOf(sound)}</bdi>
            </th>
            {!isOfOne && (
              <td data-label={columns.player}>
                <a href={pathOfPlayer(sound)}>
                  <code>{sound.steamId64}</code>
                </a>
              </td>
            )}
            <td data-label={columns.state}>
              {sound.status === 'failed' ? t.moderation.failed : t.steps[sound.status]}
            </td>
            <td data-label={columns.since}>
              <Moment at={sound.readyAt ?? sound.createdAt} visit={visit} />
            </td>
            <td data-label={columns.listen}>
              {sound.status === 'ready' && (
                <span class="sound-listen">
                  <SoundPlayer sound={sound} visit={visit} />
                  {sound.durationMs !== null && <span class="hint">{formatLength(sound.durationMs)}</span>}
                </span>
              )}
            </td>
            <td class="list-action">
              <ConfirmLink
                href={removalOf(sound)}
                label={t.moderation.remove}
                fullLabel={t.moderation.removeNamed(titleOf(sound))}
                title={t.moderation.removeTitle}
                lead={t.moderation.removeLead(titleOf(sound), sound.steamId64)}
                visit={visit}
              />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
