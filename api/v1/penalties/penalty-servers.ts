import { t } from 'elysia';
import type { Reads } from '../../../src/db/client.ts';
import { listPenaltyServers as listServers } from '../../../src/queries/servers/servers.ts';
import { protectedRoute } from '../../http/route-definition.ts';
import { namedObject, nullable, successModel } from '../models.ts';

const PenaltyServerModel = namedObject('PenaltyServer', {
  id: t.Integer({ minimum: 1, description: 'The `server_id` of penalties.', examples: [3] }),
  name: nullable(t.String({ examples: ['Only Mirage #1'] }), 'Null for a server that is not known here.'),
  slug: nullable(
    t.String({ examples: ['only-mirage-1'] }),
    'Null while the server is hidden or not known here.',
  ),
  penalties: t.Integer({ minimum: 1, description: 'Exact number of penalties.', examples: [137] }),
});

export const listPenaltyServers = protectedRoute({
  path: '/penalties/servers',
  id: 'listPenaltyServers',
  tag: 'Penalties',
  summary: 'The servers that penalties name',
  description:
    'By id, hidden servers too. Penalties without a server have the `server_id` 0, which is not listed.',
  isExtension: true,
  scope: 'penalties',
  parameters: {},
  success: { model: successModel('PenaltyServers', { data: t.Array(PenaltyServerModel) }) },
  handle: async ({ reads }: { reads: Reads }) => ({
    json: { success: true, data: await listServers(reads) },
  }),
});
