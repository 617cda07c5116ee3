import { t } from 'elysia';
import type { Reads } from '../../../src/db/client.ts';
import { NotFound } from '../../../src/domain/errors.ts';
import { presentWithLift } from '../../../src/events/penalty-payload.ts';
import { findPenalty, type PenaltyDetails } from '../../../src/queries/penalties/row.ts';
import { shownNameOf } from '../../../src/queries/servers/servers.ts';
import { defineFailure } from '../../http/documented-failures.ts';
import type { Parameter } from '../../http/parameters.ts';
import { protectedRoute } from '../../http/route-definition.ts';
import { namedObject, nullable, successModel } from '../models.ts';
import { withLiftFields } from './penalty-models.ts';

const ServerModel = namedObject('ServerOfPenalty', {
  id: t.Integer({ minimum: 1, examples: [3] }),
  name: t.String({ examples: ['Only Mirage #1'] }),
  slug: nullable(t.String({ examples: ['only-mirage-1'] }), 'Null while the server is hidden.'),
});
const DetailsModel = namedObject('PenaltyDetails', {
  ...withLiftFields,
  server: nullable(ServerModel, 'Null when there is none, and for a server that is not known here.'),
  source: nullable(t.String({ examples: ['simpleadmin'] }), 'The system that it was imported from.'),
  is_removed: t.Boolean({ description: 'Whether it is gone at its source.', examples: [false] }),
});

/** Undefined for an invalid id, which no penalty has. */
const ID_PARAMETER = {
  in: 'path',
  name: 'id',
  description: 'The `id` of its record.',
  schema: { type: 'integer', minimum: 1 },
  example: 1,
  parse: (text = '') => (/^[1-9][0-9]{0,15}$/.test(text) ? Number(text) : undefined),
} as const satisfies Parameter<number | undefined>;

const PENALTY_NOT_FOUND = defineFailure(
  'PenaltyNotFound',
  'There is no such penalty.',
  () => new NotFound('Penalty not found'),
);

export const getPenalty = protectedRoute({
  path: '/penalties/:id',
  id: 'getPenalty',
  tag: 'Penalties',
  summary: 'One penalty',
  isExtension: true,
  scope: 'penalties',
  parameters: { id: ID_PARAMETER },
  hasEtag: true,
  success: { model: successModel('PenaltyResponse', { data: DetailsModel }) },
  failures: [PENALTY_NOT_FOUND],
  handle: async ({ reads }: { reads: Reads }, { id }, { now }) => {
    const details = id === undefined ? undefined : await findPenalty(reads, id, now);
    if (!details) throw PENALTY_NOT_FOUND.error();
    return { json: { success: true, data: presentDetails(details) } };
  },
});

function presentDetails({ penalty, server }: PenaltyDetails) {
  return {
    ...presentWithLift(penalty),
    server: server && {
      id: server.id,
      name: shownNameOf(server),
      slug: server.isHidden ? null : server.slug,
    },
    source: penalty.source,
    is_removed: penalty.goneAt !== null,
  };
}
