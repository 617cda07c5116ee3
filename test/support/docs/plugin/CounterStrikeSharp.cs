// The types of CounterStrikeSharp and of Audio.cs that the plugin of docs/examples uses, so that it can be compiled without them.
using System;
using System.Collections.Generic;

namespace CounterStrikeSharp.API {
    public static class Server { public static string MapName { get { return ""; } } }
    public static class Utilities {
        public static List<Core.CCSPlayerController> GetPlayers() { return null; }
        public static Core.CCSPlayerController GetPlayerFromSlot(int slot) { return null; }
    }
}
namespace CounterStrikeSharp.API.Core {
    public enum HookResult { Continue = 0 }
    public class GameEventInfo { }
    public class CCSPlayerController {
        public bool IsValid { get; set; }
        public bool IsBot { get; set; }
        public bool IsHLTV { get; set; }
        public ulong SteamID { get; set; }
    }
    public class EventRoundMvp { public CCSPlayerController Userid { get; set; } }
    public class Listeners {
        public delegate void OnMapStart(string mapName);
        public delegate void OnClientAuthorized(int playerSlot, Modules.Entities.SteamID steamId);
        public delegate void OnClientDisconnect(int playerSlot);
    }
    public abstract class BasePlugin {
        public abstract string ModuleName { get; }
        public abstract string ModuleVersion { get; }
        public virtual void Load(bool hotReload) { }
        public void RegisterListener<T>(T handler) where T : class { }
    }
}
namespace CounterStrikeSharp.API.Core.Attributes {
    public class MinimumApiVersion : Attribute { public MinimumApiVersion(int version) { } }
}
namespace CounterStrikeSharp.API.Core.Attributes.Registration {
    public class GameEventHandlerAttribute : Attribute { }
}
namespace CounterStrikeSharp.API.Modules.Entities {
    public class SteamID { public ulong SteamId64 { get; set; } }
}
public static class Audio { public static void PlayFromBuffer(byte[] audioBuffer, float volume = 1f) { } }
