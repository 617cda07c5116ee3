import type { JSX } from 'hono/jsx/jsx-runtime';
import { NotFound } from '../../../src/domain/errors.ts';
import { knownEnd, lifterNameOf, liftReasonOf, serverNameOf } from '../../../src/domain/penalty.ts';
import { type SteamId64, UNKNOWN_STEAM_ID } from '../../../src/domain/steam-id.ts';
import { hasVisibleCharacter } from '../../../src/domain/text/visible-text.ts';
import { findPenalty, type Penalty } from '../../../src/queries/penalties/row.ts';
import { shownNameOf } from '../../../src/queries/servers/servers.ts';
import { Card } from '../layout/card.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import { FullMoment } from '../layout/moment.tsx';
import {
  AdminName,
  lengthOf,
  numberedType,
  PenaltyStatusText,
  PlayerOfPenalty,
  ReasonText,
} from '../penalties/penalty-words.tsx';
import { tryParsePositive } from '../request/numbers.ts';
import { respondWithPage } from '../request/page-response.ts';
import type { MemberVisit } from '../request/visit.ts';
import { Frame, type ModerationDeps, pathOfTab } from './frame.tsx';
import { pathOfPlayer } from './player-link.tsx';

/** All that is known about a penalty: also who lifted it and why, and its source. */
export async function showPenalty(
  { db, site }: ModerationDeps,
  visit: MemberVisit,
  { id }: Record<string, string>,
): Promise<Response> {
  const penaltyId = tryParsePositive(id ?? null);
  const details = penaltyId === undefined ? undefined : await findPenalty(db, penaltyId, visit.now);
  if (!details) throw new NotFound('no such penalty');
  const { penalty, server, source, isRemoved } = details;
  const { penalties: t, records } = textsOf(visit.locale);
  const { penalty: words } = records;
  const title = numberedType(penalty, t.types);
  const end = knownEnd(penalty, visit.now);
  const serverName = serverNameOf({
    serverId: penalty.serverId,
    serverName: server && shownNameOf(server),
  });
  const back = { href: pathOfTab('penalties'), label: words.back };
  return respondWithPage(
    <Frame site={site} visit={visit} tab="penalties" title={title} back={back}>
      <Card id="penalty" title={title} icon="shield">
        <p class="lead">
          <PenaltyStatusText penalty={penalty} visit={visit} />
        </p>
        <dl class="facts facts-inline">
          <dt>{t.columns.player}</dt>
          <dd>
            <PlayerOfPenalty
              penalty={penalty}
              pathOf={(steamId64) => pathOfPlayer({ steamId64 })}
              visit={visit}
            />
          </dd>
          <dt>{t.columns.reason}</dt>
          <dd>
            <ReasonText reason={penalty.reason} visit={visit} />
          </dd>
          <dt>{t.columns.admin}</dt>
          <dd>
            <LinkedAdmin steamId64={penalty.adminSteamId}>
              <AdminName penalty={penalty} visit={visit} />
            </LinkedAdmin>
          </dd>
          <dt>{t.columns.issued}</dt>
          <dd>
            <FullMoment at={penalty.createdAt} locale={visit.locale} />
          </dd>
          <dt>{words.duration}</dt>
          <dd>{lengthOf(penalty, visit)}</dd>
          {end && penalty.status !== 'UNBANNED' && (
            <>
              <dt>{penalty.status === 'EXPIRED' ? words.ended : words.ends}</dt>
              <dd>
                <FullMoment at={end} locale={visit.locale} />
              </dd>
            </>
          )}
          {penalty.status === 'UNBANNED' && <Lifting penalty={penalty} visit={visit} />}
          <dt>{t.columns.server}</dt>
          <dd>
            <bdi>{serverName ?? t.allServers}</bdi>
          </dd>
          <dt>{words.source}</dt>
          <dd>
            {source === null ? words.noSource : <code>{source}</code>}
            {isRemoved && <span class="hint"> {words.removed}</span>}
          </dd>
        </dl>
      </Card>
    </Frame>,
  );
}

/** When a penalty was lifted, by whom and why: only what its source recorded about that. */
function Lifting({ penalty, visit }: { penalty: Penalty; visit: MemberVisit }): JSX.Element {
  const { penalties: t, records } = textsOf(visit.locale);
  const { penalty: words } = records;
  const lifter = lifterNameOf(penalty, t);
  const liftReason = liftReasonOf(penalty);
  const notRecorded = <span class="hint">{words.notRecorded}</span>;
  return (
    <>
      <dt>{words.lifted}</dt>
      <dd>{penalty.liftedAt ? <FullMoment at={penalty.liftedAt} locale={visit.locale} /> : notRecorded}</dd>
      <dt>{words.liftedBy}</dt>
      <dd>
        <LinkedAdmin steamId64={penalty.liftedBySteamId ?? UNKNOWN_STEAM_ID}>
          {hasVisibleCharacter(lifter) ? <bdi>{lifter}</bdi> : notRecorded}
        </LinkedAdmin>
      </dd>
      <dt>{words.liftReason}</dt>
      <dd>{hasVisibleCharacter(liftReason) ? <bdi>{liftReason}</bdi> : notRecorded}</dd>
    </>
  );
}

type LinkProps = { steamId64: SteamId64; children: JSX.Element };

/** A name with a link to the record of its SteamID, if there is one. */
function LinkedAdmin({ steamId64, children }: LinkProps): JSX.Element {
  if (steamId64 === UNKNOWN_STEAM_ID) return children;
  return <a href={pathOfPlayer({ steamId64 })}>{children}</a>;
}
