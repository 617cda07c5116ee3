import { describe, expect, test } from 'bun:test';
import { importSimpleAdmin } from '../../../support/import/importers.ts';
import { openImports, storedPenalties, storedPenalty } from '../../../support/import/penalty-rows.ts';
import {
  ADMIN,
  aRow,
  createSimpleAdminFiles,
  insertRows,
  type SourceRow,
} from '../../../support/import/simple-admin-rows.ts';

const { db, connection, deps } = await openImports();
const createFile = createSimpleAdminFiles();
/** Every kind of row that occurs in the wild; MariaDB cannot hold the odd dates and types that SQLite can. */
describe('a row of CS2-SimpleAdmin', () => {
  test.each([
    ['0', '0'],
    ['', '0'],
    [null, '0'],
    ['STEAM_1:1:19867136', '76561198000000001'],
    ['STEAM_0:1:19867136', '76561198000000001'],
    ['[U:1:39734273]', '76561198000000001'],
    ['0x1100001025E4C01', '76561198000000001'],
    ['steam:1100001025e4c01', '76561198000000001'],
  ])('the player %p is kept as %s', async (steamId, expected) => {
    const { row, summary } = await importBan({ player_steamid: steamId });
    expect(summary.setAside).toBe(0);
    expect(row?.playerSteamId as string).toBe(expected);
  });

  test.each(['BOT', 'STEAM_ID_PENDING', '0xdeadbeef', '7.6561198e+16', '-1', '99999999999999999999'])(
    'the player %s is set aside, with table, id and reason',
    async (steamId) => {
      const { row, summary } = await importBan({ player_steamid: steamId });
      expect(row).toBeUndefined();
      expect(summary).toMatchObject({ read: 2, added: 1, setAside: 1 });
      expect(summary.rowsSetAside).toEqual([
        {
          table: 'sa_bans',
          id: '1',
          reason: `the player's SteamID ${JSON.stringify(steamId)} is not a SteamID`,
        },
      ]);
    },
  );

  test.each(['Console', '0', '', 'Konsola', 'BOT'])('the admin %p is the console', async (steamId) => {
    const { row } = await importBan({ admin_steamid: steamId });
    expect(row?.adminSteamId as string).toBe('0');
  });

  test('an admin without a name keeps the SteamID', async () => {
    const url = createFile(11, (file) => {
      file.run('alter table sa_bans drop column admin_name');
      const { admin_name: _, ...row } = aRow();
      insertRows(file, 'sa_bans', [row]);
    });
    await importSimpleAdmin(deps, { url });
    expect(await storedPenalty(db, 'sa_bans', 1)).toMatchObject({ adminName: '', adminSteamId: ADMIN });
  });

  test('a permanent row has no end, whatever its end says', async () => {
    for (const ends of ['2026-11-21 11:30:00', null, '2019-01-01 00:00:00', '0000-00-00 00:00:00', 'junk']) {
      const { row, summary } = await importBan({ duration: 0, ends });
      expect(row).toMatchObject({ status: 'ACTIVE', durationMinutes: 0, endsAt: null });
      expect(summary).toMatchObject({ setAside: 0, warnings: 0 });
      await connection`truncate penalties`;
    }
  });

  test('an active row whose end has passed is expired, and so is one without a status', async () => {
    const passed = { created: '2026-11-20 11:30:00', ends: '2026-11-20 12:30:00' };
    expect((await importBan({ ...passed })).row?.status).toBe('EXPIRED');
    await connection`truncate penalties`;
    expect((await importBan({ ...passed, status: '' })).row?.status).toBe('EXPIRED');
    await connection`truncate penalties`;
    expect((await importBan({ ...passed, status: 'UNBANNED' })).row?.status).toBe('UNBANNED');
    await connection`truncate penalties`;
    const { row, summary } = await importBan({ status: '' });
    expect(row?.status).toBe('ACTIVE');
    expect(summary.warnedRows).toEqual([
      { table: 'sa_bans', id: '1', reason: 'its status is empty: treated as active until its end' },
    ]);
  });

  test('zero dates: an end is worked out, a creation too where there is an end, else the row is set aside', async () => {
    const noEnd = await importBan({ ends: '0000-00-00 00:00:00' });
    expect(noEnd.row?.endsAt).toEqual(new Date('2026-11-21T12:30:00Z'));
    expect(noEnd.summary.warnings).toBe(1);
    await connection`truncate penalties`;
    const noCreation = await importBan({ created: '0000-00-00 00:00:00' });
    expect(noCreation.row?.createdAt).toEqual(new Date('2026-11-21T11:30:00Z'));
    await connection`truncate penalties`;
    const neither = await importBan({ created: '0000-00-00 00:00:00', ends: '0000-00-00 00:00:00' });
    expect(neither.row).toBeUndefined();
    expect(neither.summary.rowsSetAside[0]).toEqual({
      table: 'sa_bans',
      id: '1',
      reason: 'it has no date of creation',
    });
  });

  test('dates past 2038, and durations up to four thousand years', async () => {
    const { row } = await importBan({ duration: 2_147_483_647, ends: null });
    expect(row?.endsAt?.getUTCFullYear()).toBe(6109);
    await connection`truncate penalties`;
    const late = await importBan({ created: '2045-01-01 00:00:00', ends: '2045-01-01 01:00:00' });
    expect(late.row?.createdAt).toEqual(new Date('2045-01-01T00:00:00Z'));
  });

  test.each([
    ['duration', -5, 'the duration -5 is negative'],
    ['duration', 2_147_483_648, 'the duration 2147483648 is too long'],
    ['duration', 'soon', 'the duration "soon" is not a whole number of minutes'],
    ['created', '2026-02-31 10:00:00', '"2026-02-31 10:00:00" is not a date'],
    ['created', '2026-11-21 11:99:00', '"2026-11-21 11:99:00" is not a date'],
    ['ends', '2026-11-21 12:30:61', '"2026-11-21 12:30:61" is not a date'],
    ['status', 'WHATEVER', 'the status "WHATEVER" is not known'],
  ])('a %s of %p is set aside', async (column, value, reason) => {
    const { row, summary } = await importBan({ [column]: value });
    expect(row).toBeUndefined();
    expect(summary.rowsSetAside).toEqual([{ table: 'sa_bans', id: '1', reason }]);
  });

  test('a whole hour between the end and creation plus duration is reported: two clocks', async () => {
    const { row, summary } = await importBan({ ends: '2026-11-21 14:30:00' });
    expect(row?.endsAt).toEqual(new Date('2026-11-21T14:30:00Z'));
    expect(summary.warnedRows).toEqual([
      {
        table: 'sa_bans',
        id: '1',
        reason: 'its end is 2 h off its creation plus its duration: they were written by two clocks',
      },
    ]);
  });

  test('names and reasons of every kind stay as they are; NUL bytes go', async () => {
    const names = [
      '😀'.repeat(128),
      '\u202eevil\u202c',
      'zero\u200bwidth',
      '<img src=x onerror=alert(1)>',
      '**bold** @everyone [x](http://x)',
      `nul${String.fromCharCode(0)}byte`,
      'quo\'te"s \\ back\\slash {braces} tab\tnewline\nNULL',
      'ą'.repeat(128),
    ];
    const url = createFile(11, (file) =>
      insertRows(
        file,
        'sa_bans',
        names.map((name) => aRow({ player_name: name, admin_name: name, reason: name })),
      ),
    );
    expect(await importSimpleAdmin(deps, { url })).toMatchObject({ added: names.length, setAside: 0 });
    const stored = await storedPenalties(db);
    const expected = names.map((name) => name.replaceAll(String.fromCharCode(0), ''));
    expect(stored.map((row) => row.playerName)).toEqual(expected);
    expect(stored.map((row) => row.reason)).toEqual(expected);
    expect(await importSimpleAdmin(deps, { url })).toMatchObject({ unchanged: names.length });
  });
});

/** Imports one ban and returns what became of it. */
async function importBan(values: SourceRow, options: { table?: string } = {}) {
  const table = options.table ?? 'sa_bans';
  const row = table === 'sa_mutes' ? { ...aRow(), type: 'GAG', ...values } : aRow(values);
  const url = createFile(11, (file) =>
    insertRows(file, table, [row, { ...row, ...aRow({ reason: 'the sound one' }) }]),
  );
  const summary = await importSimpleAdmin(deps, { url });
  expect((await storedPenalty(db, table, 2))?.reason).toBe('the sound one');
  return { summary, row: await storedPenalty(db, table, 1) };
}
