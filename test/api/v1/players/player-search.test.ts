import { beforeEach, describe, expect, test } from 'bun:test';
import { eq, ne, sql } from 'drizzle-orm';
import { users } from '../../../../src/db/schema/accounts.ts';
import { penalties } from '../../../../src/db/schema/penalties.ts';
import { saveSignIn, saveUser } from '../../../../src/queries/users/user-changes.ts';
import { aSteamId, insertPenalties, insertPenalty } from '../../../support/database/builders.ts';
import { NOW, openTestApi } from '../../../support/service/service.ts';

const { db, connection, get } = await openTestApi();
beforeEach(async () => {
  await connection`truncate penalties`;
  await db.delete(users).where(ne(users.steamId64, aSteamId(900)));
});

const ask = (query: string) => get(`/players/search${query}`);
const at = (day: number) => new Date(Date.UTC(2026, 9, day));

type Found = { steamid64: string; name: string; matched_name: string };

async function search(name: string): Promise<Found[]> {
  const { status, body } = await ask(`?name=${encodeURIComponent(name)}`);
  expect(status).toBe(200);
  return (body as { data: Found[] }).data;
}

const namesFound = async (name: string) => (await search(name)).map((player) => player.matched_name);

/** A player in the response, by default a user without penalties who never signed in. */
const aFound = (number: number, name: string, values: Record<string, unknown> = {}): Found => ({
  steamid64: aSteamId(number),
  name,
  matched_name: name,
  ...{ penalties: 0, is_banned: false, last_seen_at: null },
  ...values,
});

/** One penalty for each name, each against a different player; later names are more recent. */
async function insertNames(...names: string[]): Promise<void> {
  await insertPenalties(
    db,
    names.map((playerName, index) => ({
      playerName,
      playerSteamId: aSteamId(index + 1),
      createdAt: at(index + 1),
    })),
  );
}

