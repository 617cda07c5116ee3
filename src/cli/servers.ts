import type { Command } from 'commander';
import { recordAudit } from '../queries/audit-log.ts';
import { addServer, listServers, removeServer, setServerHidden } from '../queries/servers.ts';
import { print, type Session, toTable } from './session.ts';

type NewServer = { name: string; address: string; slug?: string; mode?: string; region?: string };

/** `servers add | list | remove | show | hide`. */
export function addServerCommands(program: Command, session: Session): void {
  const servers = program.command('servers').description('the polled game servers');
  servers
    .command('add')
    .description('add a server; a running service polls it within seconds')
    .requiredOption('--name <name>', 'display name')
    .requiredOption('--address <host:port>', 'where it answers A2S queries')
    .option('--slug <slug>', 'name in URLs; the name made url-safe by default')
    .option('--mode <mode>', 'game mode, such as Competitive')
    .option('--region <region>', 'region code, such as EU')
    .action(async (options: NewServer, command: Command) => {
      const { db } = await session.database();
      const server = await db.transaction(async (tx) => {
        const added = await addServer(tx, options);
        const details = { address: added.address };
        await recordAudit(tx, { actorUserId: null, action: 'server.added', subject: added.slug, details });
        return added;
      });
      print(command, server, `Added server ${server.id}: ${server.slug} (${server.address})`);
    });
  servers
    .command('list')
    .description('all servers, hidden ones too')
    .action(async (_: unknown, command: Command) => {
      const { db } = await session.database();
      const all = await listServers(db);
      const rows = all.map((server) => [
        String(server.id),
        server.slug,
        server.name,
        server.address,
        server.mode,
        server.region,
        server.isHidden ? 'hidden' : 'shown',
      ]);
      const header = ['ID', 'SLUG', 'NAME', 'ADDRESS', 'MODE', 'REGION', 'LISTED'];
      print(
        command,
        all,
        toTable(header, rows, 'No servers yet: servers add --name NAME --address HOST:PORT'),
      );
    });
  servers
    .command('remove <slug>')
    .description('remove a server with its history; its penalties stay')
    .action(async (slug: string, _: unknown, command: Command) => {
      const { db } = await session.database();
      await db.transaction(async (tx) => {
        await removeServer(tx, slug);
        await recordAudit(tx, { actorUserId: null, action: 'server.removed', subject: slug });
      });
      print(command, { removed: slug }, `Removed ${slug}`);
    });
  for (const [verb, isHidden] of [
    ['show', false],
    ['hide', true],
  ] as const) {
    servers
      .command(`${verb} <slug>`)
      .description(
        isHidden
          ? 'take a server off the public list and stop polling it'
          : 'list a hidden server and poll it',
      )
      .action(async (slug: string, _: unknown, command: Command) => {
        const { db } = await session.database();
        await db.transaction(async (tx) => {
          await setServerHidden(tx, slug, isHidden);
          const action = isHidden ? 'server.hidden' : 'server.shown';
          await recordAudit(tx, { actorUserId: null, action, subject: slug });
        });
        print(command, { slug, isHidden }, `${slug} is ${isHidden ? 'hidden' : 'listed'}`);
      });
  }
}
