// What our answers are held against: `node node-server.mjs fastify|express JSON` sends the same bytes and headers.
const [, , framework, argument] = process.argv;
const { body, headers } = JSON.parse(argument);
const bytes = Buffer.from(body);

if (framework === 'fastify') {
  const { default: fastify } = await import('fastify');
  const app = fastify();
  app.get('/api/v1/servers', (_request, reply) => reply.headers(headers).send(bytes));
  await app.listen({ port: 0, host: '127.0.0.1' });
  console.log(JSON.stringify({ port: app.server.address().port }));
} else {
  const { default: express } = await import('express');
  const app = express();
  app.disable('x-powered-by');
  app.get('/api/v1/servers', (_request, response) => response.set(headers).send(bytes));
  const server = app.listen(0, '127.0.0.1', () =>
    console.log(JSON.stringify({ port: server.address().port })),
  );
}
