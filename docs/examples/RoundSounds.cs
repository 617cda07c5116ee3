// Keeps the voice files of the players on a game server, as a plugin does, with .NET 8 or Mono:
//   mcs -r:System.Net.Http -r:System.Runtime.Serialization RoundSounds.cs && mono RoundSounds.exe http://localhost:3000/api/v1
// Standard input stands for the game: "map ID,ID" when a map begins or somebody joins, "end ID" when a round ends, won by ID.
using System;
using System.Collections.Concurrent;
using System.IO;
using System.Linq;
using System.Net;
using System.Net.Http;
using System.Runtime.Serialization;
using System.Runtime.Serialization.Json;
using System.Security.Cryptography;
using System.Text;
using System.Threading.Tasks;

[DataContract] class Sound {
    [DataMember] public string steamid64 = "", voice_url = "", voice_sha256 = "";
    public byte[] bytes = new byte[0];
}
[DataContract] class SoundList { [DataMember] public Sound[] data = new Sound[0]; public string etag = ""; }

static class RoundSounds {
    static readonly HttpClient http = new HttpClient { Timeout = TimeSpan.FromSeconds(10) };
    static readonly ConcurrentDictionary<string, Sound> held = new ConcurrentDictionary<string, Sound>();
    static readonly ConcurrentDictionary<string, SoundList> lists = new ConcurrentDictionary<string, SoundList>();

    static T Parse<T>(byte[] json) { return (T)new DataContractJsonSerializer(typeof(T)).ReadObject(new MemoryStream(json)); }

    static async Task Refresh(string api, string[] players) {
        var address = api + "/players/roundsounds?steamids=" + string.Join(",", players.OrderBy(id => id));
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
            if (string.IsNullOrEmpty(sound.voice_url)) { held.TryRemove(sound.steamid64, out earlier); continue; }
            if (held.TryGetValue(sound.steamid64, out earlier) && earlier.voice_url == sound.voice_url) continue;
            sound.bytes = await http.GetByteArrayAsync(sound.voice_url);
            var hash = BitConverter.ToString(SHA256.Create().ComputeHash(sound.bytes)).Replace("-", "").ToLowerInvariant();
            // Another hash: it was replaced just now, and the next request has the new one.
            if (hash == sound.voice_sha256) held[sound.steamid64] = sound;
        }
        Console.WriteLine("ready: " + string.Join(" ", held.Keys.OrderBy(id => id)));
    }

    static async Task Follow(string api) {
        for (; ; await Task.Delay(5000)) {
            try {
                using (var lines = new StreamReader(await http.GetStreamAsync(api + "/events?types=sound.changed"))) {
                    if (!held.IsEmpty) await Refresh(api, held.Keys.ToArray());
                    for (var line = ""; line != null;) {
                        if (line.StartsWith("data:")) await Refresh(api, new[] { Parse<Sound>(Encoding.UTF8.GetBytes(line.Substring(5))).steamid64 });
                        var next = lines.ReadLineAsync();
                        // There is a comment every 15 seconds.
                        line = await Task.WhenAny(next, Task.Delay(60000)) == next ? await next : null;
                    }
                }
            } catch (Exception failure) { Console.Error.WriteLine(failure.Message); }
        }
    }

    static void Main(string[] args) {
        Task.Run(() => Follow(args[0]));
        for (var line = Console.ReadLine(); line != null; line = Console.ReadLine()) {
            var words = line.Split(' ');
            Sound sound;
            try {
                if (words[0] == "map") Refresh(args[0], words[1].Split(',')).Wait();
                else Console.WriteLine(held.TryGetValue(words[1], out sound) ? "play " + sound.bytes.Length + " bytes" : "silence");
            } catch (Exception failure) { Console.Error.WriteLine(failure.GetBaseException().Message); }
        }
    }
}
