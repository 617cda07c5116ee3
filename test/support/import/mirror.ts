import { afterEach, beforeEach } from 'bun:test';
import { join } from 'node:path';
import pino from 'pino';
import type { Database } from '../../../src/db/database.ts';
import { openLeaders } from '../../../src/db/leader.ts';
import type { FlagMapping } from '../../../src/domain/rights/user-flags.ts';
import { createMirror } from '../../../src/import/mirror/mirror.ts';
import { createMirrorMetrics, type Rounds } from '../../../src/import/rounds.ts';
import { simpleAdminSystem } from '../../../src/import/simple-admin/simple-admin.ts';
import type { SourceSystem } from '../../../src/import/source-system.ts';
import { createMetrics } from '../../../src/runtime/metrics.ts';
import { createTestFolder } from '../service/program.ts';
import { waitFor } from '../wait.ts';
import { simpleAdminSqliteSchema } from './simple-admin-schema.ts';
import { editSource } from './source-file.ts';

/** A ban's columns and values, as they stand behind the name of a table. */
export const BAN = `(player_name, player_steamid, admin_steamid, admin_name, reason, duration, created, ends)
  values ('Rzeźnik', '76561198000000001', '0', 'Console', 'Aim', 60, '2026-11-21 11:30:00', '2026-11-21 12:30:00')`;
export const MUTE = BAN.replace('(', '(type, ').replace('values (', "values ('GAG', ");

/** Rows 1 of each table, ended early, and others with ids so much larger that new ids do not reach back to them. */
export const ENDED_EARLY = ['sa_bans', 'sa_mutes', 'sa_warns'].map((table) => {
  const [type, values] = table === 'sa_mutes' ? ['type, ', "'GAG', "] : ['', ''];
  const row = `'76561198000000001', '0', 'Console', 'Aim', 60, '2026-11-21 11:30:00', '2026-11-21 12:30:00'`;
  return `insert into ${table} (${type}id, status, player_steamid, admin_steamid, admin_name, reason, duration, created, ends)
    values (${values}1, 'EXPIRED', ${row}), (${values}9000, 'ACTIVE', ${row})`;
});

type Options = {
  source?: string;
  timezone?: string;
  intervalSeconds?: number;
  system?: SourceSystem;
  flags?: FlagMapping | undefined;
};
type StartedMirror = Rounds & { stop: () => Promise<void> };
type LogLine = { level: number; msg: string; isSweep?: boolean; [key: string]: unknown };

/**
 * Starts mirrors on the test file's database, on a clock that the test sets. Before each test nothing is stored and nothing
 * logged; its mirrors are stopped after it.
 */
export function createMirrors({ db, url: databaseUrl, connection }: Database) {
  const folder = createTestFolder();
  const lines: LogLine[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const clock = { now: new Date('2026-11-21T12:00:00Z') };
  let started: StartedMirror[] = [];

  beforeEach(async () => {
    await connection`truncate penalties, servers, server_aliases, penalty_sources, settings cascade`;
    lines.length = 0;
    clock.now = new Date('2026-11-21T12:00:00Z');
  });
  afterEach(async () => {
    await Promise.all(started.map((mirror) => mirror.stop()));
    started = [];
  });

  function startMirror(
    url: string,
    {
      source = 'simpleadmin',
      timezone = 'UTC',
      intervalSeconds = 0.02,
      system = simpleAdminSystem({ timezone }),
      flags,
    }: Options = {},
  ) {
    const metrics = createMetrics();
    const rounds = createMirror(
      { db, databaseUrl, log, metrics: createMirrorMetrics(metrics), now: () => clock.now },
      system,
      { url, source, timezone, intervalSeconds, flags },
    );
    const { stop } = openLeaders(databaseUrl, { log, everyMs: 20 }).run(`mirror_${system.kind}`, rounds.lead);
    const mirror = { ...rounds, stop };
    started.push(mirror);
    return { mirror, readMetrics: async () => (await metrics.render()).text };
  }

  /** Waits until two rounds have ended that began after this call: a running round may have read the source before. */
  async function nextRound(mirror: StartedMirror): Promise<void> {
    for (const _ of [1, 2]) {
      const asked = new Date(clock.now.getTime() + 1000);
      clock.now = asked;
      await waitFor(() => (mirror.health().lastRoundAt ?? new Date(0)) >= asked);
    }
  }

  const warnings = () => lines.filter((line) => line.level >= 40).map((line) => line.msg);
  const sweeps = () => lines.filter((line) => line.isSweep);

  let files = 0;
  /** An SQLite file of CS2-SimpleAdmin, and what runs statements in it. */
  function createFile(...statements: string[]) {
    files += 1;
    const path = join(folder, `${files}.sqlite`);
    const url = `sqlite:${path}`;
    const run = (...more: string[]) => editSource(url, ...more);
    run(simpleAdminSqliteSchema({ migration: 11 }), ...statements);
    return { path, url, run };
  }

  /** A mirror that has read a source once. */
  async function openMirror(url: string, options?: Options) {
    const started = startMirror(url, options);
    await waitFor(() => started.mirror.health().lastRoundAt);
    return started;
  }

  return { clock, log, lines, startMirror, openMirror, nextRound, warnings, sweeps, createFile };
}
