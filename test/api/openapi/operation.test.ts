import { expect, test } from 'bun:test';
import { t } from 'elysia';
import type { Operation } from '../../../api/http/route-definition.ts';
import { buildSchemas } from '../../../api/openapi/document.ts';
import { describeOperation } from '../../../api/openapi/operation.ts';
import { LIST_PARAMETERS } from '../../../api/v1/penalties/penalty-parameters.ts';

const LIMITS = { public: 30, protected: 60 };

/** An operation with everything that an extension may declare. */
const EXPORT = {
  path: '/penalties/export',
  id: 'exportPenalties',
  tag: 'Penalties',
  summary: 'Every penalty, one a line',
  description: 'The last line ends it.',
  isExtension: true,
  policy: 'protected',
  scope: 'penalties',
  parameters: { status: LIST_PARAMETERS.status },
  success: {
    model: t.Object({ id: t.Integer() }, { $id: 'ExportedPenalty' }),
    contentType: 'application/x-ndjson',
    headers: {
      Link: { description: 'Other pages.', schema: { type: 'string' }, example: '</>; rel="next"' },
    },
  },
  failures: [],
} satisfies Operation;

const SCHEMAS = '#/components/schemas';

test('an extension says so, names its scope, and documents the 403 without it', () => {
  expect(describeOperation(EXPORT, LIMITS)).toMatchObject({
    operationId: 'exportPenalties',
    description:
      'Extension: not part of the specification of version 1. The last line ends it. ' +
      'Needs a token with the scope `penalties`.',
    'x-extension': true,
    'x-scope': 'penalties',
    responses: {
      403: {
        content: {
          'application/json': {
            schema: { $ref: `${SCHEMAS}/Error` },
            examples: {
              'ScopeMissing.penalties': {
                value: { success: false, message: 'This token lacks the scope "penalties"' },
              },
            },
          },
        },
      },
    },
  });
});

test('a body that is not JSON has its own type, and a response its own headers beside the shared ones', () => {
  expect(describeOperation(EXPORT, LIMITS)).toMatchObject({
    responses: {
      200: {
        headers: {
          Link: EXPORT.success.headers.Link,
          'Cache-Control': { schema: { enum: ['private, no-cache'] } },
          'X-RateLimit-Limit': { example: 60 },
        },
        content: { 'application/x-ndjson': { schema: { $ref: `${SCHEMAS}/ExportedPenalty` } } },
      },
    },
  });
});

test('two models with the same name stop the start', () => {
  const model = { ...EXPORT, success: { model: t.Object({}, { $id: 'ExportedPenalty' }) } };
  expect(() => buildSchemas([EXPORT, model])).toThrow('two models are called ExportedPenalty');
});

test('a parameter that accepts its documented invalid example stops the start as well', () => {
  const parameter = { ...LIST_PARAMETERS.status, refused: 'ACTIVE' };
  expect(() => describeOperation({ ...EXPORT, parameters: { status: parameter } }, LIMITS)).toThrow(
    'the parameter status does not refuse "ACTIVE"',
  );
});
