import { createPoller } from '../poll/poller.ts';
import type { Context } from './context.ts';

/** Role `poller`: queries the game servers. */
export function startPolling(context: Context): void {
  const { config, log, database, serverList, metrics, onStopPart, leaders, health } = context;
  const poller = createPoller({
    db: database.db,
    leaders,
    log,
    intervalSeconds: config.pollIntervalSeconds,
    servers: serverList,
  });
  onStopPart('poller', poller.stop);
  health.set('poller', poller.health);
  metrics.addGauge('polls_running', 'Queries of game servers under way.', () => poller.health().running);
  metrics.addGauge(
    'polls_waiting',
    'Game servers that are due and wait for a free query.',
    () => poller.health().waiting,
  );
  poller.start();
}