describe('GET /players/search', () => {
  test("gives each player's SteamID, latest name and state", async () => {
    await insertPenalties(db, [
      { playerSteamId: aSteamId(1), playerName: 'Rzeźnik', createdAt: at(1), status: 'UNBANNED' },
      { playerSteamId: aSteamId(1), playerName: 'Baranek', createdAt: at(2), type: 'mute' },
      { playerSteamId: aSteamId(2), playerName: 'rzeznik', createdAt: at(1), type: 'ban' },
    ]);
    expect((await ask('?name=rzeznik')).body).toStrictEqual({
      success: true,
      data: [
        aFound(1, 'Baranek', {
          matched_name: 'Rzeźnik',
          penalties: 2,
          last_seen_at: '2026-10-02T00:00:00+00:00',
        }),
        aFound(2, 'rzeznik', { penalties: 1, is_banned: true, last_seen_at: '2026-10-01T00:00:00+00:00' }),
      ],
    });
  });

  test('a ban that has ended does not count', async () => {
    await insertPenalties(db, [{ playerName: 'Ala', endsAt: new Date(NOW.getTime() - 1000) }]);
    expect(await search('ala')).toMatchObject([{ is_banned: false }]);
    await connection`update penalties set ends_at = ${new Date(NOW.getTime() + 1000).toISOString()}`;
    expect(await search('ala')).toMatchObject([{ is_banned: true }]);
  });

  test.each([
    ['lodz', 'ŁÓDŹ'],
    ['Zolta\u0301n', 'Zoltán'],
    ['иод', 'Йод'],
    ['100%', 'at 100% now'],
    ['_x_', 'a_x_b'],
    ['\\o/', 'hi \\o/'],
    ['漢字仮', 'x漢字仮名'],
    ['  ala  ', 'Mala'],
  ])('%s finds %s', async (text, name) => {
    await insertNames(name, 'somebody else');
    expect(await namesFound(text)).toEqual([name]);
  });

  test.each([
    ['a%b', 'axxb'],
    ['a_b', 'axb'],
    ['\\%a', '%a1'],
  ])('%s does not find %s: there are no wildcards', async (text, name) => {
    await insertNames(name);
    expect(await namesFound(text)).toEqual([]);
  });

  test('exact names come first, then the players seen most recently', async () => {
    await insertNames('ala', 'Ala Makota', 'Mała Ala', ' ALA ', 'Koala');
    expect(await namesFound('Ała')).toEqual([' ALA ', 'ala', 'Koala', 'Mała Ala', 'Ala Makota']);
  });

  test('a player is seen by a sign-in too, and by a penalty under another name', async () => {
    await insertNames('ala one', 'ala two', 'ala three');
    await saveSignIn(db, aSteamId(1), { profile: { nickname: 'Other' }, now: at(20) });
    await insertPenalties(db, [{ playerSteamId: aSteamId(2), playerName: 'Another', createdAt: at(10) }]);
    expect(await search('ala')).toMatchObject([
      {
        steamid64: aSteamId(1),
        name: 'Other',
        matched_name: 'ala one',
        last_seen_at: '2026-10-20T00:00:00+00:00',
      },
      {
        steamid64: aSteamId(2),
        name: 'Another',
        matched_name: 'ala two',
        last_seen_at: '2026-10-10T00:00:00+00:00',
      },
      { steamid64: aSteamId(3), name: 'ala three', matched_name: 'ala three' },
    ]);
  });

  test('finds users without penalties by their nickname, seen or not', async () => {
    await saveSignIn(db, aSteamId(1), { profile: { nickname: 'Nicknamed' }, now: at(3) });
    await saveUser(db, aSteamId(2), { changes: { nickname: 'Nicknamed too' }, actor: 'operator' });
    expect(await search('nicknamed')).toEqual([
      aFound(1, 'Nicknamed', { last_seen_at: '2026-10-03T00:00:00+00:00' }),
      aFound(2, 'Nicknamed too'),
    ]);
  });

  test('shows the exact one of several names that contain the text, else the latest', async () => {
    await insertPenalties(db, [
      { playerName: 'ala1', createdAt: at(1) },
      { playerName: 'Ala', createdAt: at(2) },
      { playerName: 'ala3', createdAt: at(3) },
    ]);
    expect(await namesFound('ala')).toEqual(['Ala']);
    await connection`delete from penalties where player_name = 'Ala'`;
    expect(await namesFound('ala')).toEqual(['ala3']);
  });

  test('leaves unknown players out', async () => {
    await insertPenalties(db, [{ playerSteamId: '0' as never, playerName: 'Unknown One' }]);
    expect(await namesFound('unknown')).toEqual([]);
  });

  test('lists 25 at most, the best of all', async () => {
    await insertNames(
      ...Array.from({ length: 28 }, (_, index) => (index === 0 ? 'gracz' : `Gracz ${index}`)),
    );
    const found = await namesFound('gracz');
    expect(found).toHaveLength(25);
    expect(found.slice(0, 2)).toEqual(['gracz', 'Gracz 27']);
    expect(found.at(-1)).toBe('Gracz 4');
  });

  test('finds the same among many thousands: recent ones, and those long gone', async () => {
    await connection`
      insert into penalties (type, status, player_name, player_steamid, admin_steamid, duration_minutes, created_at)
      select 'warn', 'ACTIVE', 'Gracz ' || n || case when n % 1000 = 1 then ' rare' else '' end,
        ${aSteamId(0)}::bigint + n, 0, 0, timestamptz '2026-01-01Z' + n * interval '1 minute'
      from generate_series(1, 12000) as n`;
    await insertPenalties(db, [
      { playerSteamId: aSteamId(1), playerName: 'GRACZ', createdAt: new Date('2025-01-01T00:00:00Z') },
      { playerSteamId: aSteamId(20_001), playerName: 'gracz', createdAt: new Date('2025-01-01T00:00:00Z') },
    ]);
    const expectAll = async () => {
      const best = (await namesFound('gracz')).slice(0, 4);
      expect(best).toEqual(['GRACZ', 'gracz', 'Gracz 12000', 'Gracz 11999']);
      expect(await namesFound('rare')).toEqual(
        Array.from({ length: 12 }, (_, index) => `Gracz ${11_001 - index * 1000} rare`),
      );
      expect(await namesFound('gracz 7')).toHaveLength(25);
    };
    await expectAll();
    await connection`analyze player_names`;
    await expectAll();
  });

  const MISSING = 'is missing: give a part of a name, 3 to 64 characters';
  const INVALID = "isn't valid: use a part of a name, 3 to 64 characters";
  test.each([
    ['', MISSING],
    ['?name=', MISSING],
    ['?name=ab', `"ab" ${INVALID}`],
    ['?name=%20ab%20', `" ab " ${INVALID}`],
    ['?name=e%CC%81a', `"e\u0301a" ${INVALID}`],
    ['?name=%CC%81%CC%81%CC%81', `"\u0301\u0301\u0301" ${INVALID}`],
    [`?name=${'a'.repeat(65)}`, `"${'a'.repeat(64)}" ${INVALID}`],
    ['?name=abc%00', `"abc\\u0000" ${INVALID}, without NUL`],
  ])('refuses %s, and says why', async (query, fault) => {
    const { status, body } = await ask(query);
    expect([status, body]).toStrictEqual([400, { success: false, message: `name ${fault}` }]);
  });

  test('64 characters of any plane are taken', async () => {
    await insertNames('🎧'.repeat(64));
    expect(await namesFound('🎧'.repeat(64))).toEqual(['🎧'.repeat(64)]);
  });
});

