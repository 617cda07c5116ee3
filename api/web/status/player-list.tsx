import type { JSX } from 'hono/jsx/jsx-runtime';
import type { ServerView } from '../../../src/live/server-view.ts';
import { textsOf } from '../layout/locales/texts.ts';
import type { Visit } from '../request/visit.ts';

/** The current players, highest score first. */
export function PlayerList({ server, visit }: { server: ServerView; visit: Visit }): JSX.Element {
  const t = textsOf(visit.locale).server;
  if (!server.isOnline) return <p class="empty">{t.whileOffline}</p>;
  const unnamed = server.playersCount - server.players.length;
  if (server.players.length === 0) return <p class="empty">{unnamed > 0 ? t.namesUnknown : t.nobody}</p>;
  return (
    <>
      <table class="players">
        <thead>
          <tr>
            <th scope="col">{t.player}</th>
            <th scope="col">{t.score}</th>
          </tr>
        </thead>
        <tbody>
          {server.players.map(({ name, score }) => (
            <tr>
              <td>
                <bdi>{name}</bdi>
              </td>
              <td>{score}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {unnamed > 0 && <p class="hint">{t.moreUnnamed(unnamed)}</p>}
    </>
  );
}
