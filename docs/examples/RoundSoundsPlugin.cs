// A plugin for CounterStrikeSharp: at the end of a round everybody hears the sound of its MVP. Written for version 1.0.305 (.NET 8).
// We have no game server: CI compiles it against stubs of the types below and runs RoundSounds.cs, but never this file.
//
// Put into one project: this file, RoundSounds.cs, and Audio.cs from https://github.com/samyycX/Audio. On the server, install
// that Metamod plugin, and ffmpeg, with which it decodes. Set COMMUNITY_API to the address of your API, ending in /api/v1.
using System;
using System.Collections.Generic;
using System.Linq;
using CounterStrikeSharp.API;
using CounterStrikeSharp.API.Core;
using CounterStrikeSharp.API.Core.Attributes;
using CounterStrikeSharp.API.Core.Attributes.Registration;
using CounterStrikeSharp.API.Modules.Entities;

[MinimumApiVersion(305)]
public class RoundSoundsPlugin : BasePlugin {
    public override string ModuleName { get { return "Round-end sounds"; } }
    public override string ModuleVersion { get { return "1.0.0"; } }

    /// How loud, from 0 to 1: all files have the same loudness.
    const float Volume = 0.6f;
    RoundSounds sounds;

    public override void Load(bool hotReload) {
        sounds = new RoundSounds(Environment.GetEnvironmentVariable("COMMUNITY_API") ?? "http://localhost:3000/api/v1");
        RegisterListener<Listeners.OnMapStart>(OnMapStart);
        RegisterListener<Listeners.OnClientAuthorized>(OnClientAuthorized);
        RegisterListener<Listeners.OnClientDisconnect>(OnClientDisconnect);
        // Loaded while people play: nobody joins again.
        if (hotReload) OnMapStart(Server.MapName);
    }

    void OnMapStart(string map) {
        sounds.StartMap(Utilities.GetPlayers().Where(IsPerson).Select(IdOf));
    }

    void OnClientAuthorized(int slot, SteamID id) {
        sounds.Join(id.SteamId64.ToString());
    }

    void OnClientDisconnect(int slot) {
        var player = Utilities.GetPlayerFromSlot(slot);
        if (IsPerson(player)) sounds.Leave(IdOf(player));
    }

    [GameEventHandler]
    public HookResult OnRoundMvp(EventRoundMvp mvp, GameEventInfo info) {
        if (!IsPerson(mvp.Userid)) return HookResult.Continue;
        var sound = sounds.Find(IdOf(mvp.Userid));
        // The file is in memory: nothing waits here.
        if (sound != null) Audio.PlayFromBuffer(sound, Volume);
        return HookResult.Continue;
    }

    static bool IsPerson(CCSPlayerController player) {
        return player != null && player.IsValid && !player.IsBot && !player.IsHLTV;
    }

    static string IdOf(CCSPlayerController player) {
        return player.SteamID.ToString();
    }
}
