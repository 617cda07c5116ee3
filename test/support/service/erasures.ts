import { beforeEach } from 'bun:test';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { publishedPath, uploadFolder } from '../../../media/sound-folders.ts';
import { auditLog } from '../../../src/db/schema/audit-log.ts';
import { discordFeeds } from '../../../src/db/schema/discord.ts';
import { roundSounds } from '../../../src/db/schema/round-sounds.ts';
import { steamBans } from '../../../src/db/schema/steam.ts';
import { recordAudit } from '../../../src/queries/audit-log.ts';
import { aSteamId, insertPenalties, insertUser } from '../database/builders.ts';
import { findTraces } from '../database/traces.ts';
import { aToken, bearer } from './service.ts';
import { openWholeService } from './whole-service.ts';

/**
 * The whole service, which stores everything that it can about `player`. Each test has a player of its own, with names that
 * only they bear.
 */
export async function openErasures() {
  const { db, connection, url, service, folder, signInAs, cli } = await openWholeService();
  const dataDir = join(folder.path, 'data');
  const storageDir = join(folder.path, 'storage');
  const soundFolders = {
    inbox: join(dataDir, 'inbox'),
    published: join(storageDir, 'roundsound'),
    orphans: join(storageDir, 'roundsound-orphans'),
  };
  const { token: reader } = await aToken(db, 900, { now: new Date() });
  const get = async (path: string) => (await service.get(path, bearer(reader))).text;

  const player = { number: 0, id: aSteamId(0), nickname: '', penaltyName: '', discordId: '' };
  beforeEach(() => {
    const number = player.number + 1;
    Object.assign(player, {
      number,
      id: aSteamId(number),
      nickname: `Ksywka${number}x`,
      penaltyName: `Rzeznik${number}x`,
      discordId: `8035111022467${8000 + number}`,
    });
  });
  const traces = () =>
    findTraces(
      connection,
      [dataDir, storageDir],
      [player.id, player.nickname, player.penaltyName, player.discordId, `disc${player.number}x`],
    );

  /** A penalty of the player, one they gave, and one they lifted. */
  async function insertRecord(): Promise<void> {
    await insertPenalties(db, [
      {
        playerSteamId: player.id,
        playerName: player.penaltyName,
        reason: `Wallhack ${player.number}`,
        createdAt: new Date(),
      },
      {
        playerSteamId: aSteamId(777),
        adminSteamId: player.id,
        adminName: player.penaltyName,
        createdAt: new Date(),
      },
      {
        playerSteamId: aSteamId(778),
        status: 'UNBANNED',
        liftedAt: new Date(),
        liftedBySteamId: player.id,
        liftedByName: player.penaltyName,
        createdAt: new Date(),
      },
    ]);
  }

  /** Everything that can be kept about somebody, in tables and files. */
  async function insertEverything(): Promise<void> {
    const user = await insertUser(db, player.number, {
      nickname: player.nickname,
      discordId: player.discordId,
      discordUsername: `disc${player.number}x`,
    });
    await aToken(db, player.number, { now: new Date() });
    await insertRecord();
    await db.insert(steamBans).values({
      steamId64: player.id,
      vacBans: 1,
      gameBans: 0,
      daysSinceLastBan: 3,
      isCommunityBanned: false,
      checkedAt: new Date(),
    });
    await db.insert(discordFeeds).values({
      subject: 'penalties',
      channelId: String(player.number),
      guildId: '1',
      startedBy: player.discordId,
      locale: 'pl',
      epoch: 'x',
      cursor: 0,
    });
    await recordAudit(db, {
      actor: { userId: user.id },
      action: 'discord.linked',
      subject: player.id,
      details: { discordId: player.discordId, username: player.nickname },
    });
    await recordAudit(db, {
      actor: { userId: user.id },
      action: 'feed.started',
      subject: `#${player.number}`,
      details: { feed: 'penalties' },
    });
    await db.insert(auditLog).values({
      actor: 'discord-member',
      action: 'feed.stopped',
      subject: `#${player.number}`,
      details: { feed: 'penalties', discordId: player.discordId },
    });
    await insertFiles();
  }

  async function insertFiles(): Promise<void> {
    for (const path of Object.values(soundFolders)) await mkdir(path, { recursive: true });
    const [ready, queued] = await db
      .insert(roundSounds)
      .values([
        { steamId64: player.id, title: player.nickname, status: 'ready', uploadKey: `r${player.number}` },
        {
          steamId64: player.id,
          title: player.nickname,
          uploadKey: `q${player.number}`,
          claimedUntil: new Date('2030-01-01'),
        },
      ])
      .returning();
    if (!ready || !queued) throw new Error('no sounds');
    await Bun.write(publishedPath(soundFolders, player.id), player.penaltyName);
    await Bun.write(publishedPath(soundFolders, player.id, 'voice'), player.penaltyName);
    await Bun.write(join(uploadFolder(soundFolders, queued.uploadKey), 'upload'), player.penaltyName);
    await Bun.write(join(soundFolders.orphans, `1-${player.id}.mp3`), player.penaltyName);
  }

  return {
    db,
    connection,
    url,
    service,
    signInAs,
    cli,
    get,
    reader,
    folder,
    player,
    traces,
    insertRecord,
    insertEverything,
    soundFolders,
  };
}
