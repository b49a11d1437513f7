import FoundationEssentials
import Glibc
import Posix
import TestSupport
import Testing

extension Keep {
    /// What others play: a recording with motion, with a still screen after it, and one that was torn off.
    @Suite struct RecordingPlayerTests {
        private static let codecs = ["vp8", "vp9", "av1"]

        @Test(arguments: Browser.Kind.allCases, codecs)
        func browsersPlayARecording(kind: Browser.Kind, codec: String) throws {
            let films = try Films(codec)
            let network = try Network()
            let server = try FileServer(of: films.folder, in: network)
            let browser = try network.browser(kind)
            try browser.open("\(server.origin)/page.html")
            for film in films.all {
                let seen = try browser.evaluate("await play('\(film.name)')", as: Film.self)
                #expect(abs(seen.duration - film.duration) < 0.05, "\(film): \(seen)")
                #expect(seen.seeks.allSatisfy { abs($0.at - $0.wanted) < 0.001 && $0.event == "seeked" }, "\(seen)")
                #expect(seen.end == "ended", "\(seen)")
                #expect(seen.error == nil)
                // Firefox leaves out clusters without a keyframe.
                guard kind == .chromium else { continue }
                let type = ["vp8": "vp8", "vp9": "vp9", "av1": "av01.0.04M.08"][codec]!
                let buffered = try browser.evaluate("await buffer('\(film.name)', '\(type)')", as: [Double].self)
                #expect(buffered.count == 2 && buffered[0] == 0, "\(buffered)")
                #expect(abs((buffered.last ?? 0) - film.duration) < 0.05, "\(film): \(buffered)")
            }
        }

        @Test(arguments: codecs) func programsPlayARecording(codec: String) throws {
            let films = try Films(codec)
            let decoders = ["vp8": "vp8dec", "vp9": "vp9dec", "av1": "av1dec"]
            for film in films.all {
                let path = "\(films.folder)/\(film.name)"
                let ffmpeg = try CommandResult([
                    "ffmpeg", "-v", "warning", "-i", path, "-enc_time_base", "-1", "-fps_mode", "passthrough", "-f",
                    "null", "-",
                ])
                #expect(ffmpeg.code == 0 && ffmpeg.errorOutput == "", "\(ffmpeg)")
                let pipeline = [
                    "filesrc", "location=\(path)", "!", "matroskademux", "!", decoders[codec]!, "!", "fakesink",
                ]
                let gstreamer = try CommandResult(["gst-launch-1.0", "-q"] + pipeline)
                #expect(gstreamer.code == 0 && gstreamer.errorOutput == "", "\(gstreamer)")
                let mkvmerge = try CommandResult(["mkvmerge", "-q", "-o", "\(films.folder)/merged.mkv", path])
                #expect(mkvmerge.code == 0 && mkvmerge.output == "", "\(mkvmerge)")
                let mkvinfo = try Subprocess.run(["mkvinfo", path])
                #expect(!mkvinfo.contains("error") && mkvinfo.contains("Duration"), "\(mkvinfo)")
                let mpv = try Subprocess.run([
                    "mpv", "--no-config", "--vo=null", "--ao=null", "--start=-1",
                    "--term-playing-msg=length ${=duration} seekable ${seekable}", path,
                ])
                let words = mpv.split(whereSeparator: \.isWhitespace)
                let said = words.firstIndex(of: "length").flatMap { Double(words[$0 + 1]) } ?? 0
                #expect(abs(said - film.duration) < 0.05 && mpv.contains("seekable yes"), "\(film): \(mpv)")
                #expect(mpv.contains("(End of file)"), "\(mpv)")
                // It knows the length once it has opened the file.
                let script = """
                    (for second in $(seq 20); do sleep 1; echo get_length; done; echo quit) | \
                    vlc -I oldrc --rc-fake-tty --vout dummy --aout dummy --play-and-pause "$0" 2> /dev/null
                    """
                let vlc = try Subprocess.run(OrdinaryUser.shared.running(["sh", "-c", script, path]))
                let length = vlc.split(whereSeparator: { !$0.isNumber }).compactMap { Int($0) }
                #expect(length.contains { abs(Double($0) - film.duration) <= 1 }, "\(film): \(vlc)")
            }
        }
    }
}

/// Recordings.
private final class Films {
    struct Film {
        let name: String
        /// By ffprobe.
        let duration: Double
    }

