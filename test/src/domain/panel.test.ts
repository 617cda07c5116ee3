import { describe, expect, test } from 'bun:test';
import { findPanelUrl, listPanels, tryParsePanel } from '../../../src/domain/panel.ts';
import { UNKNOWN_STEAM_ID } from '../../../src/domain/steam-id.ts';
import { aSteamId } from '../../support/database/builders.ts';

const panels = listPanels({
  iks: {
    source: 'iks-2',
    panel:
      tryParsePanel('bans=https://a.example/{id}/{id};comms=https://a.example/list', {
        bans: 'iks_bans',
        comms: 'iks_comms',
      }) ?? [],
  },
  sourcebans: {
    source: 'constructor',
    panel: tryParsePanel('https://b.example/{steamid64}', { bans: 'bans', comms: 'comms' }) ?? [],
  },
});
const urlOf = (source: string | null, sourceTable: string, sourceId = '7', playerSteamId = aSteamId(1)) =>
  findPanelUrl(panels, { source, sourceTable, sourceId, playerSteamId });

describe('the panel of a source', () => {
  test('shows penalties of its own source at the address of their table', () => {
    expect(urlOf('iks-2', 'iks_bans')).toBe('https://a.example/7/7');
    expect(urlOf('iks-2', 'iks_comms')).toBe('https://a.example/list');
    expect(urlOf('constructor', 'comms')).toBe(`https://b.example/${aSteamId(1)}`);
    for (const [source, table] of [
      ['iks', 'iks_bans'],
      ['iks-2', 'bans'],
      ['iks-2', 'iks_warns'],
      [null, 'iks_bans'],
    ] as const) {
      expect(urlOf(source, table)).toBeUndefined();
    }
  });

  test('a penalty whose row in the source is another one now has no page', () => {
    expect(urlOf('iks-2', 'iks_bans', '7 (penalty 12)')).toBeUndefined();
    expect(urlOf('iks-2', 'iks_comms', '7 (penalty 12)')).toBe('https://a.example/list');
  });

  test('encodes ids, and has no page of an unknown player', () => {
    expect(urlOf('iks-2', 'iks_bans', 'a/b?"<')).toBe('https://a.example/a%2Fb%3F%22%3C/a%2Fb%3F%22%3C');
    expect(urlOf('constructor', 'bans', '7', UNKNOWN_STEAM_ID)).toBeUndefined();
  });
});
