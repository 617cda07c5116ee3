import { expect, test } from 'bun:test';
import { t } from 'elysia';
import type { Operation } from '../../../api/http/route.ts';
import { describeOperation } from '../../../api/openapi/describe.ts';
import { buildComponents } from '../../../api/openapi/document.ts';
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

test('an extension says so, names its scope, and documents the 403 without it', () => {
  const described = describeOperation(EXPORT);
  expect(described).toMatchObject({
    operationId: 'exportPenalties',
    description:
      'Extension: not part of the specification of version 1. The last line ends it. ' +
      'Needs a token with the scope `penalties`.',
    'x-extension': true,
    'x-scope': 'penalties',
    responses: { 403: { $ref: '#/components/responses/protectedScopeMissing.penalties' } },
  });
  const { responses } = buildComponents([EXPORT], LIMITS);
  const examples = {
    'ScopeMissing.penalties': {
      value: { success: false, message: 'This token lacks the scope "penalties"' },
    },
  };
  expect(responses['protectedScopeMissing.penalties']).toMatchObject({
    content: { 'application/json': { examples } },
  });
});

test('a body that is not JSON has its own type, and a response its own headers beside the shared ones', () => {
  const { responses } = describeOperation(EXPORT);
  expect(responses[200]).toMatchObject({
    headers: {
      Link: { $ref: '#/components/headers/Link' },
      'Cache-Control': { $ref: '#/components/headers/Cache-Control.private-no-cache' },
    },
    content: { 'application/x-ndjson': { schema: { $ref: '#/components/schemas/ExportedPenalty' } } },
  });
});

test('two models or two parameters with the same name stop the start', () => {
  const model = { ...EXPORT, success: { model: t.Object({}, { $id: 'ExportedPenalty' }) } };
  expect(() => buildComponents([EXPORT, model], LIMITS)).toThrow('two models are called ExportedPenalty');
  const parameter = { ...EXPORT, parameters: { status: { ...LIST_PARAMETERS.status } } };
  expect(() => buildComponents([EXPORT, parameter], LIMITS)).toThrow('two parameters are called status');
});

test('a parameter that accepts its documented invalid example stops the start as well', () => {
  const parameter = { ...LIST_PARAMETERS.status, refused: 'ACTIVE' };
  expect(() => describeOperation({ ...EXPORT, parameters: { status: parameter } })).toThrow(
    'the parameter status does not refuse "ACTIVE"',
  );
});
