// Keeps the voice files of the players on a game server. RoundSoundsPlugin.cs uses the class for CounterStrikeSharp; the program
// at the end runs it without a game, with .NET 8 or Mono (Debian: mono-mcs mono-runtime libmono-system-net-http4.0-cil
// libmono-system-runtime-serialization4.0-cil):
//   mcs -r:System.Net.Http -r:System.Runtime.Serialization RoundSounds.cs && mono RoundSounds.exe http://localhost:3000/api/v1
using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net;
using System.Net.Http;
using System.Runtime.Serialization;
using System.Runtime.Serialization.Json;
using System.Security.Cryptography;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

[DataContract] public class Sound {
    [DataMember] public string steamid64 = "", voice_url = "", voice_sha256 = "";
    public byte[] bytes = new byte[0];
}
[DataContract] public class SoundList { [DataMember] public Sound[] data = new Sound[0]; public string etag = ""; }

public class RoundSounds {
    static readonly HttpClient http = new HttpClient { Timeout = TimeSpan.FromSeconds(10) };
    static readonly Sound None = new Sound();
    readonly string api;
    // Who is on the server, with their sounds.
    readonly ConcurrentDictionary<string, Sound> players = new ConcurrentDictionary<string, Sound>();
    readonly ConcurrentDictionary<string, SoundList> lists = new ConcurrentDictionary<string, SoundList>();
    readonly ConcurrentQueue<string> joined = new ConcurrentQueue<string>();
    int isRefreshing;

    public RoundSounds(string api) { this.api = api; Task.Run(Follow); }

    /// Forgets everybody but these players.
    public void StartMap(IEnumerable<string> ids) {
        players.Clear();
        lists.Clear();
        foreach (var id in ids) Join(id);
    }
    /// Players who join within two seconds share one request.
    public void Join(string id) {
        players.TryAdd(id, None);
        joined.Enqueue(id);
        if (Interlocked.Exchange(ref isRefreshing, 1) == 0) Task.Run(RefreshJoined);
    }
    public void Leave(string id) { Sound sound; players.TryRemove(id, out sound); }
    /// The bytes of a player's voice file, or null.
    public byte[] Find(string id) { Sound sound; return players.TryGetValue(id, out sound) && sound != None ? sound.bytes : null; }
    public IEnumerable<string> Ready { get { return players.Where(one => one.Value != None).Select(one => one.Key).OrderBy(id => id); } }

    async Task RefreshJoined() {
        await Task.Delay(2000);
        isRefreshing = 0;
        var ids = new HashSet<string>();
        for (string id; joined.TryDequeue(out id);) ids.Add(id);
        try { await Refresh(ids.ToArray()); } catch (Exception failure) { Console.Error.WriteLine(failure.Message); }
    }

    async Task Refresh(string[] ids) {
        // One request asks for at most 100 players.
        for (var from = 0; from < ids.Length; from += 100) await RefreshSome(ids.Skip(from).Take(100));
        Console.WriteLine("ready: " + string.Join(" ", Ready));
    }

    async Task RefreshSome(IEnumerable<string> ids) {
        var address = api + "/players/roundsounds?steamids=" + string.Join(",", ids.OrderBy(id => id));
        var request = new HttpRequestMessage(HttpMethod.Get, address);
        SoundList list;
        if (lists.TryGetValue(address, out list)) request.Headers.TryAddWithoutValidation("If-None-Match", list.etag);
        using (var response = await http.SendAsync(request)) {
            if (response.StatusCode != HttpStatusCode.NotModified) {
                list = Parse<SoundList>(await response.EnsureSuccessStatusCode().Content.ReadAsByteArrayAsync());
                list.etag = response.Headers.ETag.ToString();
                lists[address] = list;
            }
        }
        foreach (var sound in list.data) {
            Sound earlier;
            // They left meanwhile.
            if (!players.TryGetValue(sound.steamid64, out earlier)) continue;
            if (string.IsNullOrEmpty(sound.voice_url)) { players.TryUpdate(sound.steamid64, None, earlier); continue; }
            if (earlier.voice_url == sound.voice_url) continue;
            sound.bytes = await http.GetByteArrayAsync(sound.voice_url);
            var hash = BitConverter.ToString(SHA256.Create().ComputeHash(sound.bytes)).Replace("-", "").ToLowerInvariant();
            // Another hash: it was replaced just now, and the next request has the new one.
            if (hash == sound.voice_sha256) players.TryUpdate(sound.steamid64, sound, earlier);
        }
    }

    async Task Follow() {
        for (; ; await Task.Delay(5000)) {
            try {
                using (var lines = new StreamReader(await http.GetStreamAsync(api + "/events?types=sound.changed"))) {
                    await Refresh(players.Keys.ToArray());
                    for (var line = ""; line != null;) {
                        var id = line.StartsWith("data:") ? Parse<Sound>(Encoding.UTF8.GetBytes(line.Substring(5))).steamid64 : "";
                        if (players.ContainsKey(id)) await Refresh(new[] { id });
                        var next = lines.ReadLineAsync();
                        // There is a comment every 15 seconds.
                        line = await Task.WhenAny(next, Task.Delay(60000)) == next ? await next : null;
                    }
                }
            } catch (Exception failure) { Console.Error.WriteLine(failure.Message); }
        }
    }

    static T Parse<T>(byte[] json) { return (T)new DataContractJsonSerializer(typeof(T)).ReadObject(new MemoryStream(json)); }
}

/// Standard input stands for the game: "map ID,ID" when a map begins, "join ID", "leave ID", and "end ID" for a round won by ID.
static class Program {
    static void Main(string[] args) {
        var sounds = new RoundSounds(args[0]);
        for (var line = Console.ReadLine(); line != null; line = Console.ReadLine()) {
            var words = line.Split(' ');
            if (words[0] == "map") sounds.StartMap(words[1].Split(','));
            if (words[0] == "join") sounds.Join(words[1]);
            if (words[0] == "leave") sounds.Leave(words[1]);
            if (words[0] != "end") continue;
            var bytes = sounds.Find(words[1]);
            Console.WriteLine(bytes == null ? "silence" : "play " + bytes.Length + " bytes");
        }
    }
}
