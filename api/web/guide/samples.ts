/** A program that runs as pasted, against this installation. */
export type Sample = { id: string; language: 'curl' | 'PHP' | 'TypeScript' | 'HTML'; code: string };

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

/** A page with the bans and a form to filter them, which asks the API at most once in 30 seconds for each choice. */
export function banList(publicUrl: string): Sample[] {
  const url = `${publicUrl}/api/v1/bans?`;
  return [
    {
      id: 'bans-php',
      language: 'PHP',
      code: `<?php
$filters = [];
foreach (['status', 'steamid', 'page'] as $name) {
    $filters[$name] = is_string($_GET[$name] ?? null) ? $_GET[$name] : '';
}
$url = '${url}' . http_build_query($filters);
$file = sys_get_temp_dir() . '/bans-' . hash('sha256', $url) . '.json';
if (!is_file($file) || filemtime($file) < time() - 30) {
    $context = stream_context_create(['http' => [
        'header' => 'Authorization: Bearer ' . getenv('API_TOKEN'),
        'ignore_errors' => true,
        'timeout' => 5,
    ]]);
    $body = @file_get_contents($url, false, $context);
    // 400 says what is wrong with a filter. After 429 or an outage, show what there was before.
    $isUseful = preg_match('/ (200|400) /', $http_response_header[0] ?? '');
    if ($isUseful || !is_file($file)) {
        file_put_contents($file, $body ?: '{"success":false,"message":"Please try again later."}', LOCK_EX);
    } else {
        touch($file);
    }
}
$list = json_decode(file_get_contents($file), true);
?>
<form>
  <input name="steamid" placeholder="SteamID" value="<?= htmlspecialchars($filters['steamid']) ?>">
  <select name="status">
    <option value="">All</option>
    <?php foreach (['ACTIVE', 'EXPIRED', 'UNBANNED'] as $status): ?>
      <option <?= $filters['status'] === $status ? 'selected' : '' ?>><?= $status ?></option>
    <?php endforeach ?>
  </select>
  <button>Filter</button>
</form>
<?php if (!$list['success']): ?>
  <p><?= htmlspecialchars($list['message']) ?></p>
<?php else: ?>
  <table>
    <?php foreach ($list['data'] as $ban): ?>
      <tr>
        <td><?= htmlspecialchars($ban['player_name']) ?></td>
        <td><?= htmlspecialchars($ban['reason']) ?></td>
        <td><?= $ban['ends'] ?? 'permanent' ?></td>
        <td><?= $ban['status'] ?></td>
      </tr>
    <?php endforeach ?>
  </table>
  <p><?= $list['meta']['total'] ?> bans, page <?= $list['meta']['current_page'] ?> of <?= $list['meta']['last_page'] ?></p>
<?php endif ?>`,
    },
    {
      id: 'bans-typescript',
      language: 'TypeScript',
      code: `import { createServer } from 'node:http';

type Ban = { player_name: string; reason: string; ends: string | null; status: string };
type List = { success: boolean; message?: string; data?: Ban[]; meta?: { total: number } };
const lists = new Map<string, { list: Promise<List>; readAt: number }>();

function readBans(filters: string): Promise<List> {
  const previous = lists.get(filters);
  if (previous && previous.readAt > Date.now() - 30_000) return previous.list;
  const later = { success: false, message: 'Please try again later.' };
  const list = fetchBans(filters).catch(() => previous?.list ?? later);
  if (lists.size >= 1000) lists.clear();
  lists.set(filters, { list, readAt: Date.now() });
  return list;
}

async function fetchBans(filters: string): Promise<List> {
  const headers = { Authorization: \`Bearer \${process.env.API_TOKEN}\` };
  const response = await fetch('${url}' + filters, { headers });
  // 400 says what is wrong with a filter. After 429 or an outage, the list from before stays.
  if (response.status !== 200 && response.status !== 400) throw new Error(\`status \${response.status}\`);
  return (await response.json()) as List;
}

const toHtml = (text: string) => text.replace(/[&<>"]/g, (sign) => \`&#\${sign.charCodeAt(0)};\`);

createServer(async (request, response) => {
  const asked = new URL(request.url ?? '/', 'http://localhost').searchParams;
  const filters = ['status', 'steamid', 'page'].map((name) => [name, asked.get(name) ?? '']);
  const { message, data = [], meta } = await readBans(String(new URLSearchParams(filters)));
  const rows = data.map((ban) => [ban.player_name, ban.reason, ban.ends ?? 'permanent', ban.status]);
  const table = rows.map((row) => \`<tr>\${row.map((text) => \`<td>\${toHtml(text)}</td>\`).join('')}</tr>\`);
  response.setHeader('content-type', 'text/html; charset=utf-8');
  response.end(\`<form>
    <input name="steamid" placeholder="SteamID" value="\${toHtml(asked.get('steamid') ?? '')}">
    <select name="status">
      <option value="">All</option><option>ACTIVE</option><option>EXPIRED</option><option>UNBANNED</option>
    </select>
    <button>Filter</button>
  </form>
  <p>\${toHtml(message ?? \`\${meta?.total} bans\`)}</p>
  <table>\${table.join('')}</table>\`);
}).listen(Number(process.env.PORT ?? 8080));`,
    },
  ];
}

/** Receivers of webhooks, which refuse messages that are not signed with the secret in `WEBHOOK_SECRET`. */
export const WEBHOOK_RECEIVERS: readonly Sample[] = [
  {
    id: 'webhook-typescript',
    language: 'TypeScript',
    code: `import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';

const webhook = new Webhook(process.env.WEBHOOK_SECRET ?? '');

createServer(async (request, response) => {
  const body = await text(request);
  try {
    webhook.verify(body, request.headers as Record<string, string>);
  } catch {
    response.writeHead(400).end();
    return;
  }
  const { type, data } = JSON.parse(body);
  // Do nothing for a webhook-id that you know.
  console.log(request.headers['webhook-id'], type, data.penalty?.player_name);
  response.writeHead(204).end();
}).listen(Number(process.env.PORT ?? 8080));`,
  },
  {
    id: 'webhook-php',
    language: 'PHP',
    code: `<?php
$secret = base64_decode(substr(getenv('WEBHOOK_SECRET'), strlen('whsec_')));
$body = file_get_contents('php://input');
$id = $_SERVER['HTTP_WEBHOOK_ID'] ?? '';
$timestamp = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
$expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $secret, true));

$isSigned = false;
foreach (explode(' ', $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '') as $signature) {
    if (hash_equals($expected, $signature)) $isSigned = true;
}
if (!$isSigned || abs(time() - (int) $timestamp) > 300) {
    http_response_code(400);
    exit;
}

$message = json_decode($body, true);
// Do nothing for a webhook-id that you know: INSERT IGNORE INTO seen_webhooks (id) VALUES (?)
http_response_code(204);`,
  },
];

/** A list of servers in a page, which every visitor's browser reads for itself. */
export function browserRequest(publicUrl: string): Sample {
  return {
    id: 'browser-html',
    language: 'HTML',
    code: `<ul id="servers"></ul>
<script>
  async function showServers() {
    const response = await fetch('${publicUrl}/api/v1/servers');
    if (!response.ok) return;
    const { data } = await response.json();
    document.getElementById('servers').replaceChildren(
      ...data.map((server) => {
        const item = document.createElement('li');
        item.textContent = \`\${server.name}: \${server.players_count} / \${server.max_players}\`;
        return item;
      }),
    );
  }
  showServers();
  setInterval(showServers, 15_000);
</script>`,
  };
}
