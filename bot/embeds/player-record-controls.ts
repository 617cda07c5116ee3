import { PENALTY_STATUSES, PENALTY_TYPES } from '../../src/domain/penalty.ts';
import { toCustomId } from '../interactions/custom-id.ts';
import type { Texts } from '../locales/en.ts';
import { button, linkButton, menuRow, type Row, row, steamProfileButton } from './message.ts';
import { STATUS_LOOKS } from './penalty.ts';
import type { RecordFilter, RecordView } from './player-record-view.ts';

/** Stands for "no filter" in a `custom_id`, and as the value of a menu's entry. */
const NO_FILTER = '-';

/** Buttons for the pages of a record and menus for its filters, all of them for its invoker alone. */
export function recordControls(
  record: RecordView,
  { texts, invokerId, appealUrl }: { texts: Texts; invokerId: string; appealUrl: string | undefined },
): Row[] {
  const { steamId, page, lastPage, filter } = record;
  const profile = steamProfileButton(texts, steamId);
  if (PENALTY_TYPES.every((type) => record.counts[type] === 0)) return [row(profile)];
  const state = [filter.type ?? NO_FILTER, filter.status ?? NO_FILTER];
  // The first argument distinguishes two buttons that lead to the same page: Discord refuses equal custom ids.
  const goTo = (which: string, target: number) =>
    toCustomId('record.page', which, invokerId, steamId, target, ...state);
  const isFirst = page <= 1;
  const isLast = page >= lastPage;
  return [
    row(
      button(texts.buttons.first, goTo('first', 1), { emoji: '⏮️', isDisabled: isFirst }),
      button(texts.buttons.previous, goTo('previous', Math.max(1, page - 1)), {
        emoji: '◀️',
        isDisabled: isFirst,
      }),
      button(texts.buttons.next, goTo('next', Math.min(lastPage, page + 1)), {
        emoji: '▶️',
        isDisabled: isLast,
      }),
      button(texts.buttons.last, goTo('last', lastPage), { emoji: '⏭️', isDisabled: isLast }),
      profile,
    ),
    menuRow(toCustomId('record.type', invokerId, steamId, ...state), texts.record.filterType, [
      { label: texts.record.everyType, value: NO_FILTER, default: filter.type === undefined },
      ...PENALTY_TYPES.map((type) => ({
        label: `${texts.record.types[type]} (${record.counts[type]})`,
        value: type,
        default: filter.type === type,
      })),
    ]),
    menuRow(toCustomId('record.status', invokerId, steamId, ...state), texts.record.filterStatus, [
      { label: texts.record.everyStatus, value: NO_FILTER, default: filter.status === undefined },
      ...PENALTY_STATUSES.map((status) => ({
        label: texts.record.statuses[status],
        value: status,
        default: filter.status === status,
        emoji: { name: STATUS_LOOKS[status].emoji },
      })),
    ]),
    ...(appealUrl === undefined ? [] : [row(linkButton(texts.buttons.appeal, appealUrl))]),
  ];
}

/** The filter in two arguments of a `custom_id`; an unknown value is no filter. */
export function readFilter(type: string | undefined, status: string | undefined): RecordFilter {
  return {
    type: PENALTY_TYPES.find((known) => known === type),
    status: PENALTY_STATUSES.find((known) => known === status),
  };
}
