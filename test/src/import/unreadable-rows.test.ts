import { expect, test } from 'bun:test';
import { importNdjson } from '../../../src/import/ndjson/ndjson.ts';
import { openImports, storedPenalties } from '../../support/import/penalty-rows.ts';
import { editSource } from '../../support/import/source-file.ts';
import { BASIA, NOW, SYSTEMS } from '../../support/import/systems.ts';

const { db, deps, createFile } = await openImports();

/** What makes mutes unreadable. */
const SPOILED: Record<string, string> = {
  'SourceBans++': 'type = 9',
  'IKS Admin': "steam_id = 'STEAM_ID_PENDING'",
  'CS2-SimpleAdmin': 'duration = -1',
};

test.each(Object.entries(SYSTEMS))(
  '%s: a row that can no longer be read is lifted all the same, or reported as out of date',
  async (name, { schema, addAdmin, add, lift, tables, run }) => {
    const url = createFile(
      `${schema}; ${addAdmin(BASIA)} ${add('mute', { id: 1 })} ${add('mute', { id: 2, player: '76561198000000002' })}`,
    );
    await run(deps, { url });
    expect(await storedPenalties(db)).toMatchObject([{ status: 'ACTIVE' }, { status: 'ACTIVE' }]);
    editSource(url, `update ${tables.mute} set ${SPOILED[name]}`);
    const spoiled = await run(deps, { url });
    expect(spoiled).toMatchObject({ setAside: 2, outdated: 2, changed: 0, gone: 0 });
    expect(spoiled.outdatedRows).toEqual(spoiled.rowsSetAside);

    editSource(url, lift('mute', 1, { by: BASIA, at: NOW, reason: 'Appeal' }));
    for (const isDryRun of [true, false]) {
      const lifted = await run(deps, { url, isDryRun });
      expect(lifted).toMatchObject({ changed: 1, setAside: 1, outdated: 1, gone: 0 });
      expect(lifted.outdatedRows).toMatchObject([{ id: '2' }]);
      expect(lifted.warnedRows).toMatchObject([
        { id: '1', reason: expect.stringContaining('only that it is over was imported: ') },
      ]);
    }
    expect(await storedPenalties(db)).toMatchObject([
      {
        type: 'mute',
        status: 'UNBANNED',
        liftedAt: new Date(NOW * 1000),
        liftedByName: 'Basia',
        liftReason: 'Appeal',
      },
      { status: 'ACTIVE' },
    ]);
    expect(await run(deps, { url })).toMatchObject({ changed: 0, outdated: 1, gone: 0 });
  },
);

test.each(Object.entries(SYSTEMS))(
  '%s: imports a lift whose time cannot be read, without the time',
  async (_, system) => {
    const { schema, addAdmin, add, lift, run } = system;
    const bans = [1, 2].map(
      (id) =>
        add('ban', { id }) + lift('ban', id, { by: BASIA, at: id === 1 ? -1 : 86_400, reason: 'Appeal' }),
    );
    const url = createFile(`${schema}; ${addAdmin(BASIA)} ${bans.join(' ')}`);
    expect(await run(deps, { url })).toMatchObject({ added: 2, setAside: 0 });
    const lifted = { status: 'UNBANNED', liftedAt: null, liftedByName: 'Basia', liftReason: 'Appeal' };
    expect(await storedPenalties(db)).toMatchObject([lifted, lifted]);
  },
);

test('imports a lifted NDJSON line whose time of lifting cannot be read, without the time', async () => {
  const line = { penalty_type: 'ban', player_steamid: '76561198000000001', created: '2026-11-21T11:30:00Z' };
  const lines = ['2026-13-45', '1970-06-01T00:00:00Z', '-1'].map((unbanned_at) =>
    JSON.stringify({ ...line, reason: unbanned_at, status: 'UNBANNED', unbanned_at }),
  );
  expect(await importNdjson(deps, { chunks: new Blob([lines.join('\n')]).stream() })).toMatchObject({
    added: 3,
  });
  const lifted = { status: 'UNBANNED', liftedAt: null };
  expect(await storedPenalties(db)).toMatchObject([lifted, lifted, lifted]);
});
