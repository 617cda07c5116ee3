import { parseSteamId, type SteamId64 } from '../domain/steam-id.ts';

/** Somebody who plays on the demo's servers. */
export type Person = { steamId64: SteamId64; name: string };

/** Realistic player names: many scripts, decoration, and characters that pages and queries must escape. */
const NAMES = `
  Rzeźnik · Żółw Ninja · Pan Kłos · Gżegżółka · Ćma barowa · Łowca Dusz · Świstak · Kapitan Bąk ·
  babcia_halina · Wiesiek z bloku · SZYBKI LOPEZ · zły porucznik · Mistrz Yogurt · Źrebak ·
  Dziadek Mróz · Максим · Злой Кот · Снайпер_77 · Дядя Стёпа · Ёжик в тумане · Їжачок · Ґудзик ·
  Козак Нечай · Бабушка с AWP · Αχιλλέας · Οδυσσέας · Μαύρος Λύκος · Şimşek · İstanbullu · Gölge ·
  Yağmur · Müller · Größenwahn · Jäger · Fußpilz · Crème brûlée · Garçon · L’Éclair · El Niño ·
  Señor Piña · Ñandú · João do Pulo · Coração · Ångström · Øystein · Blåbær · Þór · Ævar · Jääkarhu ·
  Mänty · Vlček · Řezník · Ďábel · Ľuboš · Szőke · Őrült · Kutyafül · Țepeș · Ștefan · Đurđa · Ćevapi ·
  Žižka · Čaroděj · Ąžuolas · Žvirblis · Ķirsis · Kass Artur · Öökull · صقر · أبو علي · النمر الأسود ·
  شبح الصحراء · שועל · דוד המלך · צל · شیر ایرانی · پلنگ · چابک · 王小明 · 夜猫子 · 龙卷风 · 神枪手 · 老王 · 小笼包 ·
  無名 · 忍者 · さくら · ラーメン大好き · タナカ · ねこ · 侍魂 · 勇者ああああ · 김치찌개 · 불닭볶음면 · 호랑이 · 서울사람 · 달빛 · นักแม่นปืน ·
  เสือดำ · ช้างน้อย · शेर · राजा · বাঘ · புலி · ತೇಜಸ್ · Nguyễn · Phở Bò · Đại Ca · Արծիվ · Հայկ ·
  გიორგი · ნიკა · አንበሳ · Қыран · Монгол баатар · བོད་མི · ខ្លា · 🦊 lis · 💀💀💀 · gg 🎯 · 👑 Królowa · 🐸 ·
  ツ smile ツ · ★ ProKiller ★ · 『 Shadow 』 · ꧁ Lord ꧂ · ♛ admin? nope ♛ · <b>bold</b> · "quoted" name ·
  O'Brien · Robert'); DROP TABLE · @everyone · **ważny** · _under_score_ · \`tick\` · ||spoiler|| ·
  [PL] rekin · [RU] медведь · =[GE]= Adler · xX_sniper_Xx · 1337 · 007 · null · undefined · true · a ·
  bardzo_dluga_nazwa_gracza_bez_spacji · Mr. Bean · toaster · potato aim · lag · whiff · NoScope ·
  headshot_harry · eco frag · rush b · camper #1 · afk · smoke criminal · flash me pls · defuse kit ·
  CT spawn · banana peel · silver elite · Bot Łukasz
`
  .split('·')
  .map((name) => name.trim());

const TAGS = ['', '', '', '[KTP] ', '[zK] ', '☆ ', '| PRO | ', 'mini', 'x', '[NW] ', '-=Ω=- '] as const;
const ENDINGS = ['', '', '', '', ' ツ', '_', ' #2', ' 🇵🇱', '.exe', ' [AFK]', '1998', ' jr.'] as const;

/** How many people there are. */
export const PEOPLE = 600;
/** People before this position are users with every combination of flags; every other one of them is an admin. */
export const FLAGGED = 16;
/** The people that visitors can sign in as, by their position; the owner has every flag and the demo's token. */
export const OWNER = 15;
export const ADMIN = 1;
export const MODERATOR = 17;
/** A user without flags who has penalties to look at. */
export const MEMBER = 0;

/** Account ids that Steam has not assigned yet, so that no real person is listed. */
const FIRST_ACCOUNT_ID = 4_100_000_000;

/** The person at a position, always the same. */
export function personAt(position: number): Person {
  const at = (list: readonly string[], number: number) => list[number % list.length] ?? '';
  const name = at(NAMES, position);
  return {
    // Steps of a prime, so that ids look as different as real ones.
    steamId64: parseSteamId(`[U:1:${FIRST_ACCOUNT_ID + position * 104_729}]`),
    name: position < NAMES.length ? name : `${at(TAGS, position)}${name}${at(ENDINGS, position)}`,
  };
}
