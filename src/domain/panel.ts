import { type SteamId64, UNKNOWN_STEAM_ID } from './steam-id.ts';

/** The tables of a system with penalties, by the names that its setting gives them. */
export type PanelTables = Readonly<Record<string, string>>;

/** Where a panel shows the rows of one table; `{id}` and `{steamid64}` stand for those of a row. */
type PanelTable = { table: string; address: string };
/** An address with the source that its table belongs to. */
export type Panel = PanelTable & { source: string };

/** Where a penalty comes from: the source, its table, and the row's id there. */
export type PenaltyOrigin = { source: string | null; sourceTable: string | null; sourceId: string | null };

/** Short enough for six of them, with the texts of each penalty, in a Discord message. */
const MAX_ADDRESS_LENGTH = 256;

/**
 * Reads one address for all tables, or one for each table: `bans=https://…;comms=https://…`.
 * @returns undefined for anything else, such as an unknown table or placeholder.
 */
export function tryParsePanel(text: string, tables: PanelTables): PanelTable[] | undefined {
  if (isPanelAddress(text)) return Object.values(tables).map((table) => ({ table, address: text }));
  const panel: PanelTable[] = [];
  for (const part of text.split(';').filter((each) => each.trim() !== '')) {
    const [, name = '', address = ''] = /^([^=]*)=(.*)$/s.exec(part)?.map((each) => each.trim()) ?? [];
    const table = Object.hasOwn(tables, name) ? tables[name] : undefined;
    if (table === undefined || !isPanelAddress(address) || panel.some((each) => each.table === table)) {
      return undefined;
    }
    panel.push({ table, address });
  }
  return panel.length === 0 ? undefined : panel;
}

function isPanelAddress(text: string): boolean {
  const sample = text.replace(/\{(id|steamid64)\}/g, '1');
  return /^https?:\/\/[^\s{}]+$/i.test(sample) && URL.canParse(sample) && text.length <= MAX_ADDRESS_LENGTH;
}

/** The panels of several sources. */
export function listPanels(
  sources: Readonly<Record<string, { source: string; panel: readonly PanelTable[] }>>,
): Panel[] {
  return Object.values(sources).flatMap(({ source, panel }) => panel.map((each) => ({ ...each, source })));
}

/** The id that a penalty keeps after its source gave its row's id to another penalty. */
const REPLACED_ID = / \(penalty [0-9]+\)$/;

/** Where a penalty is shown in the panel of its source; undefined when there is no address for its table. */
export function findPanelUrl(
  panels: readonly Panel[],
  penalty: PenaltyOrigin & { playerSteamId: SteamId64 },
): string | undefined {
  const { source, sourceTable, sourceId, playerSteamId } = penalty;
  const panel = panels.find((each) => each.source === source && each.table === sourceTable);
  if (!panel || sourceId === null) return undefined;
  const { address } = panel;
  if (address.includes('{id}') && REPLACED_ID.test(sourceId)) return undefined;
  if (address.includes('{steamid64}') && playerSteamId === UNKNOWN_STEAM_ID) return undefined;
  return address.replaceAll('{id}', encodeURIComponent(sourceId)).replaceAll('{steamid64}', playerSteamId);
}
