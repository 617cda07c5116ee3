/** A program that runs as pasted, against this installation. */
export type Sample = { id: string; language: 'curl' | 'PHP' | 'TypeScript'; code: string };

/** The first request: no token. */
export function firstRequest(publicUrl: string): Sample[] {
  const url = `${publicUrl}/api/v1/servers`;
  return [
    { id: 'first-curl', language: 'curl', code: `curl -s '${url}'` },
    {
      id: 'first-php',
      language: 'PHP',
      code: `<?php
$response = json_decode(file_get_contents('${url}'), true);
foreach ($response['data'] as $server) {
    echo $server['name'], ': ', $server['players_count'], "\\n";
}`,
    },
    {
      id: 'first-typescript',
      language: 'TypeScript',
      code: `const response = await fetch('${url}');
const { data } = (await response.json()) as { data: { name: string; players_count: number }[] };
for (const server of data) console.log(\`\${server.name}: \${server.players_count}\`);`,
    },
  ];
}

/** A request with a token, which is in the environment as `API_TOKEN`. */
export function requestWithToken(publicUrl: string): Sample[] {
  const url = `${publicUrl}/api/v1/bans?status=ACTIVE&per_page=10`;
  return [
    { id: 'token-curl', language: 'curl', code: `curl -s -H "Authorization: Bearer $API_TOKEN" '${url}'` },
    {
      id: 'token-php',
      language: 'PHP',
      code: `<?php
$context = stream_context_create(['http' => [
    'header' => 'Authorization: Bearer ' . getenv('API_TOKEN'),
    'ignore_errors' => true,
]]);
$response = json_decode(file_get_contents('${url}', false, $context), true);
if (!$response['success']) {
    exit($response['message'] . "\\n");
}
echo $response['meta']['total'], " active bans\\n";`,
    },
    {
      id: 'token-typescript',
      language: 'TypeScript',
      code: `const response = await fetch('${url}', {
  headers: { Authorization: \`Bearer \${process.env.API_TOKEN}\` },
});
const body = (await response.json()) as { success: boolean; message?: string; meta: { total: number } };
if (!body.success) throw new Error(body.message);
console.log(\`\${body.meta.total} active bans\`);`,
    },
  ];
}

/** Requests one list twice: the second response is 304 without a body. */
export function conditionalRequest(publicUrl: string): Sample {
  const url = `${publicUrl}/api/v1/servers`;
  return {
    id: 'etag-curl',
    language: 'curl',
    code: `ETAG=$(curl -sI '${url}' | tr -d '\\r' | sed -n 's/^etag: //Ip')
curl -s -o /dev/null -w '%{http_code}\\n' -H "If-None-Match: $ETAG" '${url}'`,
  };
}

/** Follows the event stream. */
export function streamRequest(publicUrl: string): Sample {
  return {
    id: 'events-curl',
    language: 'curl',
    code: `curl -sN -H "Authorization: Bearer $API_TOKEN" '${publicUrl}/api/v1/events'`,
  };
}
