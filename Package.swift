// swift-tools-version: 6.2
import PackageDescription

let strictWarnings: [SwiftSetting] =
    Context.environment["ORIEL_WARNINGS_AS_ERRORS"] == nil ? [] : [.treatAllWarnings(as: .error)]

/// Every target: Swift 6 with explicit existentials, imports and member lookups.
let swift: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
    ] + strictWarnings

/// Targets that hold no unsafe code: each unsafe expression is a warning there, and `tools/check` makes it an error.
let safe: [SwiftSetting] = swift + [.strictMemorySafety()]

let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

let package = Package(
    name: "oriel",
    products: [
        .executable(name: "oriel", targets: ["oriel"]),
        .library(name: "FrameBridge", targets: ["FrameBridge", "Time"]),
        .library(name: "AllocationCounter", type: .dynamic, targets: ["AllocationCounter"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
    ],
    targets: [
        .executableTarget(
            name: "oriel",
            dependencies: [
                "Access", "Asking", "Calls", "Capture", "CLimits", "Configuration", "Control", "CQREncode",
                "Credentials", "Desktop", "Discovery", "FrameBridge", "Helpers", "HTTP", "ICE", "JSON", "Media",
                "Motion",
                "Nearby", "Pairing", "Pixels", "Posix", "Publishing", "Recording", "Rendering", "Sender", "Sound",
                "Supervising", "Time", "TLS", "VideoEncoding", "X11Capture",
                argumentParser,
            ],
            swiftSettings: swift
        ),
        .target(
            name: "Supervising",
            dependencies: ["Configuration", "Helpers", "JSON", "Posix", "Time"],
            swiftSettings: swift
        ),
        .target(
            name: "Recording",
            dependencies: [
                "Containers", "Control", "FrameBridge", "JSON", "Media", "Motion", "Pixels", "Posix", "Time",
                "VideoDecoding",
            ],
            swiftSettings: swift
        ),
        .target(name: "Containers", dependencies: ["Media", "Time"], swiftSettings: safe),
        .target(name: "Motion", dependencies: ["Media", "Time"], swiftSettings: safe),
        .target(
            name: "Asking",
            dependencies: ["Access", "Control", "Helpers", "JSON", "Posix", "Time"],
            swiftSettings: swift
        ),
        .target(
            name: "Desktop",
            dependencies: [
                "Control", "FrameBridge", "Helpers", "JSON", "Media", "Pixels", "Posix", "Rendering", "Time",
            ],
            swiftSettings: swift
        ),
        .target(
            name: "Credentials",
            dependencies: ["Configuration", "Helpers", "HTTP", "ICE", "Posix", "Time"],
            swiftSettings: swift
        ),
        .target(
            name: "Publishing",
            dependencies: [
                "Access", "Asking", "Calls", "Configuration", "Control", "CPNG", "Credentials", "Desktop",
                "FrameBridge",
                "Helpers", "HTTP", "ICE", "JSON", "Media", "Motion", "Peers", "Pixels", "Posix", "Rendering",
                "Sender", "Talk", "Time", "VideoDecoding", "VideoEncoding", "WebRTC",
            ],
            swiftSettings: swift
        ),
        .target(
            name: "Capture",
            dependencies: ["FrameBridge", "Pixels", "Posix", "Time", "X11Capture"],
            swiftSettings: safe
        ),
        .target(
            name: "Sender",
            dependencies: ["FrameBridge", "Media", "Pixels", "Posix", "SoundCoding", "Time", "VideoEncoding"],
            swiftSettings: safe
        ),
        .target(
            name: "Talk",
            dependencies: ["Access", "FrameBridge", "Media", "Posix", "RTP", "SoundCoding", "Time"],
            swiftSettings: safe
        ),
        .target(
            name: "Sound",
            dependencies: ["Control", "CPulse", "CSampleRate", "CSndFile", "FrameBridge", "Media", "Posix", "Time"],
            swiftSettings: swift
        ),
        .target(
            name: "Calls",
            dependencies: [
                "Access", "Containers", "Control", "HTTP", "ICE", "JSON", "Media", "Motion", "Peers", "Posix", "RTP",
                "SocketIO", "Time", "WebRTC",
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            resources: [.embedInCode("Room/Page"), .embedInCode("Web/Page")],
            swiftSettings: swift
        ),
        .target(
            name: "Control",
            dependencies: ["FrameBridge", "JSON", "Media", "Posix", "Time"],
            swiftSettings: safe
        ),
        .target(name: "Access", dependencies: ["JSON", "Media", "Posix", "Time"], swiftSettings: safe),
        .target(
            name: "SocketIO",
            dependencies: [
                "JSON", "Time",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "HeapModule", package: "swift-collections"),
            ],
            swiftSettings: safe
        ),
        .target(
            name: "Configuration",
            dependencies: ["FrameBridge", "HTTP", "ICE", "JSON", "Media", "Nearby", "Pixels", "Posix"],
            swiftSettings: safe
        ),
        .target(
            name: "Nearby",
            dependencies: ["Discovery", "Helpers", "JSON", "Link", "Pairing", "Posix", "Sodium", "Time", "TLS"],
            swiftSettings: safe
        ),
        .target(name: "TLS", dependencies: ["COpenSSL"], swiftSettings: swift),
        .target(name: "Discovery", dependencies: ["Pairing", "Time"], swiftSettings: safe),
        .target(name: "Link", dependencies: ["JSON", "Pairing", "Sodium", "Time"], swiftSettings: safe),
        .target(name: "Pairing", dependencies: ["JSON", "Posix", "Sodium", "Time"], swiftSettings: safe),
        .target(name: "Sodium", dependencies: ["CSodium"], swiftSettings: swift),
        .target(name: "JSON", swiftSettings: safe),
        .target(name: "Helpers", dependencies: ["JSON", "Posix", "Time"], swiftSettings: swift),
        .target(
            name: "Peers",
            dependencies: ["Control", "ICE", "Media", "Posix", "RTP", "Time", "WebRTC"],
            swiftSettings: swift
        ),
        .target(
            name: "HTTP",
            dependencies: [
                "COpenSSL", "Posix", "Time",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
            ],
            swiftSettings: swift
        ),
        .target(
            name: "WebRTC",
            dependencies: ["COpenSSL", "CSRTP", "Media", "RTP", "Time"],
            swiftSettings: swift
        ),
        .target(name: "ICE", dependencies: ["CNice", "COpenSSL", "Time", "WebRTC"], swiftSettings: swift),
        .target(name: "RTP", dependencies: ["Media", "Time"], swiftSettings: safe),
        .target(name: "Media", dependencies: ["Time"], swiftSettings: safe),
        .target(
            name: "VideoDecoding",
            dependencies: ["CAOM", "CVPX", "Media", "Pixels", "Posix"],
            swiftSettings: swift + [.enableExperimentalFeature("Lifetimes")]
        ),
        .target(name: "Rendering", dependencies: ["CXCB", "Media", "Pixels", "Posix", "Time"], swiftSettings: swift),
        .target(
            name: "VideoEncoding",
            dependencies: ["CAOM", "CVPX", "Media", "Pixels", "Time"],
            swiftSettings: swift + [.enableExperimentalFeature("Lifetimes")]
        ),
        .target(
            name: "SoundCoding",
            dependencies: ["COpus", "Media", "Time"],
            swiftSettings: swift + [.enableExperimentalFeature("Lifetimes")]
        ),
        .target(name: "X11Capture", dependencies: ["CXCB", "Pixels", "Posix", "Time"], swiftSettings: swift),
        .target(name: "Pixels", dependencies: ["CPixels", "CYUV"], swiftSettings: swift),
        .target(
            name: "FrameBridge",
            dependencies: ["Posix", "Time"],
            swiftSettings: swift + [.enableExperimentalFeature("Lifetimes")]
        ),
        .target(name: "Posix", dependencies: ["CPosix", "Time"], swiftSettings: swift),
        .target(name: "Time", swiftSettings: safe),
        .target(name: "CLimits"),
        .target(name: "CPosix"),
        .target(name: "CPixels"),
        .systemLibrary(
            name: "CXCB",
            pkgConfig: "xcb-shm",
            providers: [
                .apt([
                    "libxcb1-dev", "libxcb-shm0-dev", "libxcb-randr0-dev", "libxcb-xfixes0-dev", "libxcb-damage0-dev",
                    "libxcb-xinput-dev", "libxcb-composite0-dev", "libxcb-res0-dev",
                ])
            ]
        ),
        .systemLibrary(name: "CXTest", pkgConfig: "xcb-xtest", providers: [.apt(["libxcb-xtest0-dev"])]),
        .systemLibrary(name: "CAOM", pkgConfig: "aom", providers: [.apt(["libaom-dev"])]),
        .systemLibrary(name: "CVPX", pkgConfig: "vpx", providers: [.apt(["libvpx-dev"])]),
        .systemLibrary(name: "COpus", pkgConfig: "opus", providers: [.apt(["libopus-dev"])]),
        .systemLibrary(name: "CPulse", providers: [.apt(["libpulse-dev"])]),
        .systemLibrary(name: "CSndFile", pkgConfig: "sndfile", providers: [.apt(["libsndfile1-dev"])]),
        .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
        .systemLibrary(name: "CSampleRate", pkgConfig: "samplerate", providers: [.apt(["libsamplerate0-dev"])]),
        .systemLibrary(name: "CYUV", providers: [.apt(["libyuv-dev"])]),
        .systemLibrary(name: "CNice", pkgConfig: "nice", providers: [.apt(["libnice-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CSRTP", pkgConfig: "libsrtp2", providers: [.apt(["libsrtp2-dev"])]),
        .systemLibrary(name: "COrielBridge"),
        .systemLibrary(name: "CPNG", pkgConfig: "libpng", providers: [.apt(["libpng-dev"])]),
        .systemLibrary(name: "CQREncode", pkgConfig: "libqrencode", providers: [.apt(["libqrencode-dev"])]),
        .systemLibrary(name: "CFreeType", pkgConfig: "freetype2", providers: [.apt(["libfreetype-dev"])]),

        .executableTarget(
            name: "workload",
            dependencies: ["CFreeType", "CXCB", "CXTest", "Posix", "TestSupport", "Time"],
            path: "Benchmarks/Workload",
            swiftSettings: swift
        ),
        .target(name: "AllocationCounter", path: "Benchmarks/AllocationCounter"),
        .executableTarget(
            name: "bench",
            dependencies: [
                "Access", "Containers", "CXCB", "Differential", "FrameBridge", "Media", "Pixels", "Posix",
                "TestSupport", "Time",
                "VideoEncoding",
                "X11Capture", argumentParser,
            ],
            path: "Benchmarks/Bench",
            swiftSettings: swift
        ),

        .executableTarget(
            name: "bridge-peer",
            dependencies: ["FrameBridge", "Posix", "Time"],
            path: "Tests/BridgePeer",
            swiftSettings: swift
        ),
        .executableTarget(
            name: "socket-peer",
            dependencies: [
                "Calls", "HTTP", "JSON", "SocketIO", "Time", .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            path: "Tests/SocketPeer",
            swiftSettings: swift
        ),
        .executableTarget(
            name: "stream-peer",
            dependencies: ["ICE", "Media", "Pixels", "Posix", "RTP", "Time", "VideoEncoding", "WebRTC"],
            path: "Tests/StreamPeer",
            swiftSettings: swift
        ),
        .target(
            name: "TestSupport",
            dependencies: ["CPNG", "Helpers", "JSON", "Media", "Posix", "RTP", "SocketIO", "Time"],
            path: "Tests/TestSupport",
            swiftSettings: swift
        ),
        .target(
            name: "TestTraits",
            dependencies: ["Posix", "Time"],
            path: "Tests/TestTraits",
            swiftSettings: swift
        ),
        .testTarget(name: "TimeTests", dependencies: ["Time"], swiftSettings: swift),
        .testTarget(name: "PosixTests", dependencies: ["Posix", "TestSupport", "Time"], swiftSettings: swift),
        .testTarget(
            name: "FrameBridgeTests",
            dependencies: ["FrameBridge", "Posix", "TestSupport", "Time"],
            swiftSettings: swift
        ),
        .testTarget(
            name: "BridgePromiseTests",
            dependencies: ["FrameBridge", "Posix", "TestSupport", "TestTraits", "Time"],
            swiftSettings: swift
        ),
        .testTarget(name: "PixelsTests", dependencies: ["Pixels", "TestSupport", "Time"], swiftSettings: swift),
        .testTarget(
            name: "X11CaptureTests",
            dependencies: ["CXCB", "Pixels", "Posix", "TestSupport", "Time", "X11Capture"],
            swiftSettings: swift
        ),
        .target(
            name: "Differential",
            dependencies: [
                "CAOM", "CVPX", "FrameBridge", "Media", "Pixels", "Posix", "Sender", "TestSupport", "Time",
                "VideoEncoding",
            ],
            path: "Tests/Differential",
            swiftSettings: swift
        ),
        .testTarget(
            name: "VideoEncodingTests",
            dependencies: ["Differential", "Media", "Pixels", "TestSupport", "Time", "VideoEncoding"],
            swiftSettings: swift
        ),
        .testTarget(
            name: "VideoDecodingTests",
            dependencies: [
                "Differential", "Media", "Pixels", "Posix", "TestSupport", "Time", "VideoDecoding", "VideoEncoding",
            ],
            swiftSettings: swift
        ),
        .testTarget(
            name: "SoundCodingTests",
            dependencies: ["COpus", "Media", "Posix", "SoundCoding", "TestSupport", "Time"],
            swiftSettings: swift
        ),
        .testTarget(
            name: "SoundTests",
            dependencies: ["Control", "FrameBridge", "Media", "Posix", "Sound", "TestSupport", "TestTraits", "Time"],
            swiftSettings: swift
        ),
        .testTarget(
            name: "RenderingTests",
            dependencies: ["Media", "Pixels", "Posix", "Rendering", "TestSupport", "Time"],
            swiftSettings: swift
        ),
        .testTarget(
            name: "RTPTests",
            dependencies: ["Media", "RTP", "SoundCoding", "TestSupport", "Time"],
            swiftSettings: swift
        ),
        .testTarget(
            name: "WebRTCTests",
            dependencies: ["COpenSSL", "CSRTP", "Media", "Posix", "RTP", "TestSupport", "Time", "WebRTC"],
            exclude: ["SDP/Offers"],
            swiftSettings: swift
        ),
        .testTarget(
            name: "ICETests",
            dependencies: ["ICE", "Posix", "TestSupport", "Time", "WebRTC"],
            swiftSettings: swift
        ),
        .testTarget(
            name: "CaptureTests",
            dependencies: ["Capture", "FrameBridge", "TestSupport", "Time", "X11Capture"],
            swiftSettings: swift
        ),
        .testTarget(
            name: "SenderTests",
            dependencies: [
                "Differential", "FrameBridge", "Media", "Pixels", "Posix", "Sender", "TestSupport", "Time",
                "VideoEncoding",
            ],
            swiftSettings: swift
        ),
        .testTarget(
            name: "TalkTests",
            dependencies: ["Access", "FrameBridge", "Media", "Posix", "SoundCoding", "Talk", "TestSupport", "Time"],
            swiftSettings: swift
        ),
        .testTarget(
            name: "CallsTests",
            dependencies: [
                "Access", "Calls", "Control", "HTTP", "ICE", "JSON", "Media", "Peers", "Posix", "RTP", "SocketIO",
                "TestSupport", "Time", "WebRTC",
            ],
            swiftSettings: swift
        ),
        .testTarget(
            name: "AccessTests",
            dependencies: ["Access", "Media", "Posix", "TestSupport", "Time"],
            swiftSettings: swift
        ),
        .testTarget(name: "ConfigurationTests", dependencies: ["Configuration", "Posix"], swiftSettings: swift),
        .testTarget(
            name: "ControlTests",
            dependencies: ["Control", "FrameBridge", "JSON", "Media", "Posix", "TestSupport", "TestTraits", "Time"],
            swiftSettings: swift
        ),
        .testTarget(
            name: "HelpersTests",
            dependencies: ["Helpers", "Posix", "TestSupport", "Time"],
            swiftSettings: swift
        ),
        .testTarget(
            name: "DiscoveryTests",
            dependencies: ["Discovery", "Pairing", "Sodium", "TestSupport", "Time"],
            swiftSettings: swift
        ),
        .testTarget(
            name: "LinkTests",
            dependencies: ["Link", "Pairing", "Sodium", "TestSupport", "Time"],
            swiftSettings: swift
        ),
        .testTarget(name: "StreamTLSTests", dependencies: ["TestSupport", "TLS"], swiftSettings: swift),
        .testTarget(
            name: "NearbyTests",
            dependencies: ["Discovery", "Link", "Nearby", "Pairing", "Posix", "Sodium", "TestSupport", "Time", "TLS"],
            swiftSettings: swift
        ),
        .testTarget(
            name: "PairingTests",
            dependencies: ["Pairing", "Sodium", "TestSupport", "Time"],
            swiftSettings: swift
        ),
        .testTarget(name: "JSONTests", dependencies: ["JSON", "TestSupport"], swiftSettings: swift),
        .testTarget(
            name: "SocketIOTests",
            dependencies: ["JSON", "SocketIO", "TestSupport", "Time"],
            swiftSettings: swift
        ),
        .testTarget(
            name: "PeersTests",
            dependencies: ["ICE", "Media", "Peers", "Posix", "RTP", "TestSupport", "Time", "WebRTC"],
            swiftSettings: swift
        ),
        .testTarget(
            name: "HTTPTests",
            dependencies: [
                "COpenSSL", "HTTP", "Posix", "TestSupport", "Time", .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            swiftSettings: swift
        ),
        .testTarget(
            name: "SupervisingTests",
            dependencies: ["Posix", "Supervising", "TestSupport", "Time"],
            swiftSettings: swift
        ),
        .testTarget(
            name: "ContainersTests",
            dependencies: ["Containers", "Media", "Posix", "TestSupport", "Time"],
            swiftSettings: swift
        ),
        .testTarget(
            name: "RecordingTests",
            dependencies: ["Containers", "Control", "Media", "Motion", "Posix", "Recording", "TestSupport", "Time"],
            swiftSettings: swift
        ),
        .testTarget(
            name: "MotionTests",
            dependencies: ["Media", "Motion", "TestSupport", "Time"],
            swiftSettings: swift
        ),
        .testTarget(
            name: "DesktopTests",
            dependencies: ["Control", "Desktop", "JSON", "Media", "TestSupport", "Time"],
            swiftSettings: swift
        ),
        .testTarget(
            name: "AskingTests",
            dependencies: ["Asking", "Helpers", "TestSupport", "Time"],
            swiftSettings: swift
        ),
        .testTarget(
            name: "CredentialsTests",
            dependencies: ["Configuration", "Credentials", "Helpers", "HTTP", "ICE", "Posix", "TestSupport"],
            swiftSettings: swift
        ),
        .testTarget(
            name: "PublishingTests",
            dependencies: [
                "Access", "Calls", "Configuration", "Control", "FrameBridge", "Helpers", "HTTP", "ICE", "JSON", "Media",
                "Peers", "Pixels", "Posix", "Publishing", "Sender", "Talk", "TestSupport", "Time", "WebRTC",
            ],
            swiftSettings: swift
        ),
        .testTarget(
            name: "OrielTests",
            dependencies: [
                "Access", "Configuration", "Control", "Credentials", "FrameBridge", "ICE", "JSON", "Media", "oriel",
                "Posix", "TestSupport", "Time",
                argumentParser,
            ],
            swiftSettings: swift
        ),
        .testTarget(
            name: "EndToEndTests",
            dependencies: ["FrameBridge", "Pixels", "Posix", "TestSupport", "TestTraits", "Time"],
            swiftSettings: swift
        ),
    ],
    swiftLanguageModes: [.v6]
)
