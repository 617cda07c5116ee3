import type { JSX } from 'hono/jsx/jsx-runtime';
import { NotFound } from '../../../src/domain/errors.ts';
import { knownEnd, lifterNameOf, liftReasonOf, serverNameOf } from '../../../src/domain/penalty.ts';
import { type SteamId64, UNKNOWN_STEAM_ID } from '../../../src/domain/steam-id.ts';
import { hasVisibleCharacter } from '../../../src/domain/text/visible-text.ts';
import { findPenalty, type Penalty } from '../../../src/queries/penalties/row.ts';
import { shownNameOf } from '../../../src/queries/servers/servers.ts';
import { Card } from '../layout/card.tsx';
import { type Fact, Facts } from '../layout/facts.tsx';
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
import type { MemberVisit } from '../request/visit.ts';
import { Frame, type Handler, pathOfTab } from './frame.tsx';
import { pathOfPlayer } from './player-link.tsx';

/** All that is known about a penalty: also who lifted it and why, and its source. */
export const showPenalty: Handler = async ({ db, site }, visit, { id }) => {
  const penaltyId = tryParsePositive(id ?? null);
  const details = penaltyId === undefined ? undefined : await findPenalty(db, penaltyId, visit.now);
  if (!details) throw new NotFound('no such penalty');
  const { penalty, server, source, isRemoved } = details;
  const { penalties: t, records } = textsOf(visit.locale);
  const { penalty: words } = records;
  const title = numberedType(penalty, t.types);
  const endsAt = knownEnd(penalty, visit.now);
  const end: Fact = [
    penalty.status === 'EXPIRED' ? words.ended : words.ends,
    endsAt && <FullMoment at={endsAt} locale={visit.locale} />,
  ];
  const serverName = serverNameOf({
    serverId: penalty.serverId,
    serverName: server && shownNameOf(server),
  });
  const back = { href: pathOfTab('penalties'), label: words.back };
  return (
    <Frame site={site} visit={visit} tab="penalties" title={title} back={back}>
      <Card id="penalty" title={title} icon="shield">
        <p class="lead">
          <PenaltyStatusText penalty={penalty} visit={visit} />
        </p>
        <Facts
          class="facts facts-inline"
          facts={[
            [t.columns.player, <PlayerOfPenalty penalty={penalty} pathOf={pathOfPlayer} visit={visit} />],
            [t.columns.reason, <ReasonText reason={penalty.reason} visit={visit} />],
            [
              t.columns.admin,
              linkToAdmin(penalty.adminSteamId, <AdminName penalty={penalty} visit={visit} />),
            ],
            [t.columns.issued, <FullMoment at={penalty.createdAt} locale={visit.locale} />],
            [words.duration, lengthOf(penalty, visit)],
            ...(penalty.status === 'UNBANNED' ? factsOfLifting(penalty, visit) : [end]),
            [t.columns.server, <bdi>{serverName ?? t.allServers}</bdi>],
            [
              words.source,
              <>
                {source === null ? words.noSource : <code>{source}</code>}
                {isRemoved && <span class="hint"> {words.removed}</span>}
              </>,
            ],
          ]}
        />
      </Card>
    </Frame>
  );
};

/** When a penalty was lifted, by whom and why: only what its source recorded about that. */
function factsOfLifting(penalty: Penalty, { locale }: MemberVisit): Fact[] {
  const { penalties: t, records } = textsOf(locale);
  const { penalty: words } = records;
  const notRecorded = <span class="hint">{words.notRecorded}</span>;
  const nameOrHint = (text: string) => (hasVisibleCharacter(text) ? <bdi>{text}</bdi> : notRecorded);
  const lifter = nameOrHint(lifterNameOf(penalty, t));
  return [
    [words.lifted, penalty.liftedAt ? <FullMoment at={penalty.liftedAt} locale={locale} /> : notRecorded],
    [words.liftedBy, linkToAdmin(penalty.liftedBySteamId ?? UNKNOWN_STEAM_ID, lifter)],
    [words.liftReason, nameOrHint(liftReasonOf(penalty))],
  ];
}

/** A name with a link to the record of its SteamID, if there is one. */
function linkToAdmin(steamId64: SteamId64, name: JSX.Element): JSX.Element {
  if (steamId64 === UNKNOWN_STEAM_ID) return name;
  return <a href={pathOfPlayer({ steamId64 })}>{name}</a>;
}
