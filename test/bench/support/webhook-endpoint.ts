/**
 * Receives webhooks in a separate process: `bun webhook-endpoint.ts`. Prints its port; `GET /` tells how many messages
 * came, and the delays in milliseconds of every tenth: parsing each message would be measured too.
 */
const SAMPLE_EVERY = 10;
const delaysMs: number[] = [];
let received = 0;

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: async (request) => {
    if (request.method === 'GET') return Response.json({ received, delaysMs });
    const text = await request.text();
    received += 1;
    if (received % SAMPLE_EVERY === 0) {
      delaysMs.push(Date.now() - Number(/"reason":"sent (\d+) end"/.exec(text)?.[1]));
    }
    return new Response(null, { status: 204 });
  },
});
console.log(JSON.stringify({ port: server.port }));