describe('the searched names follow every write', () => {
  test('renaming, giving to another player, deleting and truncating', async () => {
    const { id } = await insertPenalty(db, { playerName: 'First Name' });
    await db.update(penalties).set({ playerName: 'Second Name' }).where(eq(penalties.id, id));
    expect([await namesFound('first'), await namesFound('second')]).toEqual([[], ['Second Name']]);
    await db.update(penalties).set({ playerSteamId: aSteamId(7) });
    expect(await search('second name')).toMatchObject([{ steamid64: aSteamId(7) }]);
    await db.update(penalties).set({ playerSteamId: sql`0`, playerName: '' });
    expect(await namesFound('second')).toEqual([]);
    await insertPenalties(db, [{ playerName: 'Third' }, { playerName: 'Third' }]);
    await connection`delete from penalties where id = (select max(id) from penalties)`;
    expect(await namesFound('third')).toEqual(['Third']);
    await connection`delete from penalties`;
    expect(await namesFound('third')).toEqual([]);
    await insertPenalties(db, [{ playerName: 'Fourth' }]);
    await connection`truncate penalties`;
    expect(await namesFound('fourth')).toEqual([]);
  });

  test('a nickname that is changed or whose user is gone', async () => {
    await saveUser(db, aSteamId(5), { changes: { nickname: 'Nick One' }, actor: 'operator' });
    await insertPenalties(db, [{ playerSteamId: aSteamId(5), playerName: 'Nick One' }]);
    await saveUser(db, aSteamId(5), { changes: { nickname: 'Nick Two' }, actor: 'operator' });
    expect(await namesFound('nick one')).toEqual(['Nick One']);
    expect(await namesFound('nick two')).toEqual(['Nick Two']);
    await db.delete(users).where(eq(users.steamId64, aSteamId(5)));
    expect([await namesFound('nick one'), await namesFound('nick two')]).toEqual([['Nick One'], []]);
  });

  test('a name longer than an index takes is found by its beginning', async () => {
    await insertPenalties(db, [{ playerName: `Beginning ${'ż'.repeat(20_000)}` }]);
    expect(await search('beginning')).toHaveLength(1);
    await connection`delete from penalties`;
    expect(await search('beginning')).toHaveLength(0);
  });
});
