import type { JSX } from 'hono/jsx/jsx-runtime';
import {
  PENALTY_STATUSES,
  PENALTY_TYPES,
  type PenaltyStatus,
  type PenaltyType,
} from '../../../src/domain/penalty.ts';
import { tryParseSteamReference } from '../../../src/domain/profile-address.ts';
import { UNKNOWN_STEAM_ID } from '../../../src/domain/steam-id.ts';
import { hasVisibleCharacter } from '../../../src/domain/text/visible-text.ts';
import type { Penalty } from '../../../src/queries/penalties/row.ts';
import type { FoundPlayer } from '../../../src/queries/player-search.ts';
import { Icon } from '../layout/icons.tsx';
import { Layout, type Site } from '../layout/layout.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import { Moment } from '../layout/moment.tsx';
import { PagesNav } from '../layout/pages-nav.tsx';
import { nameOf } from '../layout/person.tsx';
import type { Visit } from '../request/visit.ts';
import { AdminName, EndOfPenalty, ReasonText, withoutEnd } from './penalty-words.tsx';

const PATH = '/penalties';
export const MAX_QUERY_LENGTH = 64;

/** The search and filters of a visitor. */
export type PublicFilter = {
  /** Part of a name, a SteamID or a profile address. */
  query: string;
  type: PenaltyType | undefined;
  status: PenaltyStatus | undefined;
  page: number;
};

type PublicPenaltiesProps = {
  site: Site;
  visit: Visit;
  filter: PublicFilter;
  /** The players to choose from when the search matches several; otherwise empty. */
  players: readonly FoundPlayer[];
  penalties: readonly Penalty[];
  total: number;
  lastPage: number;
};

/** The public page of all penalties, which shows admins only by name. */
export function PublicPenaltiesPage(props: PublicPenaltiesProps): JSX.Element {
  const { site, visit, filter, players, penalties, total, lastPage } = props;
  const t = textsOf(visit.locale).penalties;
  return (
    <Layout site={site} visit={visit} title={t.ofPlayer}>
      <section class="card" aria-labelledby="list">
        <div class="card-head">
          <Icon name="shield" />
          <h1 id="list">{t.ofPlayer}</h1>
          {players.length === 0 && <span class="card-aside">{t.count(total)}</span>}
        </div>
        <FilterForm filter={filter} visit={visit} />
        {players.length > 0 && <PlayerChoice players={players} filter={filter} visit={visit} />}
        {players.length === 0 && penalties.length === 0 && (
          <p class="empty">{isCustomAddress(filter.query) ? t.customAddress : t.nothingFound}</p>
        )}
        {penalties.length > 0 && <PublicTable penalties={penalties} visit={visit} />}
        <PagesNav
          visit={visit}
          page={filter.page}
          lastPage={lastPage}
          addressOf={(page) => addressOf({ ...filter, page })}
        />
      </section>
    </Layout>
  );
}

/** Custom profile addresses are not searched for: only Steam's Web API resolves them, and its daily calls are limited. */
function isCustomAddress(query: string): boolean {
  const reference = tryParseSteamReference(query);
  return reference !== undefined && 'vanityName' in reference;
}

function addressOf({ query, type, status, page }: PublicFilter): string {
  const given = { q: query, type: type ?? '', status: status ?? '', page: page > 1 ? String(page) : '' };
  const kept = Object.entries(given).filter(([, value]) => value !== '');
  return kept.length === 0 ? PATH : `${PATH}?${new URLSearchParams(kept)}`;
}

