import { PENALTY_STATUSES, PENALTY_TYPES } from '../../src/domain/penalty.ts';
import { toCustomId } from '../interactions/custom-id.ts';
import type { Texts } from '../locales/en.ts';
import { button, linkButton, menuRow, playerLinks, type Row, row } from './message.ts';
import { STATUS_LOOKS } from './penalty.ts';
import type { RecordFilter, RecordView } from './player-record-view.ts';

/** Stands for "no filter" in a `custom_id`, and as the value of a menu's entry. */
const NO_FILTER = '-';

/** From so many penalties on, a record can be filtered. */
const FILTERED_FROM = 5;

/** Buttons for the pages of a record, menus for its filters, and links. @param page about the player on this site. */
export function recordControls(
  record: RecordView,
  { texts, page, appealUrl }: { texts: Texts; page: string; appealUrl: string | undefined },
): Row[] {
  const { steamId, lastPage, counts } = record;
  const penalties = PENALTY_TYPES.reduce((sum, type) => sum + counts[type], 0);
  return [
    ...(lastPage === 1 ? [] : [pager(record, texts)]),
    ...(penalties < FILTERED_FROM ? [] : filters(record, texts)),
    row(
      ...playerLinks(texts, steamId, page),
      ...(appealUrl === undefined ? [] : [linkButton(texts.buttons.appeal, appealUrl)]),
    ),
  ];
}

function pager({ steamId, page, lastPage, filter }: RecordView, { buttons }: Texts): Row {
  // The first argument distinguishes two buttons that lead to the same page: Discord refuses equal custom ids.
  const goTo = (which: string, target: number) =>
    toCustomId('record.page', which, steamId, target, ...toArguments(filter));
  const isFirst = page <= 1;
  const isLast = page >= lastPage;
  return row(
    button(buttons.first, goTo('first', 1), { emoji: '⏮️', isDisabled: isFirst }),
    button(buttons.previous, goTo('previous', Math.max(1, page - 1)), { emoji: '◀️', isDisabled: isFirst }),
    button(buttons.next, goTo('next', Math.min(lastPage, page + 1)), { emoji: '▶️', isDisabled: isLast }),
    button(buttons.last, goTo('last', lastPage), { emoji: '⏭️', isDisabled: isLast }),
  );
}

function filters({ steamId, filter, counts }: RecordView, { record: words }: Texts): Row[] {
  const state = toArguments(filter);
  return [
    menuRow(toCustomId('record.type', steamId, ...state), words.filterType, [
      { label: words.everyType, value: NO_FILTER, default: filter.type === undefined },
      ...PENALTY_TYPES.map((type) => ({
        label: `${words.types[type]} (${counts[type]})`,
        value: type,
        default: filter.type === type,
      })),
    ]),
    menuRow(toCustomId('record.status', steamId, ...state), words.filterStatus, [
      { label: words.everyStatus, value: NO_FILTER, default: filter.status === undefined },
      ...PENALTY_STATUSES.map((status) => ({
        label: words.statuses[status],
        value: status,
        default: filter.status === status,
        emoji: { name: STATUS_LOOKS[status].emoji },
      })),
    ]),
  ];
}

/** The filter as two arguments of a `custom_id`. */
function toArguments({ type, status }: RecordFilter): [string, string] {
  return [type ?? NO_FILTER, status ?? NO_FILTER];
}

/** The filter in two arguments of a `custom_id`; an unknown value is no filter. */
export function readFilter(type: string | undefined, status: string | undefined): RecordFilter {
  return {
    type: PENALTY_TYPES.find((each) => each === type),
    status: PENALTY_STATUSES.find((each) => each === status),
  };
}