    let folder: String
    let all: [Film]
    private let scene: RecordScene

    init(_ codec: String) throws {
        let scene = try RecordScene(hasSender: false)
        (self.scene, folder) = (scene, scene.folder)
        let counter = try draw("counter", on: scene.server, "--fps", "20")
        let recorder = try scene.record("--codec", codec, "--size", "640x480")
        usleep(3_000_000)
        counter.stop()
        usleep(5_000_000)
        recorder.kill(SIGINT)
        guard try recorder.wait() == .code(0) else { throw Unexpected(recorder.errorOutput) }
        let torn = try scene.record("--codec", codec, "--size", "640x480")
        usleep(4_000_000)
        torn.kill(SIGKILL)
        try torn.wait()
        let last = try scene.record("--codec", codec, "--size", "640x480")
        try last.wait(until: "the torn one is whole") { last.errorOutput.contains("it is whole now") }
        last.kill(SIGINT)
        try last.wait()
        // The last one is over before a player knows.
        all = try scene.files.prefix(2).map { Film(name: $0, duration: try scene.probe($0).duration) }
        guard all.count == 2 else { throw Unexpected("\(scene.files)") }
        try FileDescriptor.open("\(folder)/page.html", O_WRONLY | O_CREAT).write(Self.page)
        chmod("\(folder)/page.html", 0o644)
        try Subprocess.run(["chmod", "a+rx", folder])
    }

    private static let page = """
        <!doctype html><body><script>
        const event = (target, names, ms = 20000) => new Promise(resolve => {
          const timer = setTimeout(() => resolve('nothing'), ms);
          for (const name of names) target.addEventListener(name, () => { clearTimeout(timer); resolve(name); }, { once: true });
        });
        async function buffer(name, codec) {
          const video = document.createElement('video');
          const source = new MediaSource();
          video.src = URL.createObjectURL(source);
          await event(source, ['sourceopen']);
          const track = source.addSourceBuffer(`video/webm;codecs=${codec}`);
          track.appendBuffer(await (await fetch(name)).arrayBuffer());
          await event(track, ['updateend', 'error']);
          source.endOfStream();
          const { buffered } = track;
          return [...Array(buffered.length).keys()].flatMap(range => [buffered.start(range), buffered.end(range)]);
        }
        async function play(name) {
          const video = document.createElement('video');
          video.muted = true;
          document.body.append(video);
          video.src = name;
          await event(video, ['canplay', 'error']);
          const film = { duration: video.duration, seeks: [], end: '', error: video.error?.message ?? null };
          for (const share of [0.9, 0.1, 0.5, 0.99, 0]) {
            const wanted = video.duration * share;
            video.currentTime = wanted;
            film.seeks.push({ wanted, event: await event(video, ['seeked', 'error']), at: video.currentTime });
          }
          video.currentTime = Math.max(0, video.duration - 1);
          await event(video, ['seeked', 'error']);
          const end = event(video, ['ended', 'error']);
          await video.play();
          film.end = await end;
          film.error = video.error?.message ?? null;
          video.remove();
          return film;
        }
        </script>
        """
}

/// What a browser says of a film.
private struct Film: Decodable {
    struct Seek: Decodable {
        let wanted: Double
        let event: String
        let at: Double
    }

    let duration: Double
    let seeks: [Seek]
    let end: String
    let error: String?
}

/// nginx with a folder, whose answers may be parts of files.
private final class FileServer {
    let origin = "http://\(Network.senderAddress):8090"
    private let process: Subprocess

    init(of folder: String, in network: Network) throws {
        let configuration = """
            daemon off;
            user root;
            pid \(folder)/pid;
            error_log stderr notice;
            events {}
            http {
                access_log off;
                types { video/webm webm; text/html html; }
                server {
                    listen \(Network.senderAddress):8090;
                    root \(folder);
                }
            }
            """
        try FileDescriptor.open("\(folder)/nginx.conf", O_WRONLY | O_CREAT | O_TRUNC).write(configuration)
        process = try Subprocess(network.atSender(["/usr/sbin/nginx", "-e", "stderr", "-c", "\(folder)/nginx.conf"]))
        let process = process
        try process.wait(until: "nginx runs") { process.errorOutput.contains("start worker process ") }
    }

    deinit { process.stop() }
}