function FilterForm({ filter, visit }: { filter: PublicFilter; visit: Visit }): JSX.Element {
  const t = textsOf(visit.locale).penalties;
  return (
    <form method="get" action={PATH} class="search search-filtered">
      <div class="field field-wide">
        <label for="q">{t.search}</label>
        <input
          id="q"
          name="q"
          type="search"
          value={filter.query}
          maxlength={MAX_QUERY_LENGTH}
          autocomplete="off"
        />
      </div>
      <div class="field">
        <label for="type">{t.columns.type}</label>
        <select id="type" name="type">
          <option value="">{t.everyType}</option>
          {PENALTY_TYPES.map((type) => (
            <option value={type} selected={type === filter.type}>
              {t.types[type]}
            </option>
          ))}
        </select>
      </div>
      <div class="field">
        <label for="status">{t.columns.status}</label>
        <select id="status" name="status">
          <option value="">{t.everyStatus}</option>
          {PENALTY_STATUSES.map((status) => (
            <option value={status} selected={status === filter.status}>
              {t.statuses[status]}
            </option>
          ))}
        </select>
      </div>
      <button class="button button-primary" type="submit">
        <Icon name="search" />
        {t.find}
      </button>
    </form>
  );
}

type ChoiceProps = { players: readonly FoundPlayer[]; filter: PublicFilter; visit: Visit };

function PlayerChoice({ players, filter, visit }: ChoiceProps): JSX.Element {
  const t = textsOf(visit.locale).penalties;
  return (
    <>
      <p class="lead">{t.severalPlayers}</p>
      <ul class="choices">
        {players.map((player) => (
          <li>
            <a href={addressOf({ ...filter, query: player.steamId64, page: 1 })}>
              <bdi>{nameOf({ nickname: player.name, steamId64: player.steamId64 }, visit.locale)}</bdi>
            </a>{' '}
            <span class="hint">
              <bdi>{player.matchedName !== player.name && player.matchedName}</bdi>{' '}
              {t.count(player.penalties)} · {player.steamId64}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

function PublicTable({ penalties, visit }: { penalties: readonly Penalty[]; visit: Visit }): JSX.Element {
  const { columns, types } = textsOf(visit.locale).penalties;
  return (
    <table class="list">
      <thead>
        <tr>
          <th scope="col">{columns.player}</th>
          <th scope="col">{columns.type}</th>
          <th scope="col">{columns.reason}</th>
          <th scope="col">{columns.admin}</th>
          <th scope="col">{columns.issued}</th>
          <th scope="col">{columns.status}</th>
        </tr>
      </thead>
      <tbody>
        {penalties.map((penalty) => (
          <tr>
            <th scope="row" class="list-title list-words">
              <PlayerLink penalty={penalty} visit={visit} />
            </th>
            <td data-label={columns.type}>{types[penalty.type]}</td>
            <td data-label={columns.reason} class="list-words">
              <ReasonText reason={penalty.reason} visit={visit} />
            </td>
            <td data-label={columns.admin} class="list-words">
              <AdminName penalty={penalty} visit={visit} />
            </td>
            <td data-label={columns.issued}>
              <Moment at={penalty.createdAt} visit={visit} />
            </td>
            <td data-label={columns.status} class="list-words">
              {penalty.status === 'ACTIVE' ? (
                <InForce penalty={penalty} visit={visit} />
              ) : (
                <EndOfPenalty penalty={{ ...penalty, liftedByName: null, liftReason: null }} visit={visit} />
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function PlayerLink({ penalty, visit }: { penalty: Penalty; visit: Visit }): JSX.Element {
  const { playerName, playerSteamId: steamId64 } = penalty;
  if (steamId64 === UNKNOWN_STEAM_ID) {
    const { unknownPlayer } = textsOf(visit.locale).penalties;
    return <bdi>{hasVisibleCharacter(playerName) ? playerName : unknownPlayer}</bdi>;
  }
  return (
    <a href={`${PATH}?q=${steamId64}`}>
      <bdi>{nameOf({ nickname: playerName, steamId64 }, visit.locale)}</bdi>
    </a>
  );
}

function InForce({ penalty, visit }: { penalty: Penalty; visit: Visit }): JSX.Element {
  const t = textsOf(visit.locale).penalties;
  return (
    <span>
      <span class="state state-banned">{t.statusOf(penalty.type, 'ACTIVE')}</span>
      {penalty.endsAt ? (
        <>
          {`, ${t.ends}`} <Moment at={penalty.endsAt} visit={visit} />
        </>
      ) : (
        ` ${withoutEnd(penalty, visit)}`
      )}
    </span>
  );
}
