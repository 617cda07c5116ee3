import { beforeEach, describe, expect, test } from 'bun:test';
import { asc, eq } from 'drizzle-orm';
import { erasedPeople } from '../../../src/db/schema/accounts.ts';
import { penalties } from '../../../src/db/schema/penalties.ts';
import { settings } from '../../../src/db/schema/settings.ts';
import type { ImportSummary } from '../../../src/import/import-report.ts';
import { erasePerson } from '../../../src/queries/personal-data/erasure.ts';
import { aSteamId } from '../../support/database/builders.ts';
import { findTraces } from '../../support/database/traces.ts';
import { createMirrors } from '../../support/import/mirror.ts';
import { LINE, openImports } from '../../support/import/penalty-rows.ts';
import { editSource } from '../../support/import/source-file.ts';
import { type Admin, type Penalty, SYSTEMS } from '../../support/import/systems.ts';

const imports = await openImports();
const { db, connection, createFile, importLines } = imports;
const { lines, startMirror, nextRound } = createMirrors(imports);

/** The erased person. */
const ID = aSteamId(3);
const NAME = 'Wymazany';
const PERSON: Admin = { id: 3, name: NAME, steamId: ID };
const THEIRS = { player: ID, playerName: NAME };
const OTHER = aSteamId(5);

beforeEach(async () => {
  await connection`truncate erased_people, audit_log`;
});

const erase = () =>
  erasePerson(db, ID, { withPenalties: true, actor: 'operator', removeSounds: async () => {} });
const traces = () => findTraces(connection, [], [ID, NAME]);
const list = () =>
  db
    .select({
      player: penalties.playerSteamId,
      playerName: penalties.playerName,
      admin: penalties.adminSteamId,
      adminName: penalties.adminName,
      reason: penalties.reason,
    })
    .from(penalties)
    .orderBy(asc(penalties.id));

/** A source whose bans are replaced by others. */
type Source<Summary> = { write: (...bans: Penalty[]) => void; read: () => Promise<Summary> };

const SIMPLE_ADMIN = SYSTEMS['CS2-SimpleAdmin'];
const createSimpleAdmin = () => createFile(SIMPLE_ADMIN.schema, SIMPLE_ADMIN.addAdmin(PERSON));

/** Two rounds of a mirror, which is then stopped. */
async function readMirror(url: string): Promise<void> {
  const { mirror } = startMirror(url);
  await nextRound(mirror);
  await mirror.stop();
}

function mirrorSimpleAdmin(): Source<void> {
  const { tables, add } = SIMPLE_ADMIN;
  const url = createSimpleAdmin();
  return {
    write: (...bans) => editSource(url, `delete from ${tables.ban}`, ...bans.map((ban) => add('ban', ban))),
    read: () => readMirror(url),
  };
}

function createNdjson(): Source<ImportSummary> {
  let file: object[] = [];
  return {
    write: (...bans) => {
      file = bans.map(({ id, player, playerName, admin, reason }) => ({
        ...{ ...LINE, source_id: id, reason },
        ...{ player_steamid: player, player_name: playerName },
        ...(admin && { admin_steamid: admin.steamId, admin_name: admin.name }),
      }));
    },
    read: () => importLines(file),
  };
}

test.each<[string, () => Source<unknown>]>([
  ['the mirror of CS2-SimpleAdmin', mirrorSimpleAdmin],
  ['lines of JSON', createNdjson],
])(
  'rows of somebody whose penalties were erased are kept without them when %s has them again',
  async (_, open) => {
    const source = open();
    source.write({ id: 1, ...THEIRS, reason: 'Aim' });
    await source.read();
    expect(await list()).toMatchObject([{ player: ID, playerName: NAME, reason: 'Aim' }]);
    await erase();
    expect(await traces()).toEqual([]);
    const anonymous = { player: '0', playerName: '' };

    await source.read();
    expect(await list()).toMatchObject([{ ...anonymous, reason: 'Aim' }]);

    source.write(
      { id: 1, ...THEIRS, reason: 'Aim', admin: PERSON },
      { id: 2, ...THEIRS, reason: 'Again' },
      { id: 3, player: OTHER, playerName: 'Other', admin: PERSON, reason: 'Given' },
    );
    await source.read();
    expect(await list()).toMatchObject([
      { ...anonymous, reason: 'Aim', adminName: 'Former admin' },
      { ...anonymous, reason: 'Again' },
      { player: OTHER, admin: '0', adminName: 'Former admin', reason: 'Given' },
    ]);
    expect(await traces()).toEqual([]);
  },
);

describe('when the erasure secret is lost', () => {
  test('an import says how many are not recognised, and takes them out again once it is back', async () => {
    const source = createNdjson();
    source.write({ id: 1, ...THEIRS });
    expect(await source.read()).toMatchObject({ lostErasures: 0 });
    await erase();
    expect(await source.read()).toMatchObject({ lostErasures: 0, changed: 0 });

    const [secret] = await db.delete(settings).where(eq(settings.key, 'erasure_secret')).returning();
    expect(await source.read()).toMatchObject({ lostErasures: 1, changed: 1 });
    expect(await list()).toMatchObject([{ player: ID }]);

    if (secret) await db.insert(settings).values(secret);
    expect(await source.read()).toMatchObject({ lostErasures: 0, changed: 1 });
    expect(await list()).toMatchObject([{ player: '0', playerName: '' }]);
  });

  test('erasing them once more makes them unknown again; what nobody can read any more may be forgotten', async () => {
    const source = createNdjson();
    source.write({ id: 1, ...THEIRS });
    await source.read();
    await erase();
    await db.delete(settings);
    await source.read();
    await erase();
    expect(await source.read()).toMatchObject({ lostErasures: 1, changed: 0 });
    expect(await list()).toMatchObject([{ player: '0' }]);
    const page = await Bun.file('docs/privacy.md').text();
    const [, statement = ''] = /```sql\n(delete from erased_people[^`]*)```/.exec(page) ?? [];
    await connection.unsafe(statement);
    expect(await source.read()).toMatchObject({ lostErasures: 0 });
    expect(await db.select().from(erasedPeople)).toHaveLength(1);
  });

  test('the mirror logs it once', async () => {
    await erase();
    await db.delete(settings);
    await readMirror(createSimpleAdmin());
    const told = lines.filter(({ lostErasures }) => lostErasures !== undefined);
    expect(told).toMatchObject([{ level: 50, lostErasures: 1, msg: expect.stringContaining('is lost') }]);
  });
});
